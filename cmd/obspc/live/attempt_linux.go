package live

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// execveCheck is AT_EXECVE_CHECK (linux/fcntl.h, Linux 6.14): the kernel says
// whether it would start the file, and does not.
const execveCheck = 0x10000

func wouldStart(path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	argv := []*byte{name, nil}
	at := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(at), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&argv[1])), execveCheck, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
