package seccomp

import "github.com/obspc/obspc/lang/diag"

// call is a system call that the filter tells from others: its name and its
// number on each architecture.
type call struct {
	name            string
	x86_64, aarch64 uint32
}

// calls is the number table. Sources: arch/x86/entry/syscalls/syscall_64.tbl for
// x86_64, include/uapi/asm-generic/unistd.h for aarch64. Numbers are never
// reused, so the table only grows. (From 424 on, all architectures share them.)
var calls = []call{
	{"socket", 41, 198},
	{"socketpair", 53, 199},
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
}

// number is the call's number on a.
func (c call) number(a Arch) uint32 {
	if a == X86_64 {
		return c.x86_64
	}
	return c.aarch64
}

// numberOf is the number of the named call on a.
func numberOf(name string, a Arch) uint32 {
	for _, c := range calls {
		if c.name == name {
			return c.number(a)
		}
	}
	diag.Bug("seccomp has no number for %q", name)
	return 0
}

// refused is a call that is never carried out.
type refused struct {
	call   string
	answer Action
	why    string // one clause, for the disassembly
}

// fixed lists the calls refused whatever the policy says, in program order.
var fixed = []refused{
	// ENOSYS is what a kernel built without io_uring says, and what its users fall
	// back on.
	{"io_uring_setup", Errno(enosys), "IORING_OP_SOCKET makes sockets that no filter sees"},
	{"io_uring_enter", Errno(enosys), "a ring that was handed in is no way around"},
	{"io_uring_register", Errno(enosys), "a ring that was handed in is no way around"},
}

// Error numbers (asm-generic/errno.h; the same on both architectures).
const (
	enosys       = 38
	eafnosupport = 97
)

var errorNames = []struct {
	name   string
	number uint16
}{
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
