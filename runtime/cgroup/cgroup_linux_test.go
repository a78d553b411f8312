package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// helperWord makes the test's own binary do something in a group.
const helperWord = "obspc-cgroup-helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperWord {
		if err := helpers[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ok")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var helpers = map[string]func([]string) error{
	// hog touches so many MiB of memory.
	"hog": func(a []string) error {
		n, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		held := make([]byte, n<<20)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		return nil
	},
	// fork starts so many processes, all alive at once.
	"fork": func(a []string) error {
		n, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		for range n {
			cmd := exec.Command("/proc/self/exe", helperWord, "sleep", "5s")
			if err := cmd.Start(); err != nil {
				return err
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
		}
		return nil
	},
	"sleep": func(a []string) error {
		d, err := time.ParseDuration(a[0])
		time.Sleep(d)
		return err
	},
	// new makes a group as a run does, has a process in it, and takes it away.
	"new": func([]string) error {
		g, err := New(both)
		if err != nil {
			return err
		}
		_, err = in(g, "hog", "1")
		return errors.Join(err, g.Close())
	},
	// abandon makes a group with a process in it and does nothing more.
	"abandon": func([]string) error {
		g, err := New(both)
		if err != nil {
			return err
		}
		cmd := command(g, "sleep", "1m")
		if err := cmd.Start(); err != nil {
			return err
		}
		fmt.Println(g.dir.Name())
		time.Sleep(time.Minute)
		return nil
	},
}

var both = Limits{Memory: 64 << 20, Processes: 64}

// command is a helper that starts in g.
func command(g *Group, words ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{helperWord}, words...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	return cmd
}

// in runs a helper in g and gives what it said.
func in(g *Group, words ...string) (string, error) {
	text, err := command(g, words...).CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

// needGroup is a group that keeps the limits; the test is skipped where none can
// be made.
func needGroup(t *testing.T, l Limits) *Group {
	t.Helper()
	g, err := New(l)
	var lacks *LackingError
	if errors.As(err, &lacks) {
		t.Skipf("host feature missing: cgroup v2 with %s (%s)", strings.Join(lacks.Controllers, " and "), lacks.Why)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(g.dir.Name()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the group %s is left: %v", g.dir.Name(), err)
		}
	})
	return g
}

func TestLocate(t *testing.T) {
	const unified = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	const hybrid = "30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct {
		name, groups, mounts string
		want                 hierarchy // zero: none
	}{
		{"unified", "0::/user.slice/a.scope\n", unified, hierarchy{"/sys/fs/cgroup", "/user.slice/a.scope"}},
		{"the root", "0::/\n", unified, hierarchy{"/sys/fs/cgroup", "/"}},
		{"hybrid", "4:memory:/x\n0::/a\n", hybrid, hierarchy{"/sys/fs/cgroup/unified", "/a"}},
		{"a part of it", "0::/a/b/c\n", "30 24 0:26 /a/b /mnt rw - cgroup2 none rw\n", hierarchy{"/mnt", "/c"}},
		{"just its part", "0::/a/b\n", "30 24 0:26 /a/b /mnt rw - cgroup2 none rw\n", hierarchy{"/mnt", "/"}},
		{"another part", "0::/a/bc\n", "30 24 0:26 /a/b /mnt rw - cgroup2 none rw\n", hierarchy{}},
		{"v1 alone", "4:memory:/x\n", hybrid, hierarchy{}},
		{"outside of the namespace", "0::/../x\n", unified, hierarchy{}},
		{"not mounted", "0::/a\n", "24 1 0:5 / /proc rw - proc proc rw\n", hierarchy{}},
		{"a mount point with a space", "0::/a\n", `30 24 0:26 / /mnt/a\040b rw - cgroup2 none rw` + "\n", hierarchy{}},
	} {
		got, err := locate(tt.groups, tt.mounts)
		if got != tt.want || (err != nil) != (tt.want == hierarchy{}) {
			t.Errorf("%s: locate = %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestDirs(t *testing.T) {
	got := hierarchy{"/sys/fs/cgroup", "/a/b"}.dirs()
	if want := "/sys/fs/cgroup/a/b /sys/fs/cgroup/a /sys/fs/cgroup"; strings.Join(got, " ") != want {
		t.Errorf("dirs = %q, want %q", got, want)
	}
}

// TestMemory: a process that takes more memory than its group may have is killed,
// and counted. The same process outside is not.
func TestMemory(t *testing.T) {
	g := needGroup(t, Limits{Memory: 64 << 20})
	if out, err := exec.Command("/proc/self/exe", helperWord, "hog", "128").CombinedOutput(); err != nil {
		t.Fatalf("the control: %v, %s", err, out)
	}
	if out, err := in(g, "hog", "16"); err != nil {
		t.Errorf("16 of 64 MiB: %v, %s", err, out)
	}
	if e, err := g.Events(); err != nil || e.Kills != 0 {
		t.Errorf("events before: %+v, %v", e, err)
	}
	_, err := in(g, "hog", "128")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("128 of 64 MiB: %v, want a SIGKILL", err)
	}
	if e, err := g.Events(); err != nil || e.Kills == 0 {
		t.Errorf("events after: %+v, %v", e, err)
	}
	if err := g.Keeps(); err != nil {
		t.Error(err)
	}
}

// TestProcesses: forking fails once the group is full, and is counted.
func TestProcesses(t *testing.T) {
	g := needGroup(t, Limits{Processes: 24}) // a Go program has some threads
	if out, err := exec.Command("/proc/self/exe", helperWord, "fork", "12").CombinedOutput(); err != nil {
		t.Fatalf("the control: %v, %s", err, out)
	}
	if err := g.LimitProcesses(); err != nil {
		t.Fatal(err)
	}
	if out, err := in(g, "hog", "1"); err != nil {
		t.Errorf("one process: %v, %s", err, out)
	}
	if out, err := in(g, "fork", "12"); err == nil {
		t.Errorf("12 Go programs have at most 24 threads: %s", out)
	}
	if e, err := g.Events(); err != nil || e.Forks == 0 {
		t.Errorf("events: %+v, %v", e, err)
	}
	if err := g.Keeps(); err != nil {
		t.Error(err)
	}
	if err := put(filepath.Join(g.dir.Name(), "pids.max"), "max"); err != nil {
		t.Fatal(err)
	}
	if g.Keeps() == nil {
		t.Error("the limit is gone, and Keeps does not say so")
	}
}

// TestClose ends what is left, and TestLeftover what a killed owner left.
func TestClose(t *testing.T) {
	g := needGroup(t, both)
	cmd := command(g, "sleep", "1m")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := put(filepath.Join(g.dir.Name(), "cgroup.kill"), "1"); errors.Is(err, os.ErrNotExist) {
		cmd.Process.Kill()
		cmd.Wait()
		t.Skip("host feature missing: cgroup.kill (Linux 5.14)")
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a process of the group lives on")
	}
}

func TestLeftover(t *testing.T) {
	needGroup(t, both)
	cmd := exec.Command("/proc/self/exe", helperWord, "abandon")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, _ := out.Read(line)
	left := strings.TrimSpace(string(line[:n]))
	in, err := words(filepath.Join(left, "cgroup.procs"))
	if err != nil || len(in) == 0 {
		t.Errorf("the abandoned group %q has processes %q, %v", left, in, err)
	}
	needGroup(t, both) // another run meanwhile leaves it alone
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a run in use was taken away: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	needGroup(t, both)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// stranger is a user that owns nothing.
const stranger = 65534

// delegated makes a group as a service manager does for a user: the directory and
// the files that divide it are the user's (cgroup-v2.rst, Delegation).
func delegated(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to delegate a cgroup to somebody else")
	}
	g := needGroup(t, Limits{Processes: 1000})
	if err := put(filepath.Join(filepath.Dir(g.dir.Name()), "cgroup.subtree_control"), "+memory +pids"); err != nil {
		t.Skipf("host feature missing: cgroup v2 with memory and pids (%v)", err)
	}
	dir := filepath.Join(g.dir.Name(), "delegated")
	if err := errors.Join(os.Chmod(g.dir.Name(), 0o755), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := put(filepath.Join(g.dir.Name(), "cgroup.subtree_control"), "+memory +pids"); err != nil {
		t.Skipf("host feature missing: cgroup v2 with memory and pids (%v)", err)
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(dir, name), stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asStranger runs a helper as another user in the group dir.
func asStranger(t *testing.T, dir string, words ...string) *exec.Cmd {
	t.Helper()
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	cmd := exec.Command("/proc/self/exe", append([]string{helperWord}, words...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		UseCgroupFD: true, CgroupFD: int(group.Fd()),
		Credential: &syscall.Credential{Uid: stranger, Gid: stranger},
	}
	return cmd
}

// TestDelegated: a user can have a group exactly where one was delegated to it,
// and leaves nothing behind.
func TestDelegated(t *testing.T) {
	dir := delegated(t)
	if out, err := asStranger(t, dir, "new").CombinedOutput(); err != nil {
		t.Errorf("alone in a delegated group: %v, %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if lent, err := words(filepath.Join(dir, "cgroup.subtree_control")); err != nil || len(lent) > 0 {
		t.Errorf("the delegated group lends %q, %v; it lent nothing before", lent, err)
	}
	// Beside another process in it, which is nobody's to move.
	other := asStranger(t, dir, "sleep", "1m")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := asStranger(t, dir, "new").CombinedOutput()
	other.Process.Kill()
	other.Wait()
	if err == nil || !strings.Contains(string(out), "no cgroup of the run's own") {
		t.Errorf("beside another process: %v, %s", err, out)
	}
	// Where nothing was delegated.
	if out, err := asStranger(t, filepath.Dir(filepath.Dir(dir)), "new").CombinedOutput(); err == nil || !strings.Contains(string(out), "is not this user's to divide") {
		t.Errorf("in a group of root: %v, %s", err, out)
	}
}

// TestLent: a group above lends its children the controllers, as a user's service
// manager does for its slices.
func TestLent(t *testing.T) {
	dir := delegated(t)
	if err := put(filepath.Join(dir, "cgroup.subtree_control"), "+memory +pids"); err != nil {
		t.Fatal(err)
	}
	scope := filepath.Join(dir, "scope")
	if err := os.Mkdir(scope, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(scope) })
	other := asStranger(t, scope, "sleep", "1m")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	if out, err := asStranger(t, scope, "new").CombinedOutput(); err != nil {
		t.Errorf("below the group above: %v, %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, prefix+"*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
