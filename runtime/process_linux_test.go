package runtime_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

const plain = `
  filesystem {
    write = [workspace]
  }`

// marked lists the processes of this machine with mark among their arguments.
func marked(t testing.TB, mark string) []string {
	t.Helper()
	var out []string
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), mark) {
			out = append(out, path)
		}
	}
	return out
}

// TestLiveTree: when a result is reported, nothing of the sandbox is alive.
func TestLiveTree(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	for _, tt := range []struct {
		attempt, body string
		want          runtime.Word
		exit          int
	}{
		{"beside", plain, runtime.Exited, 0},
		{"forks", plain + "\nlimits {\n timeout = \"300ms\"\n}", runtime.Timeout, runtime.ExitTimeout},
	} {
		t.Run(tt.attempt, func(t *testing.T) {
			mark := fmt.Sprintf("mark-%s-%d", tt.attempt, os.Getpid())
			began := time.Now()
			r := probed(t, development(t, policy(t, tt.body)), dir, tt.attempt, mark)
			if left := marked(t, mark); len(left) > 0 {
				t.Errorf("processes are left: %q", left)
			}
			if r.Evidence.Outcome != tt.want || r.Exit != tt.exit || !r.Evidence.Cleanup.TreeDead || time.Since(began) > 30*time.Second {
				t.Errorf("%s: want outcome %s, exit %d; %s", tt.attempt, tt.want, tt.exit, r)
			}
		})
	}
}

// TestLiveCancel: the caller goes away while the command runs.
func TestLiveCancel(t *testing.T) {
	needSandbox(t)
	mark := fmt.Sprintf("mark-cancel-%d", os.Getpid())
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for range 500 {
			if len(marked(t, mark)) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(runtime.Interrupt{Signal: 15})
	}()
	r := start(t, ctx, development(t, policy(t, plain)), runtime.Job{
		Argv: []string{probePath, probeWord, "sleep", "60s", mark}, Development: true, Workspace: runtime.Workspace{Fresh: true},
	})
	if r.Evidence.Outcome != runtime.Cancelled || r.Exit != 128+15 || len(marked(t, mark)) > 0 || !r.Evidence.Cleanup.WorkspaceRemoved {
		t.Errorf("a cancelled run: want outcome cancelled, exit 143; %s", r)
	}
}

// TestLiveEnvironment: nothing is inherited, and evidence lists what there is.
func TestLiveEnvironment(t *testing.T) {
	needSandbox(t)
	t.Setenv("OBSPC_TEST_SECRET", "inherited")
	dir := labDir(t)
	r := probed(t, development(t, policy(t, plain+`
  environment {
    LANG  = "C.UTF-8"
    WHERE = "${workspace}/x"
  }`)), dir, "environment")
	want := []string{"HOME=" + dir, "LANG=C.UTF-8", "PATH=", "TMPDIR=/tmp", "WHERE=" + dir + "/x", "ok"}
	got := strings.Split(strings.TrimSpace(r.stdout), "\n")
	for i, line := range got {
		if path, ok := strings.CutPrefix(line, "PATH="); ok {
			got[i] = "PATH="
			if !slices.Contains(strings.Split(path, ":"), filepath.Dir(probePath)) {
				t.Errorf("PATH inside is %q and lacks %s", path, filepath.Dir(probePath))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment inside is %q, want %q; %s", got, want, r)
	}
	if names := []string{"HOME", "LANG", "PATH", "TMPDIR", "WHERE"}; !slices.Equal(r.Evidence.Environment, names) {
		t.Errorf("evidence lists %q, want %q", r.Evidence.Environment, names)
	}
}

// TestLiveDescriptors plants open descriptors.
func TestLiveDescriptors(t *testing.T) {
	needSandbox(t)
	for i := range 7 {
		fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // kept open across exec
		must(t, err)
		must(t, unix.Dup2(fd, 100+i))
		t.Cleanup(func() { unix.Close(fd); unix.Close(100 + i) })
	}
	r := probed(t, development(t, policy(t, plain)), labDir(t), "descriptors")
	var numbers []string
	for line := range strings.Lines(strings.TrimSuffix(r.stdout, "ok\n")) {
		number, _, _ := strings.Cut(line, " ")
		numbers = append(numbers, number)
	}
	if !slices.Equal(numbers, []string{"0", "1", "2"}) {
		t.Errorf("descriptors inside are %q, want 0, 1 and 2; %s", numbers, r)
	}
}

// TestLiveInitHoldsNoSecret: everybody inside can read bwrap's arguments.
func TestLiveInitHoldsNoSecret(t *testing.T) {
	needSandbox(t)
	const secret = "secret-argument"
	r := probed(t, development(t, policy(t, plain+"\nenvironment {\n TOKEN = \"secret-variable\"\n}")), labDir(t), "read-init", secret)
	if !strings.Contains(r.stdout, "bwrap") || strings.Contains(r.stdout, "secret") {
		t.Errorf("/proc/1/cmdline inside is %s", r)
	}
	text := string(r.Evidence.JSON())
	if strings.Contains(text, "secret-") {
		t.Errorf("evidence holds an argument or a value: %s", text)
	}
}

// TestLiveOutput: what is beyond the limit is counted and digested, not passed.
func TestLiveOutput(t *testing.T) {
	needSandbox(t)
	const wrote = 300_000
	r := probed(t, development(t, policy(t, plain+"\nlimits {\n stdout = \"64KiB\"\n}")), labDir(t), "fill", fmt.Sprint(wrote))
	all := strings.Repeat("x", wrote) + "ok\n"
	sum := sha256.Sum256([]byte(all))
	want := runtime.StreamEvidence{Bytes: int64(len(all)), Passed: 64 << 10, Truncated: true, SHA256: hex.EncodeToString(sum[:])}
	if got := *r.Evidence.Stdout; got != want || r.stdout != all[:64<<10] || r.Exit != 0 {
		t.Errorf("stdout in evidence is %+v, want %+v; %d bytes passed", got, want, len(r.stdout))
	}
}

// TestLiveLimits reads the limits inside.
func TestLiveLimits(t *testing.T) {
	needSandbox(t)
	v := development(t, policy(t, plain+"\nlimits {\n open_files = 64\n file_size = \"1MiB\"\n cpu_time = \"7s\"\n}"))
	for _, tt := range []struct {
		resource int
		want     string
	}{
		{unix.RLIMIT_FSIZE, "1048576"}, {unix.RLIMIT_CPU, "7"}, {unix.RLIMIT_CORE, "1"},
		{unix.RLIMIT_NOFILE, "64"},
	} {
		r := probed(t, v, labDir(t), "limit", fmt.Sprint(tt.resource))
		if got, _, _ := strings.Cut(r.stdout, "\n"); got != tt.want {
			t.Errorf("limit %d inside is %s, want %s; %s", tt.resource, got, tt.want, r)
		}
	}
}

// TestLiveExitCodes: the command's own, and what env(1) has for the rest.
func TestLiveExitCodes(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	work := filepath.Join(root, "work")
	write(t, filepath.Join(work, "script"), "#!/no/such/interpreter\n")
	must(t, os.Chmod(filepath.Join(work, "script"), 0o755))
	for _, tt := range []struct {
		name string
		argv []string
		word runtime.Word
		exit int
	}{
		{"its own", []string{probePath, probeWord, "nothing"}, runtime.Exited, 99},
		{"missing", []string{"/no/such/program"}, runtime.ExecFailed, 127},
		{"not in PATH", []string{"no-such-program"}, runtime.ExecFailed, 127},
		{"hidden", []string{filepath.Join(root, "beside/secret")}, runtime.ExecFailed, 126},
		{"not covered by execute", []string{"/usr/bin/true"}, runtime.ExecFailed, 126},
		{"relative, not covered", []string{"./tool"}, runtime.ExecFailed, 126},
		{"a directory", []string{work}, runtime.ExecFailed, 126},
		{"in PATH", []string{"probe", probeWord, "nothing"}, runtime.Exited, 99},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, context.Background(), v, runtime.Job{Argv: tt.argv, Development: true, Workspace: runtime.Workspace{Dir: work}})
			if r.Evidence.Outcome != tt.word || r.Exit != tt.exit {
				t.Errorf("%q: want outcome %s, exit %d; %s", tt.argv, tt.word, tt.exit, r)
			}
		})
	}
}

// TestLiveFresh: a fresh workspace is private, writable and gone, whatever the
// command left in it.
func TestLiveFresh(t *testing.T) {
	needSandbox(t)
	v := development(t, policy(t, plain))
	r := start(t, context.Background(), v, runtime.Job{
		Argv: []string{probePath, probeWord, "deep", "."}, Development: true, Workspace: runtime.Workspace{Fresh: true},
	})
	at := r.Evidence.Binding["workspace"]
	if r.Exit != 0 || r.Evidence.Workspace != "fresh" || !r.Evidence.Cleanup.WorkspaceRemoved || at == "" {
		t.Errorf("a fresh workspace: %s", r)
	}
	if _, err := os.Lstat(at); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", at, err)
	}
}

// TestEvidenceIsOneObject: evidence is indented JSON that reads back.
func TestEvidenceIsOneObject(t *testing.T) {
	e := runtime.NewEvidence(false)
	var back runtime.Evidence
	if err := json.Unmarshal(e.JSON(), &back); err != nil || back.Schema != runtime.EvidenceSchema || back.Mode != runtime.Governed {
		t.Errorf("evidence reads back as %+v, %v", back, err)
	}
}

// TestLiveSharedPlaceholder: two runs keep one missing name missing; the mask of
// the longer one survives the end of the shorter, and the last removes what was
// made. A placeholder of a run that was cut off counts as missing.
func TestLiveSharedPlaceholder(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	later := filepath.Join(work, "later")
	v := development(t, treePolicy(t, root))
	write(t, later, "")
	must(t, unix.Chmod(later, unix.S_ISVTX|0o600)) // as a run leaves it that is killed
	ctx, cancel := context.WithCancel(context.Background())
	mark := fmt.Sprintf("mark-placeholder-%d", os.Getpid())
	longer := make(chan ran)
	go func() {
		longer <- start(t, ctx, v, runtime.Job{
			Argv: []string{probePath, probeWord, "retry-create", later, mark}, Development: true, Workspace: runtime.Workspace{Dir: work},
		})
	}()
	for range 500 {
		if len(marked(t, mark)) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for range 3 {
		if r := probed(t, v, work, "create", later); strings.TrimSpace(r.stdout) != "EEXIST" || len(r.Evidence.Cleanup.Left) > 0 {
			t.Errorf("the shorter run: %s", r)
		}
	}
	if _, err := os.Lstat(later); err != nil {
		t.Errorf("the placeholder went away under a live run: %v", err)
	}
	cancel()
	if r := <-longer; strings.Contains(r.stdout, "ok") || r.Evidence.Outcome != runtime.Cancelled {
		t.Errorf("the longer run: %s", r)
	}
	for _, name := range []string{"later", "made"} {
		if _, err := os.Lstat(filepath.Join(work, name)); !os.IsNotExist(err) {
			t.Errorf("the placeholder %s stayed: %v", name, err)
		}
	}
}

// errTaken is what a run says whose preparation another one's end has crossed.
const errTaken = "it appeared while the run was prepared; try again"

// TestLiveOtherKind: two live runs need one missing name to stay missing, one of them
// as a file and the other as a directory that leads further; or the first one's
// command gives the directory another mode. The end of the first leaves the second
// protected, and the end of both nothing behind.
func TestLiveOtherKind(t *testing.T) {
	needSandbox(t)
	rules := func(level, path string) string {
		return policy(t, "\n  filesystem {\n    write = [workspace]\n    "+level+" = [\"${workspace}/"+path+"\"]\n  }")
	}
	for _, tt := range []struct{ first, held, second, attempt string }{
		{"read a/b", "a/b", "read a", "a/b/x"},
		{"deny a/b/c", "a/b/c", "deny a", "a/b/c"},
		{"read a", "a", "read a/b", "a/b/x"},
		{"deny a", "a", "deny a/b/c", "a/b/c"},
		{"deny a/b/c", "loosen a a/b a/b/c", "deny a/b/c", "a/b/c"},
		{"deny a/b/c", "loosen a a/b a/b/c", "deny a", "a/x"},
	} {
		t.Run(tt.first+" "+tt.held+", "+tt.second, func(t *testing.T) {
			root := labDir(t)
			level, path, _ := strings.Cut(tt.first, " ")
			first := development(t, rules(level, path))
			level, path, _ = strings.Cut(tt.second, " ")
			second := development(t, rules(level, path))
			attempt, words := "retry-create", strings.Fields(tt.held)
			if words[0] == "loosen" {
				attempt, words = words[0], words[1:]
			}
			mark := fmt.Sprintf("mark-other-kind-%d-%s", os.Getpid(), t.Name())
			argv := []string{probePath, probeWord, attempt}
			for _, w := range words {
				argv = append(argv, filepath.Join(root, w))
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan ran)
			go func() {
				ended <- start(t, ctx, first, runtime.Job{Argv: append(argv, mark), Development: true, Workspace: runtime.Workspace{Dir: root}})
			}()
			ready := func() bool {
				info, err := os.Stat(root + "/a/b")
				return len(marked(t, mark)) > 0 && (attempt != "loosen" || err == nil && info.Mode().Perm() == 0o755)
			}
			for range 500 {
				if ready() {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.AfterFunc(400*time.Millisecond, cancel)
			var r ran
			for range 5 {
				r = probed(t, second, root, "insist", filepath.Join(root, tt.attempt))
				if refusal := r.refusal(); refusal == nil || !strings.Contains(refusal.Error(), errTaken) {
					break // the first run did not end in just that moment
				}
			}
			if got := strings.TrimSpace(r.stdout); got == "ok" || got == "" || r.Evidence.Outcome != runtime.Exited {
				t.Errorf("the second run: %s", r)
			}
			<-ended
			if _, err := os.Lstat(filepath.Join(root, "a")); !os.IsNotExist(err) {
				t.Errorf("a stayed: %v", err)
			}
		})
	}
	outside(t, "insist", filepath.Join(t.TempDir(), "a/b"))
}

// TestLivePlaceholderShut: the command takes the permissions of the directory that
// leads to a masked name away.
func TestLivePlaceholderShut(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	v := development(t, policy(t, "\n  filesystem {\n    write = [workspace]\n    deny = [\"${workspace}/made/for/it\", \"${workspace}/there/it\"]\n  }"))
	must(t, os.Mkdir(filepath.Join(root, "there"), 0o755))
	for _, dir := range []string{"made", "made/for", "there", "."} {
		for _, mode := range []string{"000", "500"} {
			must(t, os.Chmod(filepath.Join(root, "there"), 0o755))
			if r := probed(t, v, root, "chmod", filepath.Join(root, dir), mode); r.Exit != 0 || len(r.Evidence.Cleanup.Left) > 0 {
				t.Errorf("chmod %s %s: %s", mode, dir, r)
			}
			must(t, os.Chmod(root, 0o755))
			if dir == "there" {
				info, err := os.Stat(filepath.Join(root, "there"))
				must(t, err)
				if got := fmt.Sprintf("%03o", info.Mode().Perm()); got != mode {
					t.Errorf("%s has mode %s after the run, the command gave it %s", dir, got, mode)
				}
			}
			for _, name := range []string{"made", "there/it"} {
				must(t, os.Chmod(filepath.Join(root, "there"), 0o755))
				if _, err := os.Lstat(filepath.Join(root, name)); !os.IsNotExist(err) {
					t.Errorf("after chmod %s %s the placeholder %s stayed: %v", mode, dir, name, err)
				}
			}
		}
	}
}

// TestLiveForeignDirectory: where the caller cannot make the name, nothing has to
// keep it missing.
func TestLiveForeignDirectory(t *testing.T) {
	needSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to make a directory of somebody else")
	}
	root := labDir(t)
	must(t, os.Mkdir(filepath.Join(root, "foreign"), 0o755))
	must(t, os.Chown(filepath.Join(root, "foreign"), 65534, 65534))
	v := development(t, policy(t, "\n  filesystem {\n    write = [workspace]\n    deny = [\"${workspace}/foreign/.git\"]\n  }"))
	r := probed(t, v, root, "create", filepath.Join(root, "foreign/.git"))
	if got := strings.TrimSpace(r.stdout); got != "EACCES" || len(r.Evidence.Cleanup.Placeholders) > 0 {
		t.Errorf("create is %q, want EACCES and no placeholder; %s", got, r)
	}
}

// TestLiveArgumentBytes: arguments arrive as they are, also when they are no UTF-8.
func TestLiveArgumentBytes(t *testing.T) {
	needSandbox(t)
	r := probed(t, development(t, policy(t, plain)), labDir(t), "print", "\xff\xfe", "", "ü\n")
	if want := "\xff\xfe  ü\n\n"; r.stdout != want || r.Evidence.Arguments != 6 {
		t.Errorf("arguments arrive as %q, want %q; %s", r.stdout, want, r)
	}
}

// TestLiveUnreadableExecute: an execute rule without a read never holds, and does
// no harm.
func TestLiveUnreadableExecute(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	tool := filepath.Join(root, "work/tool")
	v := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    execute = [%q]\n  }\n  environment {\n    WHERE = workspace\n  }", tool)))
	r := start(t, context.Background(), v, runtime.Job{Argv: []string{tool}, Development: true, Workspace: runtime.Workspace{Dir: root}})
	if r.Evidence.Outcome != runtime.ExecFailed || r.Exit != 127 {
		t.Errorf("want exec-failed, exit 127; %s", r)
	}
	// The workspace is named and not shown, so the command starts in "/".
	if r := probed(t, v, root, "list", "."); r.Exit != 0 {
		t.Errorf("starting in /: %s", r)
	}
}
