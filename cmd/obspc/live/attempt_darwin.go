package live

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unreadable is an address at which no 64-bit program has anything.
const unreadable = 1

// wouldStart asks whether the kernel would start the file, and starts nothing: the
// list of arguments cannot be read. XNU asks for every permission first
// (exec_check_permissions in bsd/kern/kern_exec.c), copies the arguments then
// (exec_extract_strings), and replaces the process last.
func wouldStart(path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(name)), unreadable, unreadable); errno != syscall.EFAULT {
		return errno
	}
	return nil
}
