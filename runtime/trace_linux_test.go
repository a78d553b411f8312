package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/runtime"
)

func init() {
	attempts["unix-socket"] = func(a []string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	attempts["several"] = func(a []string) error {
		for _, one := range a {
			probe(strings.Fields(one))
		}
		return nil
	}
}

// tracedRun is a run of the probe with a trace.
func tracedRun(t testing.TB, text, dir string, words ...string) ran {
	t.Helper()
	r := start(t, context.Background(), development(t, text), runtime.Job{
		Argv: append([]string{probePath, probeWord}, words...), Development: true, Trace: true, Workspace: runtime.Workspace{Dir: dir},
		Places: func(o ir.Origin) (string, int, bool) { return "p.policy.hcl", 5, o == "p/filesystem.deny[0]" },
	})
	if r.err != nil && strings.Contains(r.err.Error(), "lets nothing be traced") {
		t.Skipf("host feature missing: ptrace (%v)", r.err)
	}
	if r.Evidence.Trace == nil {
		t.Fatalf("there is no trace: %s", r)
	}
	return r
}

// TestLiveTrace: what failed and the policy denies is listed, with the lines that
// would allow it; with them, it is allowed. Nothing else about the run differs.
func TestLiveTrace(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work, beside := filepath.Join(root, "work"), filepath.Join(root, "beside")
	must(t, os.MkdirAll(filepath.Join(beside, "made"), 0o755))
	must(t, os.WriteFile(filepath.Join(beside, "tool"), []byte("#!"+filepath.Join(beside, "interpreter")+"\n"), 0o755))
	text, err := os.ReadFile("/usr/bin/true")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(beside, "interpreter"), text, 0o755))
	write(t, filepath.Join(root, "home/.ssh/id_rsa"), "key")
	list := []string{
		"read " + beside + "/secret", "read " + beside + "/secret", "list " + beside, "stat " + beside + "/nothing",
		"create " + beside + "/made/x", "write work.txt", "write " + beside + "/readable/f", "rename src/a.txt " + beside + "/made/a",
		"execute " + beside + "/tool", "read .env", "create carve/x", "read " + root + "/home/.ssh/id_rsa", "unix-socket", "rename .git/hooks .git/h", "read src/a.txt",
	}
	words := append([]string{"several"}, list...)
	plain := probed(t, development(t, treePolicy(t, root)), work, words...)
	r := tracedRun(t, treePolicy(t, root), work, words...)
	if r.stdout != plain.stdout || r.Exit != plain.Exit || plain.Evidence.Trace != nil {
		t.Errorf("with a trace the command says\n%swithout\n%s", r.stdout, plain.stdout)
	}
	if a, b := r.Evidence, plain.Evidence; a.Stream.SHA256 != b.Stream.SHA256 || fmt.Sprint(a.Artifacts) != fmt.Sprint(b.Artifacts) || fmt.Sprint(a.Environment) != fmt.Sprint(b.Environment) {
		t.Errorf("a run with a trace is another: %s\nand %s", r, plain)
	}
	for _, tt := range []struct{ query, want string }{
		{"read " + beside + "/secret", `ENOENT 2 read "` + beside + `/secret"`},
		{"list " + beside, `EACCES 1 read only("` + beside + `")`},
		{"create " + beside + "/made/x", `ENOENT 1 write "` + beside + `/made"`},
		{"write " + beside + "/readable/f", `EROFS 1 write "` + beside + `/readable/f"`},
		{"rename ${workspace}/src/a.txt " + beside + "/made/a", `ENOENT 1 write "` + beside + `/made"`},
		{"execute " + beside + "/tool", `ENOENT 1 read "` + beside + `/tool" execute "` + beside + `/tool"`},
		{"read ${workspace}/.env", "EACCES 1 withheld it is secrets"},
		{"create ${workspace}/carve/x", "EROFS 1 withheld read"},
		{"read " + root + "/home/.ssh/id_rsa", "ENOENT 1 withheld it is SSH keys and hosts, which is never proposed"},
		{"rename ${workspace}/.git/hooks ${workspace}/.git/h", "EBUSY 1 withheld deny"},
	} {
		if got := described(r.Evidence.Trace, tt.query); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s is %q, want %q", tt.query, got, tt.want)
		}
	}
	for _, granted := range []string{"read ${workspace}/src/a.txt", "stat " + beside + "/nothing"} {
		if got := described(r.Evidence.Trace, granted); got != "" {
			t.Errorf("%s is listed: %s", granted, got)
		}
	}
	trace := r.Evidence.Trace
	if !slices.ContainsFunc(trace.Calls, func(c propose.Call) bool {
		return c.Name == "socket" && strings.HasPrefix(c.What, "AF_UNIX") && c.Program == probePath
	}) || trace.Missing == 0 {
		t.Errorf("calls %+v, %d missing", trace.Calls, trace.Missing)
	}
	with := strings.Replace(treePolicy(t, root), "template.probe]", "template.probe, template.more]", 1) + "\ntemplate \"more\" {\n" + trace.HCL + "}\n"
	after := tracedRun(t, with, work, words...)
	for _, d := range trace.Denied {
		if d.Withheld == "" && described(after.Evidence.Trace, d.Query.Kind+" "+d.Query.Value) != "" {
			t.Errorf("%s is denied with what was proposed:\n%s", d.Query, trace.HCL)
		}
	}
}

// described is what a trace says of a query: errno, count, and lines or why none.
func described(r *propose.Report, query string) string {
	for _, d := range r.Denied {
		if d.Query.Kind+" "+d.Query.Value != query {
			continue
		}
		out := fmt.Sprintf("%s %d", d.Errno, d.Count)
		for _, l := range d.Add {
			out += " " + l.List + " " + l.Element
		}
		if d.Withheld != "" {
			out += " withheld " + d.Withheld
		}
		return out
	}
	return ""
}

// TestLiveTraceEnds: a trace comes with every end of a run, and nothing is left.
func TestLiveTraceEnds(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	mark := fmt.Sprintf("mark-trace-%d", os.Getpid())
	for _, tt := range []struct {
		attempt, body string
		want          runtime.Word
	}{
		{"beside", plain, runtime.Exited},
		{"forks", plain + "\nlimits {\n timeout = \"500ms\"\n}", runtime.Timeout},
		{"die", plain, runtime.Signaled},
	} {
		r := tracedRun(t, policy(t, tt.body), dir, tt.attempt, mark)
		if left := marked(t, mark); r.Evidence.Outcome != tt.want || !r.Evidence.Cleanup.TreeDead || len(left) > 0 {
			t.Errorf("%s: want %s and nothing left, left are %q; %s", tt.attempt, tt.want, left, r)
		}
	}
	// A command that cannot be started is an access too.
	hidden := filepath.Join(dir, "hidden")
	must(t, os.WriteFile(hidden, []byte("#!/bin/sh\n"), 0o755))
	r := start(t, context.Background(), development(t, policy(t, "")), runtime.Job{
		Argv: []string{hidden}, Development: true, Trace: true, Workspace: runtime.Workspace{Dir: dir},
	})
	if got := described(r.Evidence.Trace, "execute "+hidden); r.Evidence.Outcome != runtime.ExecFailed || !strings.HasSuffix(got, fmt.Sprintf("execute %q", hidden)) {
		t.Errorf("%q; %s", got, r)
	}
}

// TestLiveTraceTerminal: a trace and a terminal together.
func TestLiveTraceTerminal(t *testing.T) {
	needSandbox(t)
	job := newConsole(t).job(t, labDir(t), "read", "/etc/hostname.none")
	job.Trace = true
	r := start(t, context.Background(), development(t, policy(t, plain)), job)
	if r.Evidence.Trace == nil || r.Evidence.Trace.Missing == 0 || !strings.Contains(r.stdout, "ENOENT") {
		t.Errorf("%s", r)
	}
}

// TestTraceBounded: a command cannot make a trace grow without end.
func TestTraceBounded(t *testing.T) {
	if told, untold := runtime.Told(10, 10); told != 10 || untold != 0 {
		t.Errorf("of 10 short names %d are told apart, %d not", told, untold)
	}
	if told, untold := runtime.Told(10_000, 10); told != 4096 || untold != 10_000-4096 {
		t.Errorf("of 10000 short names %d are told apart, %d not", told, untold)
	}
	if told, untold := runtime.Told(1000, 4000); told > 600 || told < 400 || told+untold != 1000 {
		t.Errorf("of 1000 long names %d are told apart, %d not", told, untold)
	}
}

// TestLiveTraceImpossible: where nothing can be traced, nothing runs.
func TestLiveTraceImpossible(t *testing.T) {
	needSandbox(t)
	const word = "OBSPC_TEST_NO_PTRACE"
	if dir := os.Getenv(word); dir != "" {
		refusePtrace(t)
		v := development(t, policy(t, plain))
		if r := probed(t, v, dir, "create", filepath.Join(dir, "without")); r.Exit != 0 {
			t.Errorf("without a trace: %s", r)
		}
		r := start(t, context.Background(), v, runtime.Job{
			Argv: []string{probePath, probeWord, "create", filepath.Join(dir, "with")}, Development: true, Trace: true,
			Workspace: runtime.Workspace{Dir: dir},
		})
		refusedWith(t, r, runtime.Machine, "ptrace", "nothing was started")
		if _, err := os.Lstat(filepath.Join(dir, "with")); err == nil {
			t.Error("the command ran")
		}
		return
	}
	dir := labDir(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestLiveTraceImpossible$", "-test.v")
	cmd.Env = append(os.Environ(), word+"="+dir)
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS") {
		t.Errorf("%v\n%s", err, text)
	}
}

// refusePtrace makes ptrace(2) fail in this process and all it starts, as a
// container's profile does.
func refusePtrace(t *testing.T) {
	t.Helper()
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PTRACE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x00050000 | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	goruntime.LockOSThread() // no_new_privs is a thread's
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	const setFilter, allThreads = 1, 1 // SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Fatalf("seccomp: %v", errno)
	}
}

// TestTraceEvidence: evidence with a trace is JSON like any other.
func TestTraceEvidence(t *testing.T) {
	e := runtime.NewEvidence(true)
	e.Trace = &propose.Report{Schema: propose.Schema, Denied: []propose.Denied{}}
	var back runtime.Evidence
	if err := json.Unmarshal(e.JSON(), &back); err != nil || back.Trace == nil || back.Trace.Schema != propose.Schema {
		t.Errorf("%s, %v", e.JSON(), err)
	}
}
