package trace

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// options of every tracee: what it starts is traced too, system calls are told
// from signals, and should the tracer die, so does it.
const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_EXITKILL

// ptrace is ptrace(2).
func ptrace(request, pid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// seize begins to trace a thread and does not stop it.
func seize(tid int) error { return ptrace(unix.PTRACE_SEIZE, tid, 0, options) }

// resume lets a stopped tracee go on, to its next system call if calls is true,
// and delivers a signal to it, 0 for none. One that was killed meanwhile is gone.
func resume(tid int, calls bool, signal int) {
	request := unix.PTRACE_CONT
	if calls {
		request = unix.PTRACE_SYSCALL
	}
	ptrace(request, tid, 0, uintptr(signal))
}

// listen leaves a tracee stopped by job control, and hears of its going on.
func listen(tid int) { ptrace(unix.PTRACE_LISTEN, tid, 0, 0) }

// entered is a system call at its entry.
type entered struct {
	number uint64
	args   [6]uint64
}

// stop is what PTRACE_GET_SYSCALL_INFO (Linux 5.3) says of a stop at a system
// call: its entry, or how it came out.
type stop struct {
	entry  bool
	call   entered
	failed bool
	errno  uint16
}

// infoSize is that of struct ptrace_syscall_info in its first version; a kernel
// fills in as much as it is given room for.
const infoSize = 24 + 8 + 6*8 + 8

// syscallStop reads why tid stopped; false when it is gone, or its system call is
// of another architecture, which the seccomp program ends anyway.
func syscallStop(tid int) (stop, bool) {
	var info [infoSize]byte
	if err := ptrace(unix.PTRACE_GET_SYSCALL_INFO, tid, infoSize, uintptr(unsafe.Pointer(&info))); err != nil {
		return stop{}, false
	}
	if binary.NativeEndian.Uint32(info[4:]) != nativeArch {
		return stop{}, false
	}
	switch info[0] {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		s := stop{entry: true}
		s.call.number = binary.NativeEndian.Uint64(info[24:])
		for i := range s.call.args {
			s.call.args[i] = binary.NativeEndian.Uint64(info[32+8*i:])
		}
		return s, true
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		value := int64(binary.NativeEndian.Uint64(info[24:]))
		return stop{failed: info[32] != 0, errno: uint16(-value)}, true
	}
	return stop{}, false
}
