package runtime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
)

// limited is a policy with those limits that may write the workspace and start
// what some attempts need.
func limited(t testing.TB, limits string) string {
	return policy(t, `
  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/sleep", "/usr/bin/dash", "/usr/bin/dd"]
  }
  limits {
    timeout = "60s"
    `+limits+`
  }`)
}

// outside is the control: the same attempt without a sandbox.
func outside(t *testing.T, words ...string) {
	t.Helper()
	cmd := exec.Command(probePath, append([]string{probeWord}, words...)...)
	cmd.Dir = labDir(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the control %q fails: %v\n%s", words, err, out)
	}
}

// of is the evidence of one limit.
func (r ran) of(name ir.LimitName) runtime.LimitEvidence {
	for _, l := range r.Evidence.Limits {
		if l.Name == string(name) {
			return l
		}
	}
	return runtime.LimitEvidence{}
}

// TestLiveOverrun: what uses more than its limit is ended, evidence says which
// limit it was, and nothing of it is left. What uses less is not.
func TestLiveOverrun(t *testing.T) {
	needSandbox(t)
	for _, tt := range []struct {
		name, limits string
		limit        ir.LimitName
		less, more   []string
	}{
		{"memory of one", `memory = "64MiB"`, ir.Memory, []string{"hog", "24"}, []string{"hog", "160"}},
		{"memory of several", `memory = "128MiB"`, ir.Memory, []string{"hogs", "2", "16"}, []string{"hogs", "4", "64"}},
		{"memory in a file without a name", `memory = "64MiB"`, ir.Memory, []string{"memory-file", "24"}, []string{"memory-file", "160"}},
		{"memory of a mapping", `memory = "64MiB"`, ir.Memory, []string{"shared", "24"}, []string{"shared", "160"}},
		{"memory in /tmp", `memory = "64MiB"`, ir.Memory, []string{"fill-file", "/tmp/x", "24"}, []string{"fill-file", "/tmp/x", "160"}},
		{"memory that several map", "memory = \"128MiB\"\ntmp_size = \"256MiB\"", ir.Memory, []string{"shared", "48", "/tmp/x"}, []string{"shared", "160", "/tmp/x"}},
		{"names in /tmp", `tmp_size = "1MiB"`, ir.TmpSize, []string{"names", "/tmp", "1500"}, []string{"names", "/tmp", "3000"}},
		{"the workspace", `workspace_size = "64MiB"`, ir.WorkspaceSize, []string{"fill-file", "x", "24"}, []string{"fill-file", "x", "100"}},
		{"a file of the workspace without a name", `workspace_size = "64MiB"`, ir.WorkspaceSize, []string{"unlinked", "x", "24"}, []string{"unlinked", "x", "100"}},
		{"names in the workspace", `workspace_size = "1MiB"`, ir.WorkspaceSize, []string{"names", ".", "300"}, []string{"names", ".", "1500"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if filepath.IsAbs(tt.more[1]) || len(tt.more) > 2 && filepath.IsAbs(tt.more[2]) {
				inTmp := slices.Clone(tt.more)
				for i, w := range inTmp {
					inTmp[i] = strings.Replace(w, "/tmp", t.TempDir(), 1)
				}
				outside(t, inTmp...)
			} else {
				outside(t, tt.more...)
			}
			v := development(t, limited(t, tt.limits))
			r := probed(t, v, labDir(t), tt.less...)
			if r.Exit != 0 || r.Evidence.EndedBy != "" || !r.Evidence.Cleanup.TreeDead {
				t.Errorf("less than the limit: %s", r)
			}
			r = probed(t, v, labDir(t), append([]string{"stay"}, tt.more...)...)
			l := r.of(tt.limit)
			if r.Evidence.Outcome != runtime.LimitReached || r.Evidence.EndedBy != string(tt.limit) || r.Exit != 128+9 || !l.Reached || !r.Evidence.Cleanup.TreeDead {
				t.Errorf("more than the limit: %s", r)
			}
			if !strings.Contains(r.Evidence.Reason, string(tt.limit)+" limit of ") || r.Evidence.Help != "raise limits."+string(tt.limit) {
				t.Errorf("the reason is %q, the help %q", r.Evidence.Reason, r.Evidence.Help)
			}
			if l.Scope == "" || l.By == "" {
				t.Errorf("evidence of the limit is %+v", l)
			}
		})
	}
}

// TestLiveCrowd: the kernel refuses the next process, or the run is ended.
func TestLiveCrowd(t *testing.T) {
	needSandbox(t)
	outside(t, "crowd", "100")
	v := development(t, limited(t, "processes = 40"))
	if r := probed(t, v, labDir(t), "crowd", "10"); r.Exit != 0 || r.of(ir.Processes).Reached {
		t.Errorf("10 processes and a few threads: %s", r)
	}
	r := probed(t, v, labDir(t), "stay", "crowd", "100")
	switch l := r.of(ir.Processes); {
	case l.Scope == string(ir.TreeScope):
		if r.Evidence.Outcome == runtime.LimitReached || !strings.Contains(r.stdout+r.stderr, "EAGAIN") && r.Exit == 0 || l.By == "cgroup" && !l.Reached {
			t.Errorf("100 processes, kept by the kernel: %s", r)
		}
	case r.Evidence.Outcome != runtime.LimitReached || r.Evidence.EndedBy != "processes" || !l.Reached || l.Scope != string(ir.WatchedScope):
		t.Errorf("100 processes, watched: %s", r)
	}
}

// TestLiveBomb: processes that start processes. The control ends by itself, at 127
// of them; nothing of the others is left.
func TestLiveBomb(t *testing.T) {
	needSandbox(t)
	const bomb = `f() { if [ $1 -gt 0 ]; then f $(($1-1)) $2 & f $(($1-1)) $2 & wait; fi; sleep $2; }; f 6 $1`
	if out, err := exec.Command("/usr/bin/dash", "-c", bomb, "bomb", "0").CombinedOutput(); err != nil {
		t.Fatalf("the control: %v\n%s", err, out)
	}
	r := start(t, t.Context(), development(t, limited(t, "processes = 40")), runtime.Job{
		Argv: []string{"/usr/bin/dash", "-c", bomb, "bomb", "7"}, Development: true, Workspace: runtime.Workspace{Fresh: true},
	})
	l := r.of(ir.Processes)
	if l.Scope == string(ir.WatchedScope) && r.Evidence.EndedBy != "processes" || l.Scope == string(ir.TreeScope) && !strings.Contains(r.stderr, "fork") {
		t.Errorf("127 processes of 40: %s", r)
	}
	if left := append(marked(t, "bomb"), children(t)...); len(left) > 0 || !r.Evidence.Cleanup.TreeDead {
		t.Errorf("left: %q; %s", left, r)
	}
}

// TestLiveProcessCount: in the scope of the tree the limit is exact, whatever else
// the caller runs, and one process needs no second.
func TestLiveProcessCount(t *testing.T) {
	needSandbox(t)
	const count = `i=0; while [ $i -lt 9 ]; do sleep 20 & i=$((i+1)); echo $i; done`
	for _, tt := range []struct {
		limit, want string
	}{{"processes = 1", ""}, {"processes = 5", "1 2 3 4"}, {"processes = 20", "1 2 3 4 5 6 7 8 9"}} {
		r := start(t, t.Context(), development(t, limited(t, tt.limit)), runtime.Job{
			Argv: []string{"/usr/bin/dash", "-c", count}, Development: true, Workspace: runtime.Workspace{Fresh: true},
		})
		if r.of(ir.Processes).Scope != string(ir.TreeScope) {
			t.Skip("host feature missing: cgroup v2 with pids, or a caller other than root on Linux 5.14")
		}
		if got := strings.Join(strings.Fields(r.stdout), " "); got != tt.want || (tt.want == "1 2 3 4 5 6 7 8 9") != (r.Exit == 0) {
			t.Errorf("%s: started %q, want %q; %s", tt.limit, got, tt.want, r)
		}
	}
}

// TestLiveSignalled: the limits that the kernel tells with a signal.
func TestLiveSignalled(t *testing.T) {
	needSandbox(t)
	for _, tt := range []struct {
		limits string
		argv   []string
		limit  ir.LimitName
		exit   int
	}{
		{`file_size = "1MiB"`, []string{"/usr/bin/dd", "if=/dev/zero", "of=x", "bs=65536", "count=64"}, ir.FileSize, 128 + 25},
		{`cpu_time = "1s"`, []string{"/usr/bin/dash", "-c", "while :; do :; done"}, ir.CPUTime, 128 + 24},
		{`timeout = "1s"`, []string{"/usr/bin/sleep", "20"}, ir.Timeout, runtime.ExitTimeout},
	} {
		text := strings.Replace(limited(t, tt.limits), "timeout = \"60s\"\n", "", 1)
		r := start(t, t.Context(), development(t, text), runtime.Job{Argv: tt.argv, Development: true, Workspace: runtime.Workspace{Fresh: true}})
		if r.Evidence.EndedBy != string(tt.limit) || r.Exit != tt.exit || !r.of(tt.limit).Reached || !strings.Contains(r.Evidence.Reason, string(tt.limit)) {
			t.Errorf("%s: %s", tt.limits, r)
		}
	}
	// Without the limit the same signal is the command's own affair.
	r := start(t, t.Context(), development(t, limited(t, "")), runtime.Job{
		Argv: []string{"/usr/bin/dash", "-c", "kill -XCPU $$"}, Development: true, Workspace: runtime.Workspace{Fresh: true},
	})
	if r.Evidence.EndedBy != "" || r.Exit != 128+24 {
		t.Errorf("a signal without a limit: %s", r)
	}
}

// TestLiveDescriptorFlood: opening fails at the limit, for each process.
func TestLiveDescriptorFlood(t *testing.T) {
	needSandbox(t)
	outside(t, "open", "500")
	r := probed(t, development(t, limited(t, "open_files = 64")), labDir(t), "open", "500")
	if strings.TrimSpace(r.stdout) != "EMFILE" {
		t.Errorf("500 descriptors of 64: %s", r)
	}
}

// TestLiveFull: the memory file systems hold what their sizes say.
func TestLiveFull(t *testing.T) {
	needSandbox(t)
	text := strings.Replace(limited(t, `tmp_size = "2MiB"`), "limits {", "system {\nshm = \"1MiB\"\n}\nlimits {", 1)
	v := development(t, text)
	for _, tt := range []struct {
		dir  string
		full string
		most string
	}{{"/tmp", "2", "3"}, {"/dev/shm", "1", "2"}} {
		outside(t, "fill-file", filepath.Join(t.TempDir(), "x"), tt.most)
		if r := probed(t, v, labDir(t), "fill-file", tt.dir+"/x", tt.full); r.Exit != 0 {
			t.Errorf("%s MiB in %s: %s", tt.full, tt.dir, r)
		}
		r := probed(t, v, labDir(t), "fill-file", tt.dir+"/x", tt.most)
		if strings.TrimSpace(r.stdout) != "ENOSPC" || tt.dir == "/tmp" && !r.of(ir.TmpSize).Reached {
			t.Errorf("%s MiB in %s: %s", tt.most, tt.dir, r)
		}
	}
}

// TestLiveWorkspaceHeld: a workspace that is past its limit before the run starts
// no command.
func TestLiveWorkspaceHeld(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 2<<20), 0o600))
	if r := probed(t, development(t, limited(t, `workspace_size = "8MiB"`)), dir, "stat", "big"); r.Exit != 0 {
		t.Errorf("2 of 8 MiB: %s", r)
	}
	refusedWith(t, probed(t, development(t, limited(t, `workspace_size = "1MiB"`)), dir, "stat", "big"), runtime.No, dir, "1MiB")
}

// TestLiveUnseen: what hides from a limit that is watched is ended too.
func TestLiveUnseen(t *testing.T) {
	needSandbox(t)
	if os.Getuid() == 0 {
		t.Skip("host feature missing: a caller other than root, from whom something can be hidden")
	}
	outside(t, "shut", ".", "8")
	r := probed(t, development(t, limited(t, `workspace_size = "64MiB"`)), labDir(t), "stay", "shut", ".", "8")
	if r.Evidence.Outcome != runtime.LimitLost || !strings.Contains(r.Evidence.Reason, "cannot be read") {
		t.Errorf("a directory without permissions: %s", r)
	}
	outside(t, "hide", "8")
	r = probed(t, development(t, limited(t, `memory = "256MiB"`)), labDir(t), "stay", "hide", "8")
	if watched := r.of(ir.Memory).Scope == string(ir.WatchedScope); watched != (r.Evidence.Outcome == runtime.LimitLost) {
		t.Errorf("descriptors that nobody sees: %s", r)
	}
}

// TestLiveScope: a policy that asks for the kernel's scope gets it or no run.
func TestLiveScope(t *testing.T) {
	needSandbox(t)
	r := probed(t, development(t, limited(t, "memory = \"256MiB\"\nscope = \"tree\"")), labDir(t), "hog", "1")
	if r.err == nil {
		if r.of(ir.Memory).Scope != string(ir.TreeScope) || r.Exit != 0 {
			t.Errorf("kept by the kernel: %s", r)
		}
		return
	}
	refusedWith(t, r, runtime.Machine, "limits.memory", "cgroup")
	if !strings.Contains(r.Evidence.Help, `scope = "watched"`) || r.of(ir.Memory).Scope != string(ir.WatchedScope) {
		t.Errorf("not kept by the kernel: %s", r)
	}
}

// TestLiveCore: a crash leaves no core file.
func TestLiveCore(t *testing.T) {
	needSandbox(t)
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|@/") {
		t.Skipf("host feature missing: a kernel.core_pattern that names a file in the current directory (it is %q)", pattern)
	}
	dumps := func(dir string) []string {
		found, _ := filepath.Glob(filepath.Join(dir, "core*"))
		return found
	}
	control := labDir(t)
	cmd := exec.Command(probePath, probeWord, "crash")
	cmd.Dir, cmd.Env = control, append(os.Environ(), "GOTRACEBACK=crash")
	out, _ := cmd.CombinedOutput()
	if len(dumps(control)) == 0 {
		t.Skipf("host feature missing: a core limit above 0 (the control leaves no core)\n%s", out)
	}
	work := labDir(t)
	text := strings.Replace(limited(t, ""), "limits {", "environment {\nGOTRACEBACK = \"crash\"\n}\nlimits {", 1)
	r := probed(t, development(t, text), work, "crash")
	if len(dumps(work)) > 0 || r.Evidence.Outcome != runtime.Signaled || !strings.Contains(r.stdout, "core limit") {
		t.Errorf("%q is left; %s", dumps(work), r)
	}
}
