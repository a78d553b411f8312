package runtime_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// refusedWith checks that a run started nothing and says why.
func refusedWith(t *testing.T, r ran, code runtime.Code, says ...string) {
	t.Helper()
	refusal := r.refusal()
	if refusal == nil || r.Exit != runtime.ExitRefused || r.Evidence.Outcome != runtime.Refused || refusal.Code != code || r.stdout != "" {
		t.Errorf("want a refusal of class %d; %s", code, r)
		return
	}
	for _, s := range says {
		if !strings.Contains(refusal.Error(), s) {
			t.Errorf("the refusal %q does not name %q", refusal, s)
		}
	}
}

// TestLiveWorkspaceRefused: each refusal beside the directory that is accepted.
func TestLiveWorkspaceRefused(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	must(t, os.MkdirAll(filepath.Join(root, "real/below"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "keys/.ssh"), 0o700))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	write(t, filepath.Join(root, "file"), "")
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    read  = [%q]
    write = [workspace]
    deny  = ["%s/keys/.ssh"]
  }`, root, root)))
	if r := probed(t, v, filepath.Join(root, "real"), "stat", "."); r.Exit != 0 {
		t.Fatalf("the directory itself is accepted: %s", r)
	}
	for _, tt := range []struct {
		dir  string
		says []string
	}{
		{"link", []string{"is a link to real", filepath.Join(root, "real")}},
		{"link/below", []string{"is a link to real", filepath.Join(root, "real/below")}},
		{"missing", []string{"does not exist"}},
		{"file", []string{"is a file"}},
		{"keys/.ssh", []string{filepath.Join(root, "keys/.ssh"), "deny", "filesystem.deny[0]"}},
		{"keys", []string{filepath.Join(root, "keys"), "filesystem.write[0]", "filesystem.deny[0]"}},
		{"/usr", []string{"/usr", "system"}},
		{"/", []string{"system"}},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			dir := tt.dir
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			refusedWith(t, probed(t, v, dir, "stat", "."), runtime.Input, tt.says...)
		})
	}
}

// TestLivePlantedLink: an earlier run, which could write the workspace, put a link
// on the way to a protected path.
func TestLivePlantedLink(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	work := filepath.Join(root, "work")
	if r := probed(t, v, work, "stat", "."); r.Exit != 0 {
		t.Fatalf("without the link: %s", r)
	}
	must(t, os.Rename(filepath.Join(work, ".git"), filepath.Join(work, "git")))
	must(t, os.Symlink("git", filepath.Join(work, ".git")))
	refusedWith(t, probed(t, v, work, "stat", "."), runtime.No, ".git", "link")
}

// TestLiveManyNames: a masked file can be read under another of its names.
func TestLiveManyNames(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	work := filepath.Join(root, "work")
	must(t, os.Link(filepath.Join(work, ".env"), filepath.Join(work, "other")))
	refusedWith(t, probed(t, v, work, "stat", "."), runtime.No, ".env", "2 names")
	must(t, os.Remove(filepath.Join(work, "other")))
	if r := probed(t, v, work, "stat", "."); r.Exit != 0 {
		t.Fatalf("with one name: %s", r)
	}
	// Files below a protected directory are not looked at, as docs/language.md says.
	must(t, os.Link(filepath.Join(work, ".git/hooks/pre-commit"), filepath.Join(work, "other")))
	for _, attempt := range []string{"read", "write"} {
		if r := probed(t, v, work, attempt, filepath.Join(work, "other")); strings.TrimSpace(r.stdout) != "ok" {
			t.Errorf("%s a file below a masked directory by its other name: %s", attempt, r)
		}
	}
}

// TestLiveLeft: what docs/threat-model.md says that a sandbox does not take away.
func TestLiveLeft(t *testing.T) {
	needSandbox(t)
	v := development(t, policy(t, plain))
	dir := labDir(t)
	if r := probed(t, v, dir, "limit-first"); strings.TrimSpace(r.stdout) != "ok" {
		t.Errorf("a limit of PID 1: %s", r)
	}
	for _, path := range []string{"/proc/slabinfo", "/proc/vmallocinfo", "/proc/timer_list"} {
		if want, r := outsideProbe(t, "read", path), probed(t, v, dir, "read", path); strings.TrimSpace(r.stdout) != want {
			t.Errorf("%s is %q inside and %s outside", path, r.stdout, want)
		}
	}
}

// TestLivePlaceholderMode: what is the caller's own, or an earlier command's, may have
// the mode of a placeholder and is none.
func TestLivePlaceholderMode(t *testing.T) {
	needSandbox(t)
	for _, tt := range []struct{ statement, plant, attempt, says string }{
		{statement: "deny", plant: "two names", says: "2 names"},
		{statement: "read", plant: "two names", says: "2 names"},
		{statement: "deny", plant: "full", attempt: "read it/inside", says: "ENOENT"},
		{statement: "read", plant: "full", attempt: "write it/inside", says: "EROFS"},
		{statement: "read", plant: "full", attempt: "read it/inside", says: "ok"},
		{statement: "deny", plant: "empty", attempt: "create it/new", says: "EROFS"},
		{statement: "write", plant: "empty", attempt: "create it/new", says: "ok"},
		{statement: "write", plant: "optional", attempt: "create it/new", says: "ok"},
		{statement: "write", plant: "file", attempt: "write it", says: "ok"},
	} {
		t.Run(tt.statement+" "+tt.plant, func(t *testing.T) {
			root := labDir(t)
			it := filepath.Join(root, "it")
			switch tt.plant {
			case "two names":
				write(t, it, "")
				must(t, unix.Chmod(it, unix.S_ISVTX|0o600))
				must(t, os.Link(it, filepath.Join(root, "other")))
			case "file":
				write(t, it, "")
				must(t, unix.Chmod(it, unix.S_ISVTX|0o600))
			default:
				must(t, os.Mkdir(it, 0o700))
				must(t, unix.Chmod(it, unix.S_ISVTX|0o700))
				if tt.plant == "full" {
					write(t, filepath.Join(it, "inside"), "text")
				}
			}
			text := strings.Replace(`
  filesystem {
    write = [workspace]
    STATEMENT = ["${workspace}/it"]
  }`, "STATEMENT", tt.statement, 1)
			if tt.statement == "write" {
				text = `
  filesystem {
    read  = [workspace]
    write = ["${workspace}/it"]
  }`
				if tt.plant == "optional" {
					text = strings.Replace(text, `"${workspace}/it"`, `optional("${workspace}/it")`, 1)
				}
			}
			v := development(t, policy(t, text))
			if tt.plant == "two names" {
				refusedWith(t, probed(t, v, root, "stat", "."), runtime.No, "it", tt.says)
				must(t, os.Remove(filepath.Join(root, "other")))
				if r := probed(t, v, root, "stat", "."); r.Exit != 0 {
					t.Errorf("with one name: %s", r)
				}
				return
			}
			word, name, _ := strings.Cut(tt.attempt, " ")
			r := probed(t, v, root, word, filepath.Join(root, name))
			if got := strings.TrimSpace(r.stdout); got != tt.says || len(r.Evidence.Cleanup.Placeholders)+len(r.Evidence.Cleanup.Faults) > 0 {
				t.Errorf("%s is %q, want %s, and nothing made; %s", tt.attempt, got, tt.says, r)
			}
			if stat, err := os.Stat(it); err != nil || stat.Mode()&os.ModeSticky == 0 || stat.IsDir() != (tt.plant != "file") {
				t.Errorf("afterwards it is %v, %v", stat.Mode(), err)
			}
		})
	}
}

// TestLiveMissing: what a rule needs and the machine lacks.
func TestLiveMissing(t *testing.T) {
	needSandbox(t)
	for _, statement := range []string{`read = ["/no/such/file"]`, `execute = ["/no/such/file"]`, `write = ["/no/such/file"]`} {
		v := development(t, policy(t, "\n  filesystem {\n    "+statement+"\n  }"))
		refusedWith(t, probed(t, v, labDir(t), "stat", "."), runtime.Machine, "/no/such/file", "p/filesystem.", "optional(")
	}
	v := development(t, policy(t, "\n  filesystem {\n    read = [optional(\"/no/such/file\")]\n  }"))
	if r := probed(t, v, labDir(t), "stat", "/"); r.Exit != 0 {
		t.Errorf("optional: %s", r)
	}
}

// TestLiveTrusted: configuration inside the workspace is kept read-only; where
// that is not possible, nothing runs.
func TestLiveTrusted(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	must(t, os.MkdirAll(filepath.Join(root, ".obspc"), 0o755))
	write(t, filepath.Join(root, "sub/obspc.pins"), "")
	v := development(t, policy(t, plain))
	run := func(trusted []string, words ...string) ran {
		return start(t, context.Background(), v, runtime.Job{
			Argv: append([]string{probePath, probeWord}, words...), Development: true,
			Workspace: runtime.Workspace{Dir: root}, Trusted: trusted,
		})
	}
	at := filepath.Join(root, ".obspc/x")
	if r := run(nil, "create", at); strings.TrimSpace(r.stdout) != "ok" {
		t.Fatalf("without the carve-out: %s", r)
	}
	r := run([]string{filepath.Join(root, ".obspc")}, "remove", at)
	if got := strings.TrimSpace(r.stdout); got != "EROFS" || r.Evidence.CarveOut != filepath.Join(root, ".obspc") {
		t.Errorf("remove inside the carve-out is %q, want EROFS; %s", got, r)
	}
	refusedWith(t, run([]string{root}, "stat", "."), runtime.Input, root, ".obspc")
	refusedWith(t, run([]string{filepath.Join(root, ".obspc"), filepath.Join(root, "sub/obspc.pins")}, "stat", "."), runtime.Input, ".obspc", "sub")
	// Whoever replaces a link on the way replaces what is trusted.
	outside := labDir(t)
	write(t, filepath.Join(outside, "p.policy.hcl"), "")
	must(t, os.Symlink(outside, filepath.Join(root, "linked")))
	refusedWith(t, run([]string{filepath.Join(root, "linked")}, "stat", "."), runtime.Input, "linked", root)
	refusedWith(t, run([]string{filepath.Join(root, "linked/p.policy.hcl")}, "stat", "."), runtime.Input, "linked", root)
	must(t, os.Symlink(filepath.Join(root, "sub/obspc.pins"), filepath.Join(outside, "pins")))
	r = run([]string{filepath.Join(outside, "pins")}, "write", filepath.Join(root, "sub/obspc.pins"))
	if got := strings.TrimSpace(r.stdout); got != "EROFS" || r.Evidence.CarveOut != filepath.Join(root, "sub") {
		t.Errorf("writing what a link outside leads to is %q, want EROFS; %s", got, r)
	}
	if r := run([]string{"/etc/passwd", "/no/such/golden"}, "stat", "."); r.Exit != 0 {
		t.Errorf("trusted files outside every write: %s", r)
	}
}

// TestLiveGitStatus: a mask over a missing path leaves nothing behind, also after
// a timeout.
func TestLiveGitStatus(t *testing.T) {
	needSandbox(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("host feature missing: git")
	}
	root := tree(t)
	work := filepath.Join(root, "work")
	must(t, os.RemoveAll(filepath.Join(work, ".git")))
	call := func(args ...string) string {
		cmd := exec.Command(git, append([]string{"-C", work, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = []string{"HOME=" + root, "GIT_CONFIG_NOSYSTEM=1", "PATH=/usr/bin:/bin"}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, text)
		}
		return string(text)
	}
	call("init", "-q")
	call("add", ".")
	call("commit", "-q", "-m", "x")
	for _, tt := range []struct {
		body    string
		attempt []string
		want    runtime.Word
	}{
		{"", []string{"stat", "."}, runtime.Exited},
		{"\n  limits {\n    timeout = \"200ms\"\n  }", []string{"sleep", "60s"}, runtime.Timeout},
	} {
		text := strings.Replace(treePolicy(t, root), "\n  filesystem {", tt.body+"\n  filesystem {", 1)
		r := probed(t, development(t, text), work, tt.attempt...)
		if r.Evidence.Outcome != tt.want || len(r.Evidence.Cleanup.Placeholders) != 4 {
			t.Errorf("want outcome %s and the placeholders later, made, made/for, made/for/it; %s", tt.want, r)
		}
		if status := call("status", "--porcelain", "--ignored"); status != "" {
			t.Errorf("git status after %q: %s", tt.attempt, status)
		}
	}
}

// TestLiveHome: the slot home is bound, and --workspace inside one of its denies
// is refused.
func TestLiveHome(t *testing.T) {
	needSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("host feature missing: a user with a home directory of its own")
	}
	keys, err := os.MkdirTemp("/root", "obspc-test-keys-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(keys) })
	write(t, filepath.Join(keys, "id"), "secret")
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    read  = [home]
    write = [workspace]
    deny  = ["${home}/%s"]
  }`, filepath.Base(keys))))
	work := labDir(t)
	t.Setenv("HOME", work) // never asked
	r := probed(t, v, work, "read", filepath.Join(keys, "id"))
	if got := strings.TrimSpace(r.stdout); got != "ENOENT" || r.Evidence.Binding["home"] != "/root" {
		t.Errorf("reading below a denied directory of home is %q, want ENOENT; %s", got, r)
	}
	refusedWith(t, probed(t, v, keys, "stat", "."), runtime.Input, keys, "deny")
}

// TestLiveSwappedCarveOut exchanges a read-only directory with a link again and
// again while runs are prepared: each is refused, or the directory is protected.
func TestLiveSwappedCarveOut(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	v := development(t, treePolicy(t, root))
	must(t, os.Symlink("../beside", filepath.Join(work, "swap")))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, filepath.Join(work, "carve"), unix.AT_FDCWD, filepath.Join(work, "swap"), unix.RENAME_EXCHANGE)
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
	refused, protected := 0, 0
	for range 30 {
		r := probed(t, v, work, "create", filepath.Join(work, "carve/secret"))
		switch got := strings.TrimSpace(r.stdout); {
		case r.refusal() != nil:
			refused++
		case got == "EROFS" || got == "EEXIST" || got == "EBUSY":
			protected++
		default:
			t.Errorf("creating in a read-only directory that is being exchanged is %q; %s", got, r)
		}
	}
	close(stop)
	<-stopped
	t.Logf("%d runs refused, %d protected", refused, protected)
	for _, dir := range []string{"work/carve", "work/swap"} {
		if info, err := os.Lstat(filepath.Join(root, dir)); err == nil && info.IsDir() {
			if _, err := os.Lstat(filepath.Join(root, dir, "secret")); err == nil {
				t.Errorf("a file was made in the read-only directory")
			}
		}
	}
}
