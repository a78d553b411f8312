package attribute

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nsGetUserNS asks which user namespace a namespace belongs to, since Linux 4.9
// (NS_GET_USERNS in linux/nsfs.h).
const nsGetUserNS = 0xb701

// diagSocket makes a socket of NETLINK_SOCK_DIAG in a network namespace. Programs inside have no sockets of netlink, and a process with several
// threads cannot enter a user namespace (setns(2)); so a child of one thread enters,
// makes the socket among the descriptors that it shares with this process, and ends.
func diagSocket(net int) (int, error) {
	user, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(net), nsGetUserNS, 0)
	if errno != 0 {
		return -1, fmt.Errorf("ask for the network's user namespace: %w", errno)
	}
	defer unix.Close(int(user))
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return -1, err
	}
	defer unix.Close(pipe[0])
	runtime.LockOSThread() // its signals are blocked meanwhile
	pid, errno := cloneInto(user, uintptr(net), uintptr(pipe[1]))
	runtime.UnlockOSThread()
	for errno == 0 {
		if _, err := syscall.Wait4(int(pid), nil, unix.WALL, nil); err != syscall.EINTR {
			break
		}
	}
	unix.Close(pipe[1]) // not before: the child shares the table
	if errno != 0 {
		return -1, fmt.Errorf("clone: %w", errno)
	}
	var said report
	n, err := unix.Read(pipe[0], (*[reportBytes]byte)(unsafe.Pointer(&said))[:])
	switch {
	case err != nil || n != reportBytes:
		return -1, errors.New("the child that enters the network ended early")
	case said.errno != 0:
		return -1, fmt.Errorf("enter the network: %w", unix.Errno(said.errno))
	}
	return int(said.fd), nil
}

// report is what the child says: the socket, or why there is none.
type report struct{ fd, errno uintptr }

const reportBytes = int(unsafe.Sizeof(report{}))

// cloneInto starts the child. Until it ends it may do nothing but system calls: it
// has a copy of this process's memory and one of its threads, so whatever waits for
// another thread, or grows the stack, would never return. Signals are blocked, for
// their handlers would need all of that.
//
//go:noinline
//go:norace
//go:nocheckptr
func cloneInto(user, net, pipe uintptr) (pid uintptr, errno syscall.Errno) {
	var said report
	all, before := ^uint64(0), uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), 8, 0, 0)
	// Without a signal at its end: only wait4 with __WALL sees it (clone(2)).
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_FILES, 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0)
		return pid, errno
	}
	_, _, e := syscall.RawSyscall(unix.SYS_SETNS, user, unix.CLONE_NEWUSER, 0)
	if e == 0 {
		_, _, e = syscall.RawSyscall(unix.SYS_SETNS, net, unix.CLONE_NEWNET, 0)
	}
	if e == 0 {
		said.fd, _, e = syscall.RawSyscall(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	}
	said.errno = uintptr(e)
	syscall.RawSyscall(unix.SYS_WRITE, pipe, uintptr(unsafe.Pointer(&said)), uintptr(reportBytes))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}
