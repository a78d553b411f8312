package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/obspc/obspc/compiler/ir"
	"golang.org/x/sys/unix"
)

// probeVariable asks the test binary to put rules on itself and make one attempt,
// instead of testing: the rights to handle, then one "right path" a line, then
// the attempt.
const probeVariable = "OBSPC_LANDLOCK_PROBE"

func TestMain(m *testing.M) {
	if text := os.Getenv(probeVariable); text != "" {
		runtime.LockOSThread()
		fmt.Println(outcome(attempt(strings.Split(text, "\n"))))
		return
	}
	os.Exit(m.Run())
}

func outcome(err error) string {
	var n syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &n):
		return unix.ErrnoName(n)
	}
	return err.Error()
}

func attempt(lines []string) error {
	if lines[0] != "0" {
		if err := restrict(lines[0], lines[1:len(lines)-1]); err != nil {
			return fmt.Errorf("set-up: %w", err)
		}
	}
	words := strings.Fields(lines[len(lines)-1])
	switch words[0] {
	case "rename":
		return os.Rename(words[1], words[2])
	case "link":
		return os.Link(words[1], words[2])
	}
	return syscall.Exec(words[1], words[1:], []string{probeVariable + "=0\nlink " + words[1] + " " + words[2]})
}

func restrict(rights string, rules []string) error {
	bits, err := strconv.ParseUint(rights, 10, 64)
	if err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: bits}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return errno
	}
	for _, rule := range rules {
		right, path, _ := strings.Cut(rule, " ")
		bit, err := strconv.ParseUint(right, 10, 64)
		if err != nil {
			return err
		}
		at, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: bit, Parent_fd: int32(at)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
			return errno
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// probe runs one attempt in a process of its own, under the rights and rules
// given; no rights: the control.
func probe(t *testing.T, rights uint64, rules []string, words string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	lines := append([]string{strconv.FormatUint(rights, 10)}, rules...)
	cmd.Env = []string{probeVariable + "=" + strings.Join(append(lines, words), "\n")}
	out, err := cmd.Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

func landlockABI() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// tree makes bin/tool, lib/tool, bin/script (for lib/tool), a/file and b.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "lib", "a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{
		"bin/tool": program, "lib/tool": program, "a/file": nil, "bin/script": []byte("#!" + root + "/lib/tool\n"),
	} {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestLive holds the kernel to what rules say: starting and reparenting, each
// attempt first without rules.
func TestLive(t *testing.T) {
	if landlockABI() < ABI {
		t.Skipf("Landlock ABI %d is not there", ABI)
	}
	for _, tt := range []struct {
		name, words, want string
	}{
		{"start what is covered", "start bin/tool b/new", "done"},
		{"start what is not", "start lib/tool b/new", "EACCES"},
		{"start a script whose interpreter is not", "start bin/script b/new", "EACCES"},
		{"rename within a write", "rename a/file b/file", "done"},
		{"link within a write", "link a/file b/file", "done"},
		{"rename out of the writes", "rename a/file lib/file", "EXDEV"},
		{"rename within a directory", "rename lib/tool lib/other", "done"},
		{"rename to where more starts", "rename a/file bin/file", "EXDEV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := probe(t, 0, nil, inside(tree(t), tt.words)); got != "done" {
				t.Fatalf("control: %s = %s, want done", tt.words, got)
			}
			root := tree(t)
			p := policy("read "+root, "write "+root+"/a", "write "+root+"/b", "write "+root+"/bin", "execute "+root+"/bin")
			if got := probe(t, Execute|Refer, granted(Compile(p)), inside(root, tt.words)); got != tt.want {
				t.Errorf("%s = %s, want %s", tt.words, got, tt.want)
			}
		})
	}
}

// TestLiveExecuteAloneStopsReparenting is why Refer is handled: a ruleset of the
// first ABI refuses every rename into another directory.
func TestLiveExecuteAloneStopsReparenting(t *testing.T) {
	if landlockABI() < 1 {
		t.Skip("Landlock is not there")
	}
	root := tree(t)
	if got := probe(t, Execute, []string{fmt.Sprint(Execute, " ", root)}, inside(root, "rename a/file b/file")); got != "EXDEV" {
		t.Errorf("rename under EXECUTE alone = %s, want EXDEV", got)
	}
}

func inside(root, words string) string {
	f := strings.Fields(words)
	return f[0] + " " + filepath.Join(root, f[1]) + " " + filepath.Join(root, f[2])
}

// granted is the rules as probe takes them.
func granted(r *Rules) []string {
	var out []string
	for _, b := range r.Bind(ir.Binding{}) {
		out = append(out, fmt.Sprint(Execute, " ", b.Path))
	}
	for _, b := range r.BindReparent(ir.Binding{}) {
		out = append(out, fmt.Sprint(Refer, " ", b.Path))
	}
	return out
}
