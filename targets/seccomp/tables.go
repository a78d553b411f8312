package seccomp

import (
	"math"

	"github.com/obspc/obspc/lang/diag"
)

// call is a system call that the filter tells from others: its name and its
// number on each architecture.
type call struct {
	name            string
	x86_64, aarch64 uint32
}

// none stands for the number of a call that an architecture does not have.
const none = math.MaxUint32

// calls is the number table. Sources: arch/x86/entry/syscalls/syscall_64.tbl for
// x86_64, include/uapi/asm-generic/unistd.h for aarch64, which has no open, creat,
// mknod and chmod. Numbers are never reused, so the table only grows. (From 424
// on, all architectures share them.)
var calls = []call{
	{"open", 2, none},
	{"socket", 41, 198},
	{"socketpair", 53, 199},
	{"creat", 85, none},
	{"chmod", 90, none},
	{"fchmod", 91, 52},
	{"ptrace", 101, 117},
	{"mknod", 133, none},
	{"add_key", 248, 217},
	{"request_key", 249, 218},
	{"keyctl", 250, 219},
	{"openat", 257, 56},
	{"mknodat", 259, 33},
	{"fchmodat", 268, 53},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"pidfd_getfd", 438, 438},
	{"fchmodat2", 452, 452},
}

// number is the call's number on a; none when a does not have it.
func (c call) number(a Arch) uint32 {
	if a == X86_64 {
		return c.x86_64
	}
	return c.aarch64
}

// numberOf is the number of the named call on a; none when a does not have it.
func numberOf(name string, a Arch) uint32 {
	for _, c := range calls {
		if c.name == name {
			return c.number(a)
		}
	}
	diag.Bug("seccomp has no number for %q", name)
	return none
}

// refused is a call that is never carried out.
type refused struct {
	call   string
	answer Action
	why    string // one clause, for readers of this table
}

// fixed lists the calls refused whatever the policy says, in program order. What
// only asks about another process (kcmp, process_madvise without CAP_SYS_NICE) is
// not among them.
var fixed = []refused{
	// ENOSYS is what a kernel built without io_uring says, and what its users fall
	// back on.
	{"io_uring_setup", Errno(enosys), "IORING_OP_SOCKET makes sockets that no filter sees"},
	{"io_uring_enter", Errno(enosys), "a ring that was handed in is no way around"},
	{"io_uring_register", Errno(enosys), "a ring that was handed in is no way around"},
	// Keyrings are the caller's and not the sandbox's (keyrings(7)). ENOSYS is what
	// a kernel without CONFIG_KEYS says.
	{"add_key", Errno(enosys), "keys left in the caller's session keyring outlive the run"},
	{"request_key", Errno(enosys), "the kernel starts /sbin/request-key for it as root, outside every namespace"},
	{"keyctl", Errno(enosys), "the caller's session keyring holds tickets and passwords"},
	// The processes of a sandbox are one another's equals, but for its PID 1, which
	// ends it when obsrun dies.
	{"ptrace", Errno(eperm), "PID 1 could be kept from dying with obsrun"},
	{"process_vm_readv", Errno(eperm), "ptrace by another name"},
	{"process_vm_writev", Errno(eperm), "ptrace by another name"},
	{"pidfd_getfd", Errno(eperm), "ptrace by another name: the descriptors of PID 1"},
}

// moded is a call that gives a file its mode. It is refused with EPERM when the
// mode has setUserID: an executable file of that mode would start as the caller,
// for every user of the machine, once the run is over.
//
// S_ISGID is not refused: on directories it is common, and a filter cannot tell
// them from files. What an open makes stays empty as long as it has the bit
// (the kernel takes it off with the first write), so openat2, whose mode lies in
// memory where no filter sees it, is no way around. mkdir drops the bit itself.
type moded struct {
	call string
	mode int // the argument that holds the mode
	// flags is the argument that tells by its bits makesFile whether there is a mode
	// at all; -1: there is.
	flags int
}

// modedCalls lists them in program order.
var modedCalls = []moded{
	{"chmod", 1, -1},
	{"fchmod", 1, -1},
	{"fchmodat", 2, -1},
	{"fchmodat2", 2, -1},
	{"creat", 1, -1},
	{"mknod", 1, -1},
	{"mknodat", 2, -1},
	{"open", 2, 1},
	{"openat", 3, 2},
}

// Bits of modes (linux/stat.h: S_ISUID) and of open's flags (asm-generic/fcntl.h:
// O_CREAT and __O_TMPFILE; both architectures use these).
const (
	setUserID = 0o4000
	makesFile = 0o100 | 0o20000000
)

// Error numbers (asm-generic/errno.h; the same on both architectures).
const (
	eperm        = 1
	enosys       = 38
	eafnosupport = 97
)

var errorNames = []struct {
	name   string
	number uint16
}{
	{"EPERM", eperm},
	{"ENOSYS", enosys},
	{"EAFNOSUPPORT", eafnosupport},
}

// Address families (linux/socket.h).
const (
	afUnix  = 1
	afInet  = 2
	afInet6 = 10
)

// Socket types and the bits of the type argument that hold them; the others are
// SOCK_CLOEXEC and SOCK_NONBLOCK (linux/net.h: SOCK_TYPE_MASK).
const (
	sockStream    = 1
	sockDatagram  = 2
	sockRaw       = 3
	sockSeqpacket = 5
	sockPacket    = 10

	sockTypeMask = 0xf
)

// family is an address family that sockets may be made of. When unix is set the
// policy's unix statement decides about it. Types not listed in except may be
// made.
type family struct {
	name   string
	number uint32
	unix   bool
	except []uint32
}

// families lists the address families of socket(2). All others are refused:
// netlink, packet, vsock and the rest reach the host or the kernel, not the
// sandbox's own network.
var families = []family{
	{name: "AF_UNIX", number: afUnix, unix: true},
	// socket(AF_INET, SOCK_PACKET, …) makes a socket of AF_PACKET (net/socket.c,
	// __sock_create, "for old programs").
	{name: "AF_INET", number: afInet, except: []uint32{sockPacket}},
	{name: "AF_INET6", number: afInet6},
}

var typeNames = []struct {
	name   string
	number uint32
}{
	{"SOCK_STREAM", sockStream},
	{"SOCK_DGRAM", sockDatagram},
	{"SOCK_RAW", sockRaw},
	{"SOCK_SEQPACKET", sockSeqpacket},
	{"SOCK_PACKET", sockPacket},
}

// pairTypes lists the types of Unix-domain socket pairs that are made even where
// unix = "none". Each end of such a pair is connected for good: connect(2) on it
// fails. A datagram end can be connected again, to any path (unix(7)); SOCK_RAW
// becomes SOCK_DGRAM (net/unix/af_unix.c, unix_create).
var pairTypes = []uint32{sockStream, sockSeqpacket}
