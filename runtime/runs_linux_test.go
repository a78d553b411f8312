package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify"
)

// alive starts a run of v that stays until stop, which gives what came of it.
func alive(t *testing.T, v *verify.Verified, job runtime.Job) (stop func() ran) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	mark := "mark-alive-" + filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid(), time.Now().UnixNano())
	job.Argv, job.Development = []string{probePath, probeWord, "sleep", "60s", mark}, true
	ended := make(chan ran, 1)
	go func() { ended <- start(t, ctx, v, job) }()
	for range 1000 {
		if len(marked(t, mark)) > 0 {
			break
		}
		select {
		case r := <-ended:
			cancel()
			t.Fatalf("the run that is to stay: %s", r)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func() ran { cancel(); return <-ended }
}

// TestLiveInTheWay: a run that could take another one's protection away, or whose
// own another one could take away, is refused while that one is alive.
func TestLiveInTheWay(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	must(t, os.MkdirAll(filepath.Join(work, ".obspc"), 0o755))
	keeper, mover := development(t, treePolicy(t, root)), development(t, policy(t, plain))
	job := func(trusted ...string) runtime.Job {
		return runtime.Job{
			Argv: []string{probePath, probeWord, "stat", "."}, Development: true,
			Workspace: runtime.Workspace{Dir: work}, Trusted: trusted,
		}
	}
	above := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [%q]\n  }", root)))
	reads := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    read = [%q]\n  }", root)))
	for _, tt := range []struct {
		name          string
		alive         *verify.Verified
		trusted       []string // by the one that is alive
		next          *verify.Verified
		nextTrusted   []string
		says          string // what is in the way; "": nothing
		could, keepIt string
	}{
		{"the same policy", keeper, nil, keeper, nil, "", "", ""},
		{"a policy without the deny", keeper, nil, mover, nil, "work/.env", "this run", "the run"},
		{"a policy with the deny", mover, nil, keeper, nil, "work/.env", "the run", "this run"},
		{"a policy that writes all of it", keeper, nil, above, nil, "work/.env", "this run", "the run"},
		{"a policy that reads all of it", keeper, nil, reads, nil, "", "", ""},
		{"configuration carved out", mover, []string{filepath.Join(work, ".obspc")}, above, nil, "work/.obspc", "this run", "the run"},
		{"configuration carved out by the next", mover, nil, mover, []string{filepath.Join(work, ".obspc")}, "work/.obspc", "the run", "this run"},
		{"configuration carved out by both", mover, []string{filepath.Join(work, ".obspc")}, mover, []string{filepath.Join(work, ".obspc")}, "", "", ""},
		{"pins outside every write of its own", reads, []string{filepath.Join(root, "beside/secret")}, above, nil, "beside/secret", "this run", "the run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stop := alive(t, tt.alive, job(tt.trusted...))
			r := start(t, context.Background(), tt.next, job(tt.nextTrusted...))
			if first := stop(); first.Evidence.Outcome != runtime.Cancelled {
				t.Errorf("the run that was alive: %s", first)
			}
			if tt.says == "" {
				if r.Exit != 0 {
					t.Errorf("beside a run that is not in its way: %s", r)
				}
				return
			}
			refusedWith(t, r, runtime.No, filepath.Join(root, tt.says), `policy "p"`, fmt.Sprintf("process %d", os.Getpid()))
			if reason := r.Evidence.Reason; !strings.HasPrefix(reason, tt.could) || !strings.Contains(reason, "which "+tt.keepIt) {
				t.Errorf("%q: want %s that could, %s that protects", reason, tt.could, tt.keepIt)
			}
			if r := start(t, context.Background(), tt.next, job(tt.nextTrusted...)); r.Exit != 0 {
				t.Errorf("once the other has ended: %s", r)
			}
		})
	}
}

// TestLiveRegistryInWrite: a command never writes where live runs are registered.
func TestLiveRegistryInWrite(t *testing.T) {
	needSandbox(t)
	at := runtime.Registry()
	dir := filepath.Dir(at)
	v := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [%q]\n  }", dir)))
	refusedWith(t, probed(t, v, labDir(t), "stat", "."), runtime.Input, at, "live runs are registered")
	v = development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [\"%s/lock\"]\n  }", at)))
	refusedWith(t, probed(t, v, labDir(t), "stat", "."), runtime.Input, at, "live runs are registered")
	must(t, os.MkdirAll(filepath.Join(dir, "beside"), 0o755))
	v = development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [\"%s/beside\"]\n  }", dir)))
	if r := probed(t, v, labDir(t), "create", filepath.Join(dir, "beside/file")); strings.TrimSpace(r.stdout) != "ok" {
		t.Errorf("writing beside it: %s", r)
	}
}

// TestLiveRegistryUnsafe: a registry that somebody else could change is refused.
func TestLiveRegistryUnsafe(t *testing.T) {
	needSandbox(t)
	at := runtime.Registry()
	v, dir := development(t, policy(t, plain)), labDir(t)
	t.Cleanup(func() { runtime.UseRegistry(at) })
	runtime.UseRegistry(filepath.Join(dir, "registry"))
	must(t, os.Mkdir(filepath.Join(dir, "registry"), 0o755))
	refusedWith(t, probed(t, v, dir, "stat", "."), runtime.Machine, filepath.Join(dir, "registry"), "0700")
	must(t, os.Chmod(filepath.Join(dir, "registry"), 0o700))
	if r := probed(t, v, labDir(t), "stat", "."); r.Exit != 0 {
		t.Errorf("a registry of the caller's own: %s", r)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "registry")); len(left) != 1 {
		t.Errorf("left in the registry: %v", left)
	}
}
