package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func init() {
	standIns["bwrap-hangs"] = func() int { time.Sleep(time.Minute); return 1 }
	standIns["bwrap-clones"] = func() int {
		cmd := exec.Command("/proc/self/exe", probeWord, "sleep", "60s", cloneMark)
		cmd.Start()
		time.Sleep(time.Minute)
		return 1
	}
}

// cloneMark marks what a bubblewrap that hangs has started.
const cloneMark = "mark-clone"

// brokenOff runs a job that its caller breaks off once ready says so, and checks
// that it ends soon after.
func brokenOff(t *testing.T, job runtime.Job, text string, ready func() bool) ran {
	t.Helper()
	t.Cleanup(runtime.Hurry(100*time.Millisecond, 200*time.Millisecond))
	ctx, cancel := context.WithCancelCause(context.Background())
	at := time.Now()
	go func() {
		for range 1000 {
			if ready() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		at = time.Now()
		cancel(runtime.Interrupt{Signal: 15})
	}()
	job.Development = true
	r := start(t, ctx, development(t, text), job)
	if took := time.Since(at); took > 20*time.Second {
		t.Errorf("ended %v after it was broken off", took)
	}
	if r.Evidence.Outcome != runtime.Cancelled || r.Exit != 128+15 || !r.Evidence.Cleanup.TreeDead {
		t.Errorf("want outcome cancelled, exit 143; %s", r)
	}
	return r
}

// TestLiveStuckBwrap: a bubblewrap that never gets anywhere ends with the run, and
// so does what it has cloned.
func TestLiveStuckBwrap(t *testing.T) {
	needSandbox(t)
	for _, name := range []string{"bwrap-hangs", "bwrap-clones"} {
		t.Run(name, func(t *testing.T) {
			bwrap := standInAt(t, name, 0o755)
			job := runtime.Job{Argv: []string{probePath, probeWord, "stat", "."}, Workspace: runtime.Workspace{Fresh: true}, Bwrap: bwrap}
			brokenOff(t, job, policy(t, plain), func() bool {
				return name == "bwrap-hangs" && len(children(t)) > 0 || len(marked(t, cloneMark)) > 0
			})
			for range 200 { // reparented ones are reaped by somebody else
				if len(marked(t, cloneMark)) == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if left := append(children(t), marked(t, cloneMark)...); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// children are the processes that this one has started, by number.
func children(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	var out []string
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		out = append(out, strings.Fields(string(text))...)
	}
	return out
}

// TestLiveStoppedBwrap: the outer bubblewrap, which reports how the command ended,
// does not run any more.
func TestLiveStoppedBwrap(t *testing.T) {
	needSandbox(t)
	mark := fmt.Sprintf("mark-stopped-%d", os.Getpid())
	job := runtime.Job{Argv: []string{probePath, probeWord, "sleep", "60s", mark}, Workspace: runtime.Workspace{Fresh: true}}
	brokenOff(t, job, policy(t, plain), func() bool {
		if len(marked(t, mark)) == 0 {
			return false
		}
		for _, c := range children(t) {
			if pid, err := strconv.Atoi(c); err == nil {
				must(t, unix.Kill(pid, unix.SIGSTOP))
			}
		}
		return true
	})
	if left := append(children(t), marked(t, mark)...); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestLiveStalledReader: whoever reads the output takes nothing.
func TestLiveStalledReader(t *testing.T) {
	needSandbox(t)
	read, write := io.Pipe()
	defer read.Close()
	began := time.Now()
	job := runtime.Job{Argv: []string{probePath, probeWord, "print", "x"}, Workspace: runtime.Workspace{Fresh: true}, Stdout: write}
	brokenOff(t, job, policy(t, plain), func() bool { return time.Since(began) > time.Second })
}

// TestLiveHugeExecutable: hashing is bounded by size, and ends with the run.
func TestLiveHugeExecutable(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	tool := filepath.Join(dir, "tool")
	write(t, tool, "#!"+probePath+" "+probeWord+"\n")
	must(t, os.Chmod(tool, 0o755))
	run := func(pin string) ran {
		return start(t, context.Background(), governed(t, fmt.Sprintf(`
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    read    = [%[1]q, %[2]q]
    execute = [%[1]q, %[2]q]
  }
  command "go" {
    executable = %[1]q
    %[3]s
    arguments  = []
  }
}`, tool, probePath, pin)), runtime.Job{Command: "go"})
	}
	// A script is the probe with its own path as attempt, which it does not know.
	if r := run(""); r.Exit != 99 || r.Evidence.Executable.SHA256 == "" {
		t.Fatalf("a small executable: %s", r)
	}
	must(t, os.Truncate(tool, 1<<40))
	if r := run(""); r.Exit != 99 || r.Evidence.Executable.SHA256 != "" || !strings.Contains(r.Evidence.Executable.Unhashed, "longer") {
		t.Errorf("a huge executable runs, and evidence says why there is no digest: %s", r)
	}
	refusedWith(t, run(fmt.Sprintf("sha256 = %q", strings.Repeat("0", 64))), runtime.No, tool, "longer")

	must(t, os.Truncate(tool, 1<<30))
	job := runtime.Job{Argv: []string{tool}, Workspace: runtime.Workspace{Fresh: true}}
	text := policy(t, fmt.Sprintf("\n  filesystem {\n    read = [%q]\n    write = [workspace]\n    execute = [%q]\n  }", tool, tool))
	began := time.Now()
	brokenOff(t, job, text, func() bool { return time.Since(began) > 100*time.Millisecond })
}

// TestLivePlantedExecutable: the command's path is a link that an earlier run
// planted. What the policy does not let the command read is not even opened.
func TestLivePlantedExecutable(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	fifo := filepath.Join(root, "beside/fifo")
	must(t, unix.Mkfifo(fifo, 0o755))
	v := development(t, treePolicy(t, root))
	run := func(target string) ran {
		link := filepath.Join(work, "link")
		os.Remove(link)
		must(t, os.Symlink(target, link))
		return start(t, context.Background(), v, runtime.Job{Argv: []string{"./link"}, Development: true, Workspace: runtime.Workspace{Dir: work}})
	}
	if e := run(filepath.Join(work, "tool")).Evidence.Executable; e.SHA256 == "" {
		t.Errorf("what may be read has a digest; evidence %+v", e)
	}
	must(t, os.WriteFile(filepath.Join(root, "beside/hidden"), []byte("x"), 0o755))
	if r := run(filepath.Join(root, "beside/hidden")); r.Evidence.Executable.SHA256 != "" || r.Evidence.Executable.Unhashed == "" || r.Exit != runtime.ExitNotFound {
		t.Errorf("what the policy hides has no digest, and does not start; %s", r)
	}
	// Whoever opens a FIFO for writing succeeds when somebody reads it.
	stop, seen := make(chan struct{}), make(chan bool)
	go func() {
		for found := false; ; {
			fd, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK, 0)
			if err == nil {
				unix.Close(fd)
			}
			found = found || err == nil
			select {
			case <-stop:
				seen <- found
				return
			default:
			}
		}
	}()
	if r := run(fifo); r.Evidence.Outcome != runtime.ExecFailed {
		t.Errorf("a FIFO: %s", r)
	}
	close(stop)
	if <-seen {
		t.Error("the FIFO was opened")
	}
	reader, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	defer unix.Close(reader)
	fd, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if must(t, err); errors.Is(unix.Close(fd), unix.EBADF) {
		t.Error("the control saw no reader")
	}
}

// TestLiveBigWorkspace: a fresh workspace that takes long to remove holds nobody
// up, and evidence says what is left.
func TestLiveBigWorkspace(t *testing.T) {
	needSandbox(t)
	t.Cleanup(runtime.Hurry(0, time.Second))
	ctx, cancel := context.WithCancelCause(context.Background())
	mark := filepath.Join(labDir(t), "made")
	v := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [workspace, %q]\n  }", filepath.Dir(mark))))
	go func() {
		for range 3000 {
			if _, err := os.Stat(mark); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(runtime.Interrupt{Signal: 15})
	}()
	out, _ := runtime.Start(ctx, v, runtime.Job{
		Policy: "p", Argv: []string{probePath, probeWord, "bushy", mark}, Development: true, Workspace: runtime.Workspace{Fresh: true},
	})
	c := out.Evidence.Cleanup
	at := out.Evidence.Binding["workspace"]
	defer os.RemoveAll(at)
	if out.Exit != 128+15 || len(c.Faults) != 1 || !strings.Contains(c.Faults[0], "broken off") || !contains(c.Left, at) {
		t.Errorf("evidence says %+v, exit %d", c, out.Exit)
	}
}
