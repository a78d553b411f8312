package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func init() {
	standIns["bwrap-orphans"] = func() int {
		if os.Getenv("OBSPC_TEST_ORPHAN") == "" {
			// As bubblewrap clones: PID 1 of a namespace, in the same group, called alike.
			_, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
				Env: []string{"OBSPC_TEST_ORPHAN=1"}, Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID},
			})
			if err != nil {
				fmt.Println(err)
			}
		}
		time.Sleep(time.Minute)
		return 1
	}
}

// killedRun is what the process of a run that is killed is told.
type killedRun struct{ registry, work, after, bwrap string }

const killedVariable = "OBSPC_TEST_KILLED"

// TestKilledRun is one run in a process of its own, which is killed.
func TestKilledRun(t *testing.T) {
	text := os.Getenv(killedVariable)
	if text == "" {
		t.Skip("no test by itself: tests that kill it start it")
	}
	words := strings.Split(text, "|")
	runtime.UseRegistry(words[0])
	runtime.KilledAfter(words[2])
	v := development(t, killedPolicy(t))
	job := runtime.Job{Argv: []string{probePath, probeWord, "shut-and-stay", "made"}, Workspace: runtime.Workspace{Dir: words[1], Fresh: words[1] == ""}}
	if words[3] != "" {
		job.Bwrap = words[3]
	}
	job.Development = true
	t.Errorf("the run ended: %s", start(t, t.Context(), v, job))
}

// killedPolicy keeps names missing in a workspace.
func killedPolicy(t testing.TB) string {
	return policy(t, `
  filesystem {
    write = [workspace]
    deny  = ["${workspace}/later", "${workspace}/made/for/it"]
  }`)
}

// kill starts such a run and kills it once ready; its own step may kill it before.
func (k killedRun) kill(t *testing.T, ready func() bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledRun$")
	cmd.Env = append(os.Environ(), killedVariable+"="+strings.Join([]string{k.registry, k.work, k.after, k.bwrap}, "|"))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the run that is to be killed: %v\n%s", err, out.String())
			}
			return
		case <-time.After(10 * time.Millisecond):
			if ready() {
				cmd.Process.Kill()
			}
		}
	}
}

// registered reports whether some entry of a registry has a line that begins so.
func registered(at, line string) bool {
	all, _ := filepath.Glob(filepath.Join(at, "*"))
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "\n"+line) {
			return true
		}
	}
	return false
}

// TestLiveKilled: what a run has made is taken away by the next one, whatever it is
// a run of and however far the killed one had come.
func TestLiveKilled(t *testing.T) {
	needSandbox(t)
	at := runtime.Registry()
	t.Cleanup(func() { runtime.UseRegistry(at) })
	next := development(t, policy(t, plain))
	for _, after := range []string{"enrol", "bind", "hold", "materialise", "the command"} {
		for _, fresh := range []bool{false, true} {
			if after != "the command" && fresh == (after == "enrol" || after == "hold") {
				continue // the other kind is tried there
			}
			t.Run(fmt.Sprintf("%s, fresh %v", after, fresh), func(t *testing.T) {
				dir := labDir(t)
				k := killedRun{registry: filepath.Join(dir, "registry"), after: after}
				if !fresh {
					k.work = filepath.Join(dir, "work")
					write(t, filepath.Join(k.work, "kept"), "x")
				}
				workspaces := func() []string {
					out, err := filepath.Glob("/tmp/obspc-workspace-*")
					must(t, err)
					return out
				}
				before := workspaces()
				k.kill(t, func() bool { return len(marked(t, "shut-and-stay")) > 0 && closed(k.work, workspaces()) })
				placed := after != "enrol" && after != "bind"
				if _, err := os.Lstat(filepath.Join(k.work, "later")); !fresh && (err == nil) != placed {
					t.Errorf("after the kill the placeholder is there: %v, want %v", err == nil, placed)
				}
				if more := len(workspaces()) > len(before); fresh && after != "enrol" && !more {
					t.Error("the kill left no workspace: that there is none later proves nothing")
				}
				runtime.UseRegistry(k.registry)
				r := probed(t, next, labDir(t), "stat", ".")
				if r.Exit != 0 || len(r.Evidence.Cleanup.Earlier) != 1 || !strings.Contains(r.Evidence.Cleanup.Earlier[0], `policy "p"`) {
					t.Errorf("the next run, whose evidence says what it removed: %s", r)
				}
				if left := marked(t, "shut-and-stay"); len(left) > 0 {
					t.Errorf("left running: %q", left)
				}
				if !fresh {
					if names, _ := os.ReadDir(k.work); len(names) != 1 || names[0].Name() != "kept" {
						t.Errorf("left in the workspace: %v; %s", names, r)
					}
				}
				for _, w := range workspaces() {
					if !contains(before, w) && mine(w) {
						t.Errorf("the workspace %s is left", w)
					}
				}
				if r := probed(t, next, labDir(t), "stat", "."); len(r.Evidence.Cleanup.Earlier) > 0 {
					t.Errorf("the run after that finds something again: %s", r)
				}
				if names, _ := os.ReadDir(k.registry); len(names) != 1 {
					t.Errorf("left in the registry: %v", names)
				}
			})
		}
	}
}

// mine reports whether a workspace is of this test's policy: other tests have some.
func mine(workspace string) bool {
	_, err := os.Lstat(filepath.Join(workspace, "made"))
	return err == nil
}

// closed reports whether a directory of the killed run has no permissions any more.
func closed(work string, fresh []string) bool {
	for _, dir := range append(fresh, work) {
		if info, err := os.Lstat(filepath.Join(dir, "made")); err == nil && info.Mode().Perm() == 0 {
			return true
		}
	}
	return false
}

// TestLiveKilledFilled: what somebody has put where a placeholder was stays.
func TestLiveKilledFilled(t *testing.T) {
	needSandbox(t)
	at := runtime.Registry()
	t.Cleanup(func() { runtime.UseRegistry(at) })
	dir := labDir(t)
	k := killedRun{registry: filepath.Join(dir, "registry"), work: filepath.Join(dir, "work"), after: "hold"}
	must(t, os.Mkdir(k.work, 0o755))
	k.kill(t, func() bool { return false })
	must(t, os.Remove(filepath.Join(k.work, "later")))
	write(t, filepath.Join(k.work, "later"), "")
	write(t, filepath.Join(k.work, "made/for/other"), "x")
	runtime.UseRegistry(k.registry)
	if r := probed(t, development(t, policy(t, plain)), labDir(t), "stat", "."); r.Exit != 0 {
		t.Fatalf("the next run: %s", r)
	}
	for name, there := range map[string]bool{"later": true, "made/for/other": true, "made/for/it": false} {
		if _, err := os.Lstat(filepath.Join(k.work, name)); (err == nil) != there {
			t.Errorf("%s is there: %v, want %v", name, err == nil, there)
		}
	}
	info, err := os.Stat(filepath.Join(k.work, "made/for"))
	if must(t, err); info.Mode()&os.ModeSticky != 0 {
		t.Errorf("a directory that somebody uses has mode %v, and would be removed once empty", info.Mode())
	}
}

// TestLiveKilledOrphan: a bubblewrap that was cloned and then lost its parent waits
// for ever; the next run ends it.
func TestLiveKilledOrphan(t *testing.T) {
	needSandbox(t)
	at := runtime.Registry()
	t.Cleanup(func() { runtime.UseRegistry(at) })
	dir := labDir(t)
	k := killedRun{registry: filepath.Join(dir, "registry"), work: filepath.Join(dir, "work"), bwrap: standInAt(t, "bwrap-orphans", 0o755)}
	must(t, os.Mkdir(k.work, 0o755))
	orphans := func() []string {
		var out []string
		all, err := filepath.Glob("/proc/[0-9]*")
		must(t, err)
		for _, dir := range all {
			if exe, err := os.Readlink(dir + "/exe"); err == nil && exe == k.bwrap {
				out = append(out, dir)
			}
		}
		return out
	}
	k.kill(t, func() bool { return registered(k.registry, "launch ") && len(orphans()) == 2 })
	for range 200 { // its parent dies with obsrun
		if len(orphans()) == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left := orphans(); len(left) != 1 {
		t.Fatalf("after the kill %q are alive, want the one that was cloned", left)
	}
	runtime.UseRegistry(k.registry)
	if r := probed(t, development(t, policy(t, plain)), labDir(t), "stat", "."); r.Exit != 0 || len(r.Evidence.Cleanup.Earlier) != 1 {
		t.Errorf("the next run: %s", r)
	}
	if left := orphans(); len(left) > 0 {
		t.Errorf("alive after the next run: %q", left)
	}
}

// TestLiveKilledGitStatus: a run that was killed leaves nothing in a repository
// once another one has begun.
func TestLiveKilledGitStatus(t *testing.T) {
	needSandbox(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("host feature missing: git")
	}
	at := runtime.Registry()
	t.Cleanup(func() { runtime.UseRegistry(at) })
	dir := labDir(t)
	k := killedRun{registry: filepath.Join(dir, "registry"), work: filepath.Join(dir, "work")}
	write(t, filepath.Join(k.work, "kept"), "x")
	call := func(args ...string) string {
		cmd := exec.Command(git, append([]string{"-C", k.work, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=/usr/bin:/bin"}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, text)
		}
		return string(text)
	}
	call("init", "-q")
	call("add", ".")
	call("commit", "-q", "-m", "x")
	k.kill(t, func() bool { return len(marked(t, "shut-and-stay")) > 0 })
	if status := call("status", "--porcelain", "--ignored"); !strings.Contains(status, "later") {
		t.Errorf("git status after the kill is %q: that it is clean later proves nothing", status)
	}
	runtime.UseRegistry(k.registry)
	probed(t, development(t, policy(t, plain)), labDir(t), "stat", ".")
	if status := call("status", "--porcelain", "--ignored"); status != "" {
		t.Errorf("git status after the next run: %s", status)
	}
}

// shutAndStay takes the permissions of a directory away, and stays.
func shutAndStay(a []string) error {
	if err := unix.Chmod(a[0], 0); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return nil
}
