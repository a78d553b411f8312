package runtime_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is the unprivileged user of the tests (nobody of Debian and Fedora).
const nobody = 65534

// TestLiveUnprivileged runs every live test once more as an ordinary user.
func TestLiveUnprivileged(t *testing.T) {
	needSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to become somebody else")
	}
	dir := labDir(t)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	left := time.Hour
	if deadline, ok := t.Deadline(); ok {
		left = time.Until(deadline) - 5*time.Second
	}
	cmd := exec.Command(probePath, "-test.run=^TestLive", "-test.v", "-test.timeout="+left.String())
	cmd.Dir, cmd.Env = "/", []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, text)
	}
	if n := strings.Count(string(text), "\n--- PASS: "); n < 10 {
		t.Errorf("as user %d only %d tests passed:\n%s", nobody, n, text)
	}
}

// labDir is a directory of the test's own outside /tmp, which a sandbox with a
// tmp slot does not show.
func labDir(t testing.TB) string {
	t.Helper()
	parent := "/var/tmp"
	if dir := os.Getenv("TMPDIR"); strings.HasPrefix(dir, parent) {
		parent = dir
	}
	dir, err := os.MkdirTemp(parent, "obspc-lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tree makes a workspace and something beside it. Inside and control get a tree
// each, alike but for the name.
func tree(t testing.TB) string {
	t.Helper()
	root := labDir(t)
	plant(t, root)
	return root
}

// plant makes what stands in a tree.
func plant(t testing.TB, root string) {
	t.Helper()
	for path, text := range map[string]string{
		"work/src/a.txt": "a", "work/.env": "secret", "work/.git/hooks/pre-commit": "hook", "work/carve/f": "kept",
		"beside/readable/f": "r", "beside/secret": "s",
	} {
		write(t, filepath.Join(root, path), text)
	}
	tool, err := os.ReadFile("/usr/bin/true")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "work/tool"), tool, 0o755))
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// treePolicy is what the trees are put under.
func treePolicy(t testing.TB, root string) string {
	return policy(t, fmt.Sprintf(`
  filesystem {
    write = [workspace]
    read  = ["${workspace}/carve", "%s/beside/readable"]
    deny  = ["${workspace}/.git/hooks", "${workspace}/.env", "${workspace}/later", "${workspace}/made/for/it"]
  }`, root))
}

// TestLiveFiles attempts the same inside and outside, as the same user.
func TestLiveFiles(t *testing.T) {
	needSandbox(t)
	inside, outside := tree(t), tree(t)
	v := development(t, treePolicy(t, inside))
	for _, tt := range []struct{ attempt, want string }{
		{"read work/src/a.txt", "ok"},
		{"write work/src/a.txt", "ok"},
		{"create work/new", "ok"},
		{"rename work/new work/newer", "ok"},
		{"link work/newer work/src/newest", "ok"},
		{"remove work/newer", "ok"},
		{"read work/carve/f", "ok"},
		{"read beside/readable/f", "ok"},

		{"read work/.env", "EACCES"},
		{"write work/.env", "EACCES"},
		{"link work/.env work/copy", "EXDEV"},
		{"rename work/.env work/moved", "EBUSY"},
		{"list work/.git/hooks", "EACCES"},
		{"read work/.git/hooks/pre-commit", "ENOENT"},
		{"create work/.git/hooks/post-commit", "EROFS"},
		{"rename work/.git work/git", "EBUSY"},
		{"write work/carve/f", "EROFS"},
		{"create work/carve/g", "EROFS"},
		{"rename work/carve work/carved", "EBUSY"},
		{"create work/later", "EEXIST"},
		{"write beside/readable/f", "EROFS"},
		{"create beside/readable/g", "EROFS"},
		{"read beside/secret", "ENOENT"},
		{"list beside", "EACCES"},
		{"execute work/tool", "EACCES"},
		{"execute /usr/bin/true", "EACCES"},
		{"remove work/.env", "EBUSY"},
	} {
		t.Run(tt.attempt, func(t *testing.T) {
			outside := outside
			if tt.want != "ok" {
				outside = tree(t) // an earlier control has changed the other
			}
			control := outsideProbe(t, words(outside, tt.attempt)...)
			if control != "ok" {
				t.Errorf("%s outside is %s: the refusal inside proves nothing", tt.attempt, control)
			}
			r := probed(t, v, filepath.Join(inside, "work"), words(inside, tt.attempt)...)
			if got := strings.TrimSpace(r.stdout); got != tt.want {
				t.Errorf("%s inside is %q, want %s; %s", tt.attempt, got, tt.want, r)
			}
		})
	}
	for _, name := range []string{"later", "made"} {
		if _, err := os.Lstat(filepath.Join(inside, "work", name)); !os.IsNotExist(err) {
			t.Errorf("the placeholder %s stayed: %v", name, err)
		}
	}
}

// words puts root before every relative path of an attempt.
func words(root, attempt string) []string {
	out := strings.Fields(attempt)
	for i := range out[1:] {
		if !strings.HasPrefix(out[i+1], "/") {
			out[i+1] = filepath.Join(root, out[i+1])
		}
	}
	return out
}

// outsideProbe is what comes of an attempt without a sandbox.
func outsideProbe(t testing.TB, words ...string) string {
	t.Helper()
	text, err := exec.Command(probePath, append([]string{probeWord}, words...)...).CombinedOutput()
	if err != nil && len(text) == 0 {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestLiveSockets counts connections on the host's side.
func TestLiveSockets(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	tcp, tcpCount := listen(t, "tcp", "127.0.0.1:0")
	local, localCount := listen(t, "unix", filepath.Join(root, "beside/readable/socket"))
	for _, tt := range []struct {
		network, address string
		count            *atomic.Int64
		want             string
	}{
		{"tcp", tcp, tcpCount, "ECONNREFUSED"},
		{"unix", local, localCount, "EAFNOSUPPORT"},
	} {
		got := outsideProbe(t, "connect", tt.network, tt.address)
		for range 200 { // until the server has counted it
			if tt.count.Load() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got != "ok" || tt.count.Load() != 1 {
			t.Errorf("connect %s %s outside is %s, %d seen: the refusal inside proves nothing", tt.network, tt.address, got, tt.count.Load())
		}
		r := probed(t, v, filepath.Join(root, "work"), "connect", tt.network, tt.address)
		if got := strings.TrimSpace(r.stdout); got != tt.want {
			t.Errorf("connect %s inside is %q, want %s; %s", tt.network, got, tt.want, r)
		}
		if n := tt.count.Load(); n != 1 {
			t.Errorf("connect %s inside reached the host's server: %d connections", tt.network, n)
		}
	}
}

// listen serves an address and counts who comes.
func listen(t testing.TB, network, address string) (string, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	count := &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			c.Close()
		}
	}()
	return l.Addr().String(), count
}

// TestLivePrivileges: nothing of the sandbox can be taken apart from inside.
func TestLivePrivileges(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	work := filepath.Join(root, "work")
	for _, tt := range []struct {
		attempt string
		want    []string
		control bool // the attempt can be made outside without harm
	}{
		{"unshare", []string{"EPERM", "ENOSPC"}, true},
		{"mount " + work, []string{"EPERM"}, false},
		{"remount " + filepath.Join(work, "carve"), []string{"EPERM"}, false},
		{"remount /", []string{"EPERM"}, false},
	} {
		if tt.control {
			if got := outsideProbe(t, strings.Fields(tt.attempt)...); got != "ok" {
				t.Errorf("%s outside is %s: the refusal inside proves nothing", tt.attempt, got)
			}
		}
		r := probed(t, v, work, strings.Fields(tt.attempt)...)
		if got := strings.TrimSpace(r.stdout); !contains(tt.want, got) {
			t.Errorf("%s inside is %q, want one of %q; %s", tt.attempt, got, tt.want, r)
		}
	}
	r := probed(t, v, work, "status")
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("/proc/self/status inside lacks %q: %s", want, r.stdout)
		}
	}
}

// TestLiveInitUntouched: PID 1 of the sandbox, which ends it when obsrun dies, is
// out of reach also where the policy lets everything readable start. The process
// itself is within reach: the control.
func TestLiveInitUntouched(t *testing.T) {
	needSandbox(t)
	for _, body := range []string{plain, "\n  filesystem {\n    write = [workspace]\n    execute = [\"/\"]\n  }"} {
		text := strings.ReplaceAll(policy(t, body), fmt.Sprintf("execute = [%q]", probePath), "")
		if body == plain {
			text = policy(t, body)
		}
		v := development(t, text)
		dir := labDir(t)
		if r := probed(t, v, dir, "look-into", "self"); r.Exit != 0 {
			t.Errorf("looking into oneself: %s", r)
		}
		if got := strings.TrimSpace(probed(t, v, dir, "look-into", "1").stdout); got != "EACCES" {
			t.Errorf("opening /proc/1/mem is %q, want EACCES; policy %s", got, body)
		}
		// The domain refuses nothing else that the policy allows.
		must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
		write(t, filepath.Join(dir, "a/f"), "x")
		if r := probed(t, v, dir, "rename", filepath.Join(dir, "a/f"), filepath.Join(dir, "a/b/f")); r.Exit != 0 {
			t.Errorf("renaming into another directory: %s", r)
		}
		if r := probed(t, v, dir, "execute", "/usr/bin/true"); (r.Exit == 0) != (body != plain) {
			t.Errorf("starting /usr/bin/true: %s", r)
		}
	}
}

// TestLiveFifo: a read-only mount does not keep a FIFO from being written, so what
// is below a read grant is kept by Landlock; all that a policy writes goes on.
func TestLiveFifo(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	for _, at := range []string{"beside/readable/fifo", "work/fifo", "work/src/file"} {
		if filepath.Base(at) == "file" {
			write(t, filepath.Join(root, at), "")
			continue
		}
		must(t, unix.Mkfifo(filepath.Join(root, at), 0o600))
		// Somebody reads it, or an open for writing would say ENXIO.
		fd, err := unix.Open(filepath.Join(root, at), unix.O_RDONLY|unix.O_NONBLOCK, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
	}
	inside := strings.Replace(treePolicy(t, root), "\n  filesystem {", "\n  system {\n    shm = \"1MiB\"\n  }\n  filesystem {", 1)
	for name, text := range map[string]string{
		"programs named": inside, "all may start": strings.ReplaceAll(inside, fmt.Sprintf("execute = [%q]", probePath), `execute = ["/"]`),
	} {
		v := development(t, text)
		for _, tt := range []struct{ attempt, want string }{
			{"open-write beside/readable/fifo", "EACCES"},
			{"stat beside/readable/fifo", "ok"},
			{"open-write work/fifo", "ok"},
			{"open-both work/src/file", "ok"},
			{"open-unnamed work", "ok"},
			{"create /tmp/obspc-fifo-test", "ok"},
			{"create /dev/shm/obspc-fifo-test", "ok"},
			{"open-both /dev/null", "ok"},
			{"open-write /dev/stdout", "ok"},
			{"terminal", "ok"},
		} {
			if tt.want != "ok" {
				if got := outsideProbe(t, words(root, tt.attempt)...); got != "ok" {
					t.Errorf("%s outside is %s: the refusal inside proves nothing", tt.attempt, got)
				}
			}
			if r := probed(t, v, work, words(root, tt.attempt)...); strings.TrimSpace(r.stdout) != tt.want {
				t.Errorf("%s, %s inside: want %s; %s", name, tt.attempt, tt.want, r)
			}
		}
	}
}

// TestLiveDevices: a root caller owns the host's device nodes.
func TestLiveDevices(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	v := development(t, treePolicy(t, root))
	info, err := os.Stat("/dev/null")
	must(t, err)
	if os.Getuid() == 0 {
		if got := outsideProbe(t, "chmod", "/dev/null", "666"); got != "ok" {
			t.Errorf("chmod /dev/null outside is %s", got)
		}
	}
	r := probed(t, v, filepath.Join(root, "work"), "chmod", "/dev/null", "600")
	if got := strings.TrimSpace(r.stdout); got != "EPERM" && got != "EROFS" {
		t.Errorf("chmod /dev/null inside is %q; %s", got, r)
	}
	after, err := os.Stat("/dev/null")
	must(t, err)
	if after.Mode() != info.Mode() {
		os.Chmod("/dev/null", info.Mode())
		t.Errorf("/dev/null had mode %v and now has %v", info.Mode(), after.Mode())
	}
	if r := probed(t, v, filepath.Join(root, "work"), "write", "/dev/null"); strings.TrimSpace(r.stdout) != "ok" {
		t.Errorf("writing /dev/null inside: %s", r)
	}
}
