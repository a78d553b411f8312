package runtime

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/targets/landlock"
)

// filterInstruction is the size of one instruction of a filter (struct sock_filter in
// linux/filter.h).
const filterInstruction = 8

// filter is what the policy adds to the program that bwrap loads. The zero filter
// adds nothing.
type filter []byte

// load binds this thread, and what it becomes, to the filter. Nothing may follow but
// execve: whatever else this program does, the policy may deny.
func (f filter) load() error {
	if len(f) == 0 {
		return nil
	}
	program := unix.SockFprog{Len: uint16(len(f) / filterInstruction), Filter: (*unix.SockFilter)(unsafe.Pointer(&f[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	goruntime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("seccomp(SECCOMP_SET_MODE_FILTER): %w", errno)
	}
	return nil
}

// added is the program for this machine of what the policy denies; none where it
// denies nothing.
func (r *execution) added() (filter, *Refusal) {
	if !r.policy.DeniesSyscalls() {
		return nil, nil
	}
	program, ok := r.linux.Denied[arches[goruntime.GOARCH]]
	if !ok {
		return nil, noProgram()
	}
	return program.Bytes(), nil
}

// needDomain refuses a policy that lets processes reach into others where nothing
// keeps them from PID 1.
func (r *execution) needDomain() *Refusal {
	have := r.evidence.Host.Landlock
	for _, rule := range r.policy.Syscalls {
		if rule.Allow && syscalls.IntoProcesses(rule.Name) && have < landlock.ABI {
			return refuse(Machine, "use Linux 5.19 or later with landlock in the lsm= boot parameter, or do not allow "+rule.Name,
				"this policy allows %s (%s), and only Landlock keeps it from PID 1 of the sandbox: it needs ABI %d; this kernel has %d",
				rule.Name, rule.Origin, landlock.ABI, have).about(rule.Origin)
		}
	}
	return nil
}
