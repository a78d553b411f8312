package seccomp

import (
	"math"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/lang/diag"
)

// none stands for the number of a call that an architecture does not have.
const none = math.MaxUint32

// numberOf is the number of the named call on a; none when a does not have it.
func numberOf(name string, a Arch) uint32 {
	if n, ok := syscalls.Number(string(a), name); ok {
		return n
	}
	return none
}

// refusal is a call that a policy does not let be made, on one architecture.
type refusal struct {
	syscalls.Refusal
	number uint32
	answer Action
	watch  watched // of those that are told apart by an argument
}

// refusals are those of p on a, in program order: calls that are told apart by an
// argument come first, because for the others the kernel remembers the answer
// (since Linux 5.11).
func refusals(p *ir.Policy, a Arch) []refusal {
	var out []refusal
	for _, r := range syscalls.Refused() {
		if rule := p.Syscall(r.Call); rule != nil && rule.Allow {
			continue
		}
		if nr := numberOf(r.Call, a); nr != none {
			out = append(out, refusal{r, nr, errno(r), watching(r)})
		}
	}
	return out
}

// errno is the action with which r is refused.
func errno(r syscalls.Refusal) Action {
	for _, e := range errorNames {
		if e.name == r.Answer {
			return Errno(e.number)
		}
	}
	diag.Bug("%s is refused with the unknown error %q", r.Call, r.Answer)
	return KillProcess
}

// watching is what r looks at; the zero watched when that is no single argument.
func watching(r syscalls.Refusal) watched {
	if r.Part == syscalls.All || r.Part == syscalls.Families {
		return watched{}
	}
	i := slices.IndexFunc(watchedCalls, func(w watched) bool { return w.call == r.Call })
	if i < 0 {
		diag.Bug("nobody knows which calls of %s are refused", r.Call)
	}
	return watchedCalls[i]
}

// watched is a call of which some are refused: those in whose argument arg a bit of
// bits is set or, where bits is 0, that is one of values. The kernel takes all these
// arguments as 32 bits wide, or refuses what has a higher bit itself (unshare).
type watched struct {
	call   string
	arg    int
	bits   uint32
	values []uint32
	// flags is the argument that tells by its bits makesFile whether arg counts at
	// all; -1: it does.
	flags int
}

// watchedCalls has a row for each refusal of syscalls.Refused that is not of all
// calls nor about address families.
var watchedCalls = []watched{
	{"chmod", 1, setUserID, nil, -1},
	{"fchmod", 1, setUserID, nil, -1},
	{"fchmodat", 2, setUserID, nil, -1},
	{"fchmodat2", 2, setUserID, nil, -1},
	{"creat", 1, setUserID, nil, -1},
	{"mknod", 1, setUserID, nil, -1},
	{"mknodat", 2, setUserID, nil, -1},
	{"open", 2, setUserID, nil, 1},
	{"openat", 3, setUserID, nil, 2},
	{"ioctl", 1, 0, []uint32{tiocsti, tioclinux}, -1},
	{"clone", 0, newNamespaces, nil, -1},
	{"unshare", 0, newNamespaces | newTime, nil, -1},
}

// Bits of modes (linux/stat.h: S_ISUID) and of open's flags (asm-generic/fcntl.h:
// O_CREAT and __O_TMPFILE; both architectures use these).
const (
	setUserID = 0o4000
	makesFile = 0o100 | 0o20000000
)

// Flags of clone(2) and unshare(2) that make namespaces (linux/sched.h): CLONE_NEWNS,
// NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. CLONE_NEWTIME lies where
// clone has the exit signal, so only unshare (and clone3) knows it.
const (
	newNamespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
	newTime       = 0x80
)

// Requests of ioctl(2) (asm-generic/ioctls.h): TIOCSTI types a character, and
// TIOCLINUX can paste what is selected on the console (ioctl_console(2)).
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
)

// valueNames are words for values and masks, in the disassembly.
var valueNames = []struct {
	name  string
	value uint32
}{
	{"S_ISUID", setUserID},
	{"O_CREAT, O_TMPFILE", makesFile},
	{"CLONE_NEW...", newNamespaces},
	{"CLONE_NEW..., CLONE_NEWTIME", newNamespaces | newTime},
	{"TIOCSTI", tiocsti},
	{"TIOCLINUX", tioclinux},
}

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

// families lists the address families of socket(2). All others are refused.
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
