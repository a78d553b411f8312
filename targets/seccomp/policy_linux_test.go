package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/syscalls"
)

func init() { probes["every denied call"] = everyDeniedCall }

// harmless are calls that work without arguments: the control of everyDeniedCall.
var harmless = []string{"getppid", "getuid", "getegid", "sched_yield", "getpgid"}

// everyDeniedCall makes each call that a policy can deny under the program that denies
// them all, and holds the kernel's answers to the model's. No call is carried out, so
// it does not matter what it would do.
func everyDeniedCall() error {
	arch := map[string]Arch{"amd64": X86_64, "arm64": AArch64}[runtime.GOARCH]
	prog := CompilePolicy(everythingDenied(), arch)
	const most = 512
	var before, after [most]unix.Errno
	told := make(chan error)
	go func() {
		runtime.LockOSThread() // it is bound, and never returns
		for _, name := range harmless {
			nr := numberOf(name, arch)
			_, _, before[nr] = unix.RawSyscall(uintptr(nr), 0, 0, 0)
		}
		if err := load(prog); err != nil {
			told <- err
			select {}
		}
		const nothing = ^uintptr(0)
		for nr := range uint32(most) {
			if Run(prog, Call(arch, nr)) != Allow || syscalls.Name(string(arch), nr) == "" {
				_, _, after[nr] = unix.RawSyscall6(uintptr(nr), nothing, nothing, nothing, nothing, nothing, nothing)
			}
		}
		told <- nil
		select {}
	}()
	if err := <-told; err != nil {
		return err
	}
	denied := 0
	for nr := range uint32(most) {
		name, want := syscalls.Name(string(arch), nr), unix.ENOSYS
		if n, ok := Run(prog, Call(arch, nr)).Errno(); ok {
			want = unix.Errno(n)
			denied++
		} else if name != "" {
			continue // every program needs it
		}
		if after[nr] != want {
			return fmt.Errorf("call %d (%s) says %s, want %s", nr, name, unix.ErrnoName(after[nr]), unix.ErrnoName(want))
		}
	}
	for _, name := range harmless {
		if nr := numberOf(name, arch); before[nr] != 0 || after[nr] != unix.EPERM {
			return fmt.Errorf("%s says %v without the program, and %v under it", name, before[nr], after[nr])
		}
	}
	if denied < 300 {
		return fmt.Errorf("only %d calls were denied", denied)
	}
	return nil
}

// load binds this thread to the program.
func load(p Program) error {
	data := p.Bytes()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(data) / instructionSize), Filter: (*unix.SockFilter)(unsafe.Pointer(&data[0]))}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f))); errno != 0 {
		return errno
	}
	return nil
}

// TestEveryDeniedCallOnThisKernel: the kernel answers each call as the model does.
func TestEveryDeniedCallOnThisKernel(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), probeVariable+"=every denied call")
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("%v: %s", err, out)
	}
}
