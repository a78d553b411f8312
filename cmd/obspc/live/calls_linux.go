package live

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/syscalls"
)

// nobody is nothing of a system call's arguments: no descriptor, no address, no set of flags.
const nobody = ^uintptr(0)

// given are the arguments of calls that would do something when all of them are
// nobody, would be refused in part for one of them (compiler/syscalls), or of which the
// kernel says ENOSYS then, as if it did not have them. With these it finds fault with
// one as well, or there is nothing to do.
var given = map[string][6]uintptr{
	"chmod":      {nobody, 0},
	"fchmod":     {nobody, 0},
	"fchmodat":   {nobody, nobody, 0},
	"fchmodat2":  {nobody, nobody, 0, nobody},
	"creat":      {nobody, 0},
	"mknod":      {nobody, 0, 0},
	"mknodat":    {nobody, nobody, 0, 0},
	"open":       {nobody, 0, 0},
	"openat":     {nobody, nobody, 0, 0},
	"ioctl":      {nobody, 0, 0},
	"socket":     {unix.AF_INET, 15, 0}, // no type has the number
	"socketpair": {unix.AF_UNIX, unix.SOCK_STREAM, 0, nobody},
	"clone":      {unix.CLONE_SIGHAND}, // EINVAL without CLONE_VM (clone(2))
	"unshare":    {1},                  // no flag

	"modify_ldt":  {0, 0, 0}, // read nothing
	"init_module": {0, 0, nobody},
	"flock":       {nobody, 1},  // an odd one is logged
	"kill":        {1 << 30, 0}, // no process has the number; -1 is all of them
	"msgget":      {nobody, 0},  // IPC_CREAT would leave a queue behind
	"semget":      {nobody, 0, 0},
	"shmget":      {nobody, 0, 0},
}

// unmade are calls that have nothing to be found fault with, and do something.
var unmade = map[string]string{
	"exit":         "it ends who makes it",
	"exit_group":   "it ends who makes it",
	"fork":         "it makes a process, whatever it is given",
	"vfork":        "it makes a process, whatever it is given",
	"pause":        "it waits for a signal, whatever it is given",
	"rt_sigreturn": "it ends who makes it outside of a handler",
	"sync":         "it writes everybody's files to the disks, whatever it is given",
	"vhangup":      "it takes away the terminal, whatever it is given",
}

// arch is this machine's name in the tables of system calls.
func arch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}

// callCannot says why the named system call is not tried, "" when it is.
func callCannot(name string) string {
	if _, ok := syscalls.Number(arch(), name); !ok {
		return "there is no such system call on " + arch()
	}
	if why, ok := unmade[name]; ok {
		return "it is not made outside the sandbox for the control: " + why
	}
	if syscalls.Unfiltered(name) {
		return "no filter is asked about it, and it ends who makes it"
	}
	return ""
}

// makeCall makes the named system call with arguments that mean nothing: a filter
// is asked before the kernel looks at them.
func makeCall(name string) error {
	number, ok := syscalls.Number(arch(), name)
	if !ok {
		return unix.ENOSYS
	}
	a, ok := given[name]
	if !ok {
		a = [6]uintptr{nobody, nobody, nobody, nobody, nobody, nobody}
	}
	if _, _, errno := unix.RawSyscall6(uintptr(number), a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}
