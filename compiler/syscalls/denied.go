package syscalls

// EPERM and ENOSYS are the errors that calls fail with which a policy denies.
const (
	EPERM  = "EPERM"
	ENOSYS = "ENOSYS"
)

// newer is the first of the calls that programs are ready to do without, by the
// numbers of x86_64: statx, of Linux 4.11. Libraries and language runtimes try what
// came since and fall back when the kernel does not have it; an EPERM they report.
const newer = 332

// Denied is the error with which a call fails that a policy denies: that of the fixed
// list where it stands there, else ENOSYS for what programs fall back from, and
// EPERM for everything else.
func Denied(name string) string {
	if r, ok := Refusing(name); ok && r.Part == All {
		return r.Answer
	}
	if n, ok := Number("x86_64", name); ok && n >= newer {
		return ENOSYS
	}
	return EPERM
}

// Use is what programs do by a call, so that denying it stops them all.
type Use struct {
	Call string
	// Always: nothing starts or ends without it. Otherwise some programs do.
	Always bool
	Why    string // one clause
}

var uses = []Use{
	{"execveat", true, "obsrun starts the command by it"},
	{"exit_group", true, "every program ends by it"},
	{"rt_sigreturn", true, "every handler of a signal returns by it"},
	{"futex", true, "the first process and every program with threads wait by it"},
	{"mmap", true, "the loader maps every program and library by it"},
	{"arch_prctl", true, "on x86_64 every program finds its own variables by it"},
	{"exit", false, "threads end by it"},
	{"write", false, "programs say by it what they found"},
	{"read", false, "the loader reads libraries by it"},
	{"pread64", false, "the loader reads libraries by it"},
	{"openat", false, "the loader opens libraries by it"},
	{"close", false, "the loader closes libraries by it"},
	{"fstat", false, "the loader looks at libraries by it"},
	{"newfstatat", false, "the loader looks at libraries by it"},
	{"mprotect", false, "the loader makes memory read-only by it"},
	{"munmap", false, "programs give memory back by it"},
	{"restart_syscall", false, "waiting goes on by it after a signal"},
	{"rt_sigprocmask", false, "programs start threads and other programs under it"},
}

// UseOf is what every program needs the call for; false when programs do without.
func UseOf(name string) (Use, bool) {
	for _, u := range uses {
		if u.Call == name {
			return u, true
		}
	}
	return Use{}, false
}

// Unseen reports whether programs get the call's answer from memory that the kernel
// shares with them, without calling it (vdso(7)): no filter sees that.
func Unseen(name string) bool {
	switch name {
	case "clock_gettime", "clock_getres", "gettimeofday", "time", "getcpu":
		return true
	}
	return false
}

// Unfiltered reports whether Linux lets the call pass no matter what a filter says
// (kernel/seccomp.c, since Linux 6.14). They work only from where the kernel's own
// probes have put them, and end whoever else calls them.
func Unfiltered(name string) bool { return name == "uretprobe" || name == "uprobe" }

// kin are calls that do the same, or all that one of them does: denying some of a
// group denies nobody anything.
var kin = [][]string{
	{"open", "openat", "openat2"},
	{"fork", "vfork", "clone", "clone3"},
	{"execve", "execveat"},
	{"link", "linkat"},
	{"symlink", "symlinkat"},
	{"unlink", "unlinkat"},
	{"rename", "renameat", "renameat2"},
	{"mkdir", "mkdirat"},
	{"mknod", "mknodat"},
	{"chmod", "fchmodat", "fchmodat2", "fchmod"},
	{"chown", "lchown", "fchownat", "fchown"},
	{"utime", "utimes", "futimesat", "utimensat"},
	{"setxattr", "lsetxattr", "fsetxattr", "setxattrat"},
	{"removexattr", "lremovexattr", "fremovexattr", "removexattrat"},
	{"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"},
	{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"},
	{"accept", "accept4"},
	{"sendto", "sendmsg", "sendmmsg"},
	{"recvfrom", "recvmsg", "recvmmsg"},
	{"pipe", "pipe2"},
	{"inotify_init", "inotify_init1"},
	{"eventfd", "eventfd2"},
	{"signalfd", "signalfd4"},
	{"memfd_create", "memfd_secret"},
	{"setpriority", "ioprio_set", "sched_setattr", "sched_setparam", "sched_setscheduler"},
	{"prlimit64", "setrlimit"},
}

// Kin are the calls by which the same can be done as by the named one, itself among
// them; nil when there is no other.
func Kin(name string) []string {
	for _, group := range kin {
		for _, call := range group {
			if call == name {
				return group
			}
		}
	}
	return nil
}
