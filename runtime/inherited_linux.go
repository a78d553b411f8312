package runtime

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signals are numbered from 1 to 64, with masks of 8 bytes (signal(7)).
const (
	lastSignal = 64
	maskBytes  = 8
)

// signalAction is the kernel's struct sigaction (rt_sigaction(2)).
type signalAction struct{ handler, flags, restorer, mask uintptr }

const ignored = 1 // SIG_IGN

// resetSignals makes the default action that of each signal that the caller ignores,
// and blocks none for this thread: execve(2) passes both on, and a caller in the
// background, who ignores SIGINT (POSIX, Asynchronous Lists), would have a terminal
// inside whose Ctrl-C does nothing.
func resetSignals() error {
	for n := uintptr(1); n <= lastSignal; n++ {
		var have, standard signalAction
		if err := sigaction(n, nil, &have); err != nil {
			return err
		}
		if have.handler != ignored {
			continue // what this program handles gets its default from execve
		}
		if err := sigaction(n, &standard, nil); err != nil {
			return err
		}
	}
	var none uint64
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, maskBytes, 0, 0)
	return okay(errno)
}

// resetPersonality gives the command the layout of memory and the answers of an
// ordinary program (personality(2)): execve passes on that a caller has switched the
// randomisation of addresses off, or asks for another machine.
func resetPersonality() error {
	const query, standard = 0xffffffff, 0
	have, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, query, 0, 0)
	if errno == 0 && have != standard {
		_, _, errno = unix.RawSyscall(unix.SYS_PERSONALITY, standard, 0, 0)
	}
	return okay(errno)
}

func sigaction(n uintptr, set, have *signalAction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(have)), maskBytes, 0, 0)
	return okay(errno)
}

func okay(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
