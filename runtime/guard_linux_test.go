package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify"
)

// plantGuarded makes a tree anew that holds every kind of protection.
func plantGuarded(t testing.TB, root string) {
	t.Helper()
	for _, part := range []string{"work", "beside"} {
		must(t, os.RemoveAll(filepath.Join(root, part)))
	}
	plant(t, root)
	write(t, filepath.Join(root, "work/.git/config"), "x")
	write(t, filepath.Join(root, "beside/readable/mid/hole/key"), "secret")
	write(t, filepath.Join(root, "beside/readable/mid/hole/window/f"), "shown")
}

// guardedPolicy is the policy of such a tree.
func guardedPolicy(t testing.TB, root string) string {
	return policy(t, fmt.Sprintf(`
  filesystem {
    write = [workspace]
    read  = ["${workspace}/carve", "%[1]s/beside/readable", "%[1]s/beside/readable/mid/hole/window"]
    deny = ["${workspace}/.git/hooks", "${workspace}/.git/config", "${workspace}/.env", "${workspace}/later", "${workspace}/made/for/it",
      "%[1]s/beside/readable/mid/hole", "%[1]s/beside/readable/absent/key"]
  }`, root))
}

// during runs the probe in root/work until do has changed something, and then as
// long as it is let. It is true when the command was killed, and says how long it
// went on after do.
func during(t *testing.T, v *verify.Verified, root string, do func() error) (ran, time.Duration) {
	t.Helper()
	stamp := filepath.Join(root, "work/stamp")
	os.Remove(stamp)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan time.Duration)
	go func() {
		for range 1000 {
			if text, err := os.ReadFile(stamp); err == nil && len(text) > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := do(); err != nil {
			t.Errorf("changing something outside: %v", err)
		}
		var now unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		// Long enough for a timer that looks every 50 ms.
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
			cancel()
		}
		done <- time.Duration(now.Nano())
	}()
	r := start(t, ctx, v, runtime.Job{
		Argv: []string{probePath, probeWord, "stamp", stamp}, Development: true, Workspace: runtime.Workspace{Dir: filepath.Join(root, "work")},
	})
	cancel()
	changed := <-done
	last, err := os.ReadFile(stamp)
	must(t, err)
	ns, err := strconv.ParseInt(string(bytes.TrimLeft(last, "0")), 10, 64)
	must(t, err)
	return r, time.Duration(ns) - changed
}

// TestLiveProtectionLost changes each protected thing outside while the command
// runs.
func TestLiveProtectionLost(t *testing.T) {
	needSandbox(t)
	save := func(path string) func(string) error {
		return func(root string) error { // as editors and git do
			at := filepath.Join(root, path)
			if err := os.WriteFile(at+".new", []byte("new"), 0o600); err != nil {
				return err
			}
			return os.Rename(at+".new", at)
		}
	}
	move := func(path string) func(string) error {
		return func(root string) error {
			return os.Rename(filepath.Join(root, path), filepath.Join(root, path)+".moved")
		}
	}
	remove := func(path string) func(string) error {
		return func(root string) error { return os.RemoveAll(filepath.Join(root, path)) }
	}
	swap := func(path string) func(string) error {
		return func(root string) error {
			a, b := filepath.Join(root, path), filepath.Join(root, path)+".other"
			err := os.Mkdir(b, 0o700)
			for range 2 {
				if err == nil {
					err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
				}
			}
			return err
		}
	}
	fill := func(path string) func(string) error {
		return func(root string) error {
			at := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return err
			}
			return os.WriteFile(at, nil, 0o600)
		}
	}
	root := labDir(t)
	v := development(t, guardedPolicy(t, root))
	var lates []time.Duration
	for _, tt := range []struct {
		name string
		do   func(root string) error
		says string // "": nothing protected is changed
		// timer: the timer sees it as well; it does not see what is as it was.
		timer bool
	}{
		{"save a masked file", save("work/.env"), "work/.env is gone", false},
		{"git config", func(root string) error {
			return exec.Command("git", "-C", filepath.Join(root, "work"), "config", "-f", ".git/config", "user.name", "x").Run()
		}, "work/.git/config is gone", false},
		{"remove a masked file", remove("work/.env"), "work/.env is gone", false},
		{"move a masked file", move("work/.env"), "work/.env was moved away", false},
		{"move a masked directory", move("work/.git/hooks"), "work/.git/hooks was moved away", false},
		{"move what leads to masks", move("work/.git"), "work/.git was moved away", false},
		{"move a read-only directory", move("work/carve"), "work/carve was moved away", false},
		{"remove a placeholder", remove("work/later"), "work/later is gone", false},
		{"move what leads to a hole", move("beside/readable/mid"), "beside/readable/mid/hole was moved away", true},
		{"exchange and back", swap("work/carve"), "moved away", false},
		{"make what is denied and missing", fill("beside/readable/absent/key"), "absent/key, which is denied and was missing, came to be", true},

		{"save another file", save("work/src/a.txt"), "", true},
		{"change what is masked", fill("work/.git/hooks/new"), "", false},
		{"make what leads to something denied", fill("beside/readable/absent/other"), "", false},
		{"move the workspace", func(root string) error {
			if err := os.Rename(root, root+".moved"); err != nil {
				return err
			}
			return os.Rename(root+".moved", root)
		}, "", false},
	} {
		for _, timer := range []bool{false, true} {
			if timer && !tt.timer {
				continue
			}
			t.Run(fmt.Sprintf("%s, timer %v", tt.name, timer), func(t *testing.T) {
				if _, err := exec.LookPath("git"); err != nil && strings.HasPrefix(tt.name, "git") {
					t.Skip("host feature missing: git")
				}
				if timer {
					t.Cleanup(runtime.WithoutInotify())
				}
				plantGuarded(t, root)
				r, late := during(t, v, root, func() error { return tt.do(root) })
				if tt.says == "" {
					if r.Evidence.Outcome != runtime.Cancelled {
						t.Errorf("nothing that is protected was changed: %s", r)
					}
					return
				}
				if r.Evidence.Outcome != runtime.ProtectionLost || r.Exit != runtime.ExitRefused || !r.Evidence.Cleanup.TreeDead || !strings.Contains(r.Evidence.Reason, tt.says) {
					t.Errorf("want protection-lost, exit 125, and %q; %s", tt.says, r)
				}
				if !timer {
					lates = append(lates, late)
				}
				if late > 20*time.Second {
					t.Errorf("the command went on for %v", late)
				}
			})
		}
	}
	t.Logf("the command went on for %v, at most %v", median(lates), slices.Max(lates))
}

func init() {
	standIns["mounts-outside"] = mountsOutside
}

// mountsOutside runs in a mount namespace of its own, whose mounts propagate as
// they do on a machine with systemd: an unprivileged run below a directory on which
// something is mounted meanwhile.
func mountsOutside() int {
	root := os.Getenv("OBSPC_TEST_ROOT")
	shared := filepath.Join(root, "shared")
	err := privateMounts()
	if err == nil {
		err = unix.Mount("none", shared, "tmpfs", 0, "")
	}
	if err == nil {
		err = unix.Mount("", shared, "", unix.MS_SHARED, "")
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(shared, "later"), 0o755)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command(os.Getenv("OBSPC_TEST_PROBE"), "-test.run=^TestMountPropagates$", "-test.v")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "TMPDIR=" + root, "OBSPC_TEST_ROOT=" + root}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	for range 2000 { // until the command has written its first stamp
		if at, err := os.Stat(filepath.Join(root, "work/stamp")); err == nil && at.Size() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := unix.Mount("none", filepath.Join(shared, "later"), "tmpfs", 0, ""); err != nil {
		fmt.Println(err)
	}
	if cmd.Wait() != nil {
		return 1
	}
	return 0
}

// TestMountOutside: a mount that propagates into the sandbox ends the run.
func TestMountOutside(t *testing.T) {
	needSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to mount")
	}
	root := labDir(t)
	must(t, os.Mkdir(filepath.Join(root, "shared"), 0o755))
	must(t, os.Mkdir(filepath.Join(root, "work"), 0o755))
	for _, at := range []string{root, filepath.Join(root, "work")} {
		must(t, os.Chown(at, nobody, nobody))
	}
	inNamespace(t, "mounts-outside", "TestMountPropagates", 1, "OBSPC_TEST_ROOT="+root)
}

// TestMountPropagates is the run of TestMountOutside.
func TestMountPropagates(t *testing.T) {
	root := os.Getenv("OBSPC_TEST_ROOT")
	if root == "" {
		t.Skip("no test by itself: TestMountOutside starts it")
	}
	text := policy(t, fmt.Sprintf(`
  filesystem {
    write = [workspace]
    read  = ["%s/shared"]
  }`, root))
	r, late := during(t, development(t, text), root, func() error {
		for range 1000 { // until it is mounted here as well
			text, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil || strings.Contains(string(text), root+"/shared/later ") {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
		return os.ErrNotExist
	})
	if r.Evidence.Outcome != runtime.ProtectionLost || !strings.Contains(r.Evidence.Reason, "something was mounted at "+root+"/shared/later") {
		t.Errorf("want protection-lost; %s", r)
	}
	t.Logf("the command went on for %v", late)
}
