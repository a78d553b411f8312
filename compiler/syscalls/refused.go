package syscalls

// Part tells which calls of a name are refused.
type Part string

// All: whatever the arguments. The others look at one argument; what a filter
// cannot see, because it lies in memory, is never among them.
const (
	All           Part = ""
	Namespaces    Part = "with a flag that makes a namespace"
	TerminalInput Part = "TIOCSTI and TIOCLINUX"
	SetUserID     Part = "with the set-user-ID bit in the mode"
	Families      Part = "by address family and type"
)

// Refusal is a call that no sandbox may make, whatever its policy says but for
// syscalls.allow.
type Refusal struct {
	Call   string
	Part   Part
	Answer string // the error it fails with
	Why    string // one clause
}

// Refused lists them. It is the second layer behind missing capabilities and
// private namespaces: the kernel refuses most of it by itself, as long as it has
// no bug. What only asks about another process (kcmp, process_madvise without
// CAP_SYS_NICE) is not among them, nor is what a private namespace makes harmless
// (sethostname).
//
// ENOSYS is what a kernel says that does not have the call, and what programs are
// ready for; EPERM what it says for want of a capability.
func Refused() []Refusal { return refused }

// Reasons of several calls.
const (
	leftBehind      = "a program left in a shared workspace would start as the caller"
	allCapabilities = "capabilities in a new user namespace open most of the kernel to attack"
	mountAPI        = "the mount API of Linux 5.2, by descriptors"
	likePtrace      = "ptrace by another name"
	ports           = "ports of the machine's devices"
	anotherKernel   = "another kernel"
	kernelCode      = "code in the kernel"
	sharedClock     = "the clock is everybody's"
	machineMemory   = "the machine's memory"
	hostQuotas      = "quotas of the host's file systems"
	handedIn        = "a ring that was handed in is no way around"
)

var refused = []Refusal{
	{"socket", Families, "EAFNOSUPPORT", "netlink, packet, vsock and other families reach the kernel or the host, not the sandbox's own network"},
	{"socketpair", Families, "EAFNOSUPPORT", "an end of a datagram pair can be connected again, to any path"},

	// An executable file of that mode would start as the caller, for every user of
	// the machine, once the run is over. S_ISGID is not refused: on directories it is
	// common, and a filter cannot tell them from files. What an open makes is empty, and
	// the kernel takes the bit off with the first write, but not when root writes: a name
	// for root not to copy over. So openat2, whose mode lies in memory, is not there at
	// all. mkdir drops the bit itself.
	{"chmod", SetUserID, "EPERM", leftBehind},
	{"fchmod", SetUserID, "EPERM", leftBehind},
	{"fchmodat", SetUserID, "EPERM", leftBehind},
	{"fchmodat2", SetUserID, "EPERM", leftBehind},
	{"creat", SetUserID, "EPERM", leftBehind},
	{"mknod", SetUserID, "EPERM", leftBehind},
	{"mknodat", SetUserID, "EPERM", leftBehind},
	{"open", SetUserID, "EPERM", leftBehind},
	{"openat", SetUserID, "EPERM", leftBehind},
	{"openat2", All, "ENOSYS", "its mode lies in memory, where no filter sees the set-user-ID bit; programs fall back on openat"},

	{"ioctl", TerminalInput, "EPERM", "what they put into a terminal's input, a shell outside reads as typed"},

	// A namespace of one's own comes with every capability in it, and with what of the
	// kernel only those reach.
	{"clone", Namespaces, "EPERM", allCapabilities},
	{"unshare", Namespaces, "EPERM", allCapabilities},
	{"clone3", All, "ENOSYS", "its flags lie in memory, where no filter sees them; libraries fall back on clone"},
	{"setns", All, "EPERM", "it enters namespaces that somebody else made"},

	{"mount", All, "EPERM", "the sandbox is made of mounts"},
	{"umount2", All, "EPERM", "what a mount hides would show"},
	{"pivot_root", All, "EPERM", "another root has none of the sandbox's mounts"},
	{"chroot", All, "EPERM", "programs that are set-user-ID or trust a path meet another file there"},
	{"open_tree", All, "ENOSYS", mountAPI},
	{"open_tree_attr", All, "ENOSYS", mountAPI},
	{"move_mount", All, "ENOSYS", mountAPI},
	{"mount_setattr", All, "ENOSYS", "it makes a read-only mount writable"},
	{"fsopen", All, "ENOSYS", mountAPI},
	{"fsconfig", All, "ENOSYS", mountAPI},
	{"fsmount", All, "ENOSYS", mountAPI},
	{"fspick", All, "ENOSYS", mountAPI},
	{"open_by_handle_at", All, "EPERM", "it opens files by number, without a path that mounts could hide"},

	{"io_uring_setup", All, "ENOSYS", "IORING_OP_SOCKET makes sockets that no filter sees"},
	{"io_uring_enter", All, "ENOSYS", handedIn},
	{"io_uring_register", All, "ENOSYS", handedIn},

	// Keyrings are the caller's and not the sandbox's (keyrings(7)).
	{"add_key", All, "ENOSYS", "keys left in the caller's session keyring outlive the run"},
	{"request_key", All, "ENOSYS", "the kernel starts /sbin/request-key for it as root, outside every namespace"},
	{"keyctl", All, "ENOSYS", "the caller's session keyring holds tickets and passwords"},

	// The processes of a sandbox are one another's equals, but for its PID 1, which
	// ends it when obsrun dies.
	{"ptrace", All, "EPERM", "PID 1 could be kept from dying with obsrun"},
	{"process_vm_readv", All, "EPERM", likePtrace},
	{"process_vm_writev", All, "EPERM", likePtrace},
	{"pidfd_getfd", All, "EPERM", "ptrace by another name: the descriptors of PID 1"},

	{"bpf", All, "EPERM", "programs in the kernel"},
	{"perf_event_open", All, "EPERM", "it measures other processes and the kernel"},
	{"userfaultfd", All, "EPERM", "it holds the kernel at a page fault for as long as it likes, which makes races certain"},
	{"modify_ldt", All, "ENOSYS", "segments of 16 bits: old code of the kernel that little needs"},
	{"iopl", All, "EPERM", ports},
	{"ioperm", All, "EPERM", ports},

	{"kexec_load", All, "EPERM", anotherKernel},
	{"kexec_file_load", All, "EPERM", anotherKernel},
	{"reboot", All, "EPERM", "the machine's state"},
	{"init_module", All, "EPERM", kernelCode},
	{"finit_module", All, "EPERM", kernelCode},
	{"delete_module", All, "EPERM", kernelCode},
	{"settimeofday", All, "EPERM", sharedClock},
	{"clock_settime", All, "EPERM", sharedClock},
	{"clock_adjtime", All, "EPERM", sharedClock},
	{"adjtimex", All, "EPERM", sharedClock},
	{"swapon", All, "EPERM", machineMemory},
	{"swapoff", All, "EPERM", machineMemory},
	{"quotactl", All, "EPERM", hostQuotas},
	{"quotactl_fd", All, "EPERM", hostQuotas},
	{"acct", All, "EPERM", "it records every process of the machine"},
	{"syslog", All, "EPERM", "the kernel's log tells addresses, and what others do"},
}

// Refusing is the refusal of the named call; false when sandboxes may make it.
func Refusing(name string) (Refusal, bool) {
	for _, r := range refused {
		if r.Call == name {
			return r, true
		}
	}
	return Refusal{}, false
}
