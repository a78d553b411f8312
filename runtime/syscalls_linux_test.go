package runtime_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
)

func init() {
	attempts["mkdirat"] = func(a []string) error { return unix.Mkdirat(unix.AT_FDCWD, a[0], 0o755) }
	attempts["kill"] = func([]string) error { return unix.Kill(os.Getpid(), 0) }
	attempts["tgkill"] = func([]string) error { return unix.Tgkill(os.Getpid(), unix.Gettid(), 0) }
	attempts["statx"] = func([]string) error {
		var stat unix.Statx_t
		return unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_TYPE, &stat)
	}
	attempts["openat2"] = func([]string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	attempts["faccessat2"] = func([]string) error { return unix.Faccessat2(unix.AT_FDCWD, "/", unix.F_OK, unix.AT_EACCESS) }
	attempts["number"] = func(a []string) error {
		nr, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		_, _, errno := unix.RawSyscall(uintptr(nr), 0, 0, 0)
		return errno
	}
	attempts["filters"] = func(a []string) error {
		text, err := os.ReadFile("/proc/self/status")
		if err == nil && !strings.Contains(string(text), "\nSeccomp_filters:\t"+a[0]+"\n") {
			return unix.ENOENT
		}
		return err
	}
	attempts["vm-child"] = func(a []string) error { return withChild(vmRead) }
	attempts["vm-one"] = func(a []string) error { return vmRead(1) }
	attempts["trace-child"] = func(a []string) error {
		return withChild(func(pid int) error {
			if err := unix.PtraceSeize(pid); err != nil {
				return err
			}
			return nil // it ends with the thread that traces
		})
	}
	attempts["wait"] = func([]string) error { _, err := os.Stdin.Read(make([]byte, 1)); return err }
}

// withChild does something to a child of this process.
func withChild(f func(pid int) error) error {
	cmd := exec.Command(os.Args[0], probeWord, "wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = f(cmd.Process.Pid)
	in.Close()
	cmd.Process.Kill()
	cmd.Wait()
	return err
}

// vmRead reads memory of the process; that nothing is there says that it may.
func vmRead(pid int) error {
	here := make([]byte, 1)
	local := []unix.Iovec{{Base: &here[0], Len: 1}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&here[0])), Len: 1}}, 0)
	if err == unix.EFAULT {
		return nil
	}
	return err
}

// callPolicy states the syscalls block of a policy that may write the workspace.
func callPolicy(t testing.TB, syscalls string) string {
	return policy(t, "filesystem {\nwrite = [workspace]\n}\nsyscalls {\n"+syscalls+"\n}")
}

// TestLiveSyscalls: a call that the policy denies fails inside, and works outside and
// in a sandbox that does not deny it; what is allowed works inside, and fails in a
// sandbox that does not allow it.
func TestLiveSyscalls(t *testing.T) {
	needSandbox(t)
	denied := development(t, callPolicy(t, `deny = ["mkdir", "mkdirat", "kill", "statx", "faccessat2"]`))
	plain := development(t, callPolicy(t, ``))
	allowed := development(t, callPolicy(t, `allow = ["process_vm_readv", "ptrace"]`))
	made := 0
	for _, tt := range []struct{ attempt, outside, plain, denied, allowed string }{
		{"mkdirat NEW", "ok", "ok", "EPERM", "ok"},
		{"kill", "ok", "ok", "EPERM", "ok"},
		{"tgkill", "ok", "ok", "ok", "ok"},
		{"statx", "ok", "ok", "ENOSYS", "ok"},
		{"faccessat2", "ok", "ok", "ENOSYS", "ok"},
		{"openat2", "ok", "ENOSYS", "ENOSYS", "ENOSYS"},
		{"execute " + probePath + " " + probeWord + " kill", "ok", "ok", "exit status 1", "ok"}, // what it starts is bound too
		{"number 999", "ENOSYS", "ENOSYS", "ENOSYS", "ENOSYS"},
		{"vm-child", "ok", "EPERM", "EPERM", "ok"},
		{"trace-child", "ok", "EPERM", "EPERM", "ok"},
		{"vm-one", "", "EPERM", "EPERM", "EPERM"}, // by Landlock, where the call is allowed
		{"filters 1", "", "ok", "ENOENT", "ok"},
		{"filters 2", "", "ENOENT", "ok", "ENOENT"},
	} {
		t.Run(tt.attempt, func(t *testing.T) {
			work := labDir(t)
			words := func() []string {
				made++
				return strings.Fields(strings.Replace(tt.attempt, "NEW", filepath.Join(work, "d"+strconv.Itoa(made)), 1))
			}
			if tt.outside != "" {
				got := outsideProbe(t, words()...)
				if got == "EPERM" && strings.HasSuffix(tt.attempt, "-child") {
					t.Skip("host feature missing: kernel.yama.ptrace_scope below 2")
				}
				if got != tt.outside {
					t.Fatalf("outside it is %q, want %q", got, tt.outside)
				}
			}
			if r := probed(t, plain, work, words()...); lastLine(r.stdout) != tt.plain {
				t.Errorf("in a sandbox that says nothing: want %q\n%s", tt.plain, r)
			}
			r := probed(t, denied, work, words()...)
			if lastLine(r.stdout) != tt.denied || r.Evidence.Artifacts["p/seccomp-x86_64-policy.bpf"] == "" {
				t.Errorf("in one that denies: want %q, and its program in the evidence\n%s", tt.denied, r)
			}
			if r := probed(t, allowed, work, words()...); lastLine(r.stdout) != tt.allowed {
				t.Errorf("in one that allows: want %q\n%s", tt.allowed, r)
			}
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestLiveSyscallsOfACommandThatDoesNotStart: that it did not is known although the
// thread that tried may not write; the control is the same without a denial.
func TestLiveSyscallsOfACommandThatDoesNotStart(t *testing.T) {
	needSandbox(t)
	work := labDir(t)
	script := filepath.Join(work, "script")
	must(t, os.WriteFile(script, []byte("#!"+filepath.Join(work, "nothing")+"\n"), 0o755))
	for _, block := range []string{``, `deny = ["write", "writev", "sendto", "sendmsg", "close", "read"]`} {
		text := policy(t, "filesystem {\nwrite = [workspace]\nexecute = [workspace]\n}\nsyscalls {\n"+block+"\n}")
		r := start(t, context.Background(), development(t, text), runtime.Job{
			Argv: []string{script}, Development: true, Workspace: runtime.Workspace{Dir: work},
		})
		if r.Exit != runtime.ExitNotFound || r.err == nil || !strings.Contains(r.err.Error(), syscall.ENOENT.Error()) {
			t.Errorf("with %q: %s", block, r)
		}
	}
}

// TestAllowedCallsNeedADomain: without Landlock nothing keeps PID 1 from what reaches
// into processes, so a policy that allows it is refused; one that does not runs.
func TestAllowedCallsNeedADomain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		allow   bool
		abi     int
		refused bool
	}{
		{"ptrace", true, 1, true}, {"ptrace", true, 2, false}, {"ptrace", false, 0, false},
		{"process_vm_writev", true, 0, true}, {"pidfd_getfd", true, 0, true}, {"bpf", true, 0, false}, {"kill", false, 0, false},
	} {
		p := &ir.Policy{Syscalls: []ir.SyscallRule{{Name: tt.name, Allow: tt.allow, Origin: "p/syscalls[0]"}}}
		got := runtime.NeedDomain(p, tt.abi)
		if (got != nil) != tt.refused || got != nil && (got.Code != runtime.Machine || !strings.Contains(got.Error(), tt.name)) {
			t.Errorf("%s allowed %v with Landlock ABI %d: %v, want it refused: %v", tt.name, tt.allow, tt.abi, got, tt.refused)
		}
	}
}

// TestLiveTraceOfADeniedCall: the trace names the statement that denies it.
func TestLiveTraceOfADeniedCall(t *testing.T) {
	needSandbox(t)
	r := tracedRun(t, callPolicy(t, `deny = ["kill", "statx"]`), labDir(t), "several", "kill", "statx", "unix-socket")
	want := map[string]string{"kill": "p/syscalls.deny[0]", "statx": "p/syscalls.deny[1]", "socket": ""}
	for _, c := range r.Evidence.Trace.Calls {
		statement := ""
		if c.Rule != nil {
			statement = c.Rule.Statement
		}
		if w, ok := want[c.Name]; ok && w == statement {
			delete(want, c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("the trace does not tell %v: %s", want, r)
	}
}
