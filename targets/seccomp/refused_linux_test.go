package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/obspc/obspc/compiler/syscalls"
	"golang.org/x/sys/unix"
)

// attempt is one way to make a call that sandboxes may not make. Control is what
// the kernel says without a filter: it is done or, where that would change the
// machine or needs an answer of it, an error that tells that the kernel looked
// further than at who asks.
type attempt struct {
	call    string
	how     string
	where   where
	control string
	try     func() error
}

func (a attempt) probe() string { return strings.TrimSpace("refused " + a.call + " " + a.how) }

func init() {
	for _, a := range attempts {
		probes[a.probe()] = a.try
	}
	probes["type into a terminal"] = func() error { return unix.IoctlSetInt(0, tiocsti, int(at([]byte("x")))) }
	probes["unshare own files"] = func() error { return unix.Unshare(unix.CLONE_FILES) }
}

// kept are the memory that calls are given the address of.
var kept []any

func at[T any](list []T) uintptr {
	kept = append(kept, list)
	return uintptr(unsafe.Pointer(unsafe.SliceData(list)))
}

func text(s string) uintptr { return at(append([]byte(s), 0)) }

// number of a call on this machine.
func here(name string) uintptr {
	arch := X86_64
	if runtime.GOARCH == "arm64" {
		arch = AArch64
	}
	return uintptr(numberOf(name, arch))
}

// calling makes the call with those arguments, worked out when it is made.
func calling(name string, args func() []uintptr) func() error {
	return func() error { return raw(here(name), args()...) }
}

func with(args ...uintptr) func() []uintptr { return func() []uintptr { return args } }

// far is the address of nothing; cwd is AT_FDCWD, minusOne a descriptor of nothing.
const (
	far      = 1
	cwd      = ^uintptr(99)
	minusOne = ^uintptr(0)
)

// onFile gives the call a path to a file of its own.
func onFile(name string, args func(path uintptr, fd int) []uintptr) func() error {
	return func() error {
		return withFile(func(at string, fd int) error { return raw(here(name), args(text(at), fd)...) })
	}
}

// making gives the call a path at which nothing is.
func making(name string, args func(path uintptr) []uintptr) func() error {
	return func() error {
		return makeAt(func(at string) error { return raw(here(name), args(text(at))...) })
	}
}

const suid, regular = 0o4755, unix.S_IFREG

var attempts = []attempt{
	{"socket", "unix", plain, "done", calling("socket", with(unix.AF_UNIX, unix.SOCK_STREAM))},
	{"socket", "netlink", plain, "done", calling("socket", with(unix.AF_NETLINK, unix.SOCK_RAW))},
	{"socket", "packet", namespace, "done", calling("socket", with(unix.AF_PACKET, unix.SOCK_RAW))},
	{"socket", "inet of the type packet", namespace, "done", calling("socket", with(unix.AF_INET, sockPacket))},
	{"socket", "high bits", plain, "done", calling("socket", with(unix.AF_UNIX|1<<40, unix.SOCK_STREAM))},
	{"socketpair", "", plain, "done", calling("socketpair", func() []uintptr { return []uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0, at(make([]int32, 2))} })},

	{"chmod", "", plain, "done", onFile("chmod", func(path uintptr, _ int) []uintptr { return []uintptr{path, suid} })},
	{"fchmod", "", plain, "done", onFile("fchmod", func(_ uintptr, fd int) []uintptr { return []uintptr{uintptr(fd), suid} })},
	{"fchmod", "high bits", plain, "done", onFile("fchmod", func(_ uintptr, fd int) []uintptr { return []uintptr{uintptr(fd), suid | 1<<40} })},
	{"fchmodat", "", plain, "done", onFile("fchmodat", func(path uintptr, _ int) []uintptr { return []uintptr{cwd, path, suid} })},
	{"fchmodat2", "", plain, "done", onFile("fchmodat2", func(path uintptr, _ int) []uintptr { return []uintptr{cwd, path, suid} })},
	{"creat", "", plain, "done", making("creat", func(path uintptr) []uintptr { return []uintptr{path, suid} })},
	{"mknod", "", plain, "done", making("mknod", func(path uintptr) []uintptr { return []uintptr{path, regular | suid} })},
	{"mknodat", "", plain, "done", making("mknodat", func(path uintptr) []uintptr { return []uintptr{cwd, path, regular | suid} })},
	{"open", "", plain, "done", making("open", func(path uintptr) []uintptr { return []uintptr{path, unix.O_CREAT, suid} })},
	{"openat", "", plain, "done", making("openat", func(path uintptr) []uintptr { return []uintptr{cwd, path, unix.O_CREAT, suid} })},
	{"openat2", "", plain, "done", making("openat2", func(path uintptr) []uintptr {
		return []uintptr{cwd, path, at([]unix.OpenHow{{Flags: unix.O_CREAT, Mode: suid}}), unix.SizeofOpenHow}
	})},
	{"openat", "temporary", plain, "done", calling("openat", func() []uintptr { return []uintptr{cwd, text("/tmp"), unix.O_TMPFILE | unix.O_WRONLY, suid} })},

	// Linux 6.2 and later have dev.tty.legacy_tiocsti, and say EIO where it is off.
	{"ioctl", "TIOCSTI", plain, "done or EIO", typeIntoTerminal},
	{"ioctl", "TIOCSTI, high bits", plain, "ENOTTY", onFile("ioctl", func(_ uintptr, fd int) []uintptr { return []uintptr{uintptr(fd), tiocsti | 1<<40, text("x")} })},
	{"ioctl", "TIOCLINUX", plain, "ENOTTY", onFile("ioctl", func(_ uintptr, fd int) []uintptr { return []uintptr{uintptr(fd), tioclinux, text("\x02")} })},
	{"ioctl", "TIOCLINUX, high bits", plain, "ENOTTY", onFile("ioctl", func(_ uintptr, fd int) []uintptr { return []uintptr{uintptr(fd), tioclinux | 1<<32, text("\x02")} })},

	{"clone", "user namespace", plain, "done", func() error { return startWith(unix.CLONE_NEWUSER) }},
	{"clone", "mount namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWNS) }},
	{"clone", "network namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWNET) }},
	{"clone", "PID namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWPID) }},
	{"clone", "cgroup namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWCGROUP) }},
	{"clone", "UTS namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWUTS) }},
	{"clone", "IPC namespace", namespace, "done", func() error { return startWith(unix.CLONE_NEWIPC) }},
	{"unshare", "user namespace", plain, "done", func() error { return unshareProgram("-U") }},
	{"unshare", "user namespace, root there", plain, "done", func() error { return unshareProgram("-Ur") }},
	{"unshare", "mount namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWNS))},
	{"unshare", "network namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWNET))},
	{"unshare", "PID namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWPID))},
	{"unshare", "cgroup namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWCGROUP))},
	{"unshare", "UTS namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWUTS))},
	{"unshare", "IPC namespace", namespace, "done", calling("unshare", with(unix.CLONE_NEWIPC))},
	{"unshare", "time namespace", namespace, "done", calling("unshare", with(newTime))},
	{"clone3", "", plain, "EINVAL", calling("clone3", with(0, 0))},
	{"setns", "", namespace, "done", enterOwnNetwork},

	{"mount", "", namespace, "done", calling("mount", func() []uintptr { return []uintptr{text("x"), text("/tmp"), text("tmpfs")} })},
	{"umount2", "", namespace, "done", calling("umount2", func() []uintptr { return []uintptr{text("/tmp"), unix.MNT_DETACH} })},
	{"pivot_root", "", namespace, "done", calling("pivot_root", func() []uintptr { return []uintptr{text("/tmp"), text("/tmp")} })},
	{"chroot", "", namespace, "done", calling("chroot", func() []uintptr { return []uintptr{text("/tmp")} })},
	{"open_tree", "", plain, "done", calling("open_tree", func() []uintptr { return []uintptr{cwd, text("/tmp")} })},
	{"open_tree", "clone", namespace, "done", calling("open_tree", func() []uintptr { return []uintptr{cwd, text("/tmp"), unix.OPEN_TREE_CLONE} })},
	{"open_tree_attr", "", plain, "done", calling("open_tree_attr", func() []uintptr { return []uintptr{cwd, text("/tmp")} })},
	{"move_mount", "", namespace, "done", calling("move_mount", func() []uintptr { return []uintptr{cwd, text("/tmp"), cwd, text("/dev/shm")} })},
	{"mount_setattr", "", namespace, "done", calling("mount_setattr", func() []uintptr {
		return []uintptr{cwd, text("/tmp"), 0, at([]unix.MountAttr{{Attr_set: unix.MOUNT_ATTR_NOEXEC}}), unsafe.Sizeof(unix.MountAttr{})}
	})},
	{"fsopen", "", namespace, "done", calling("fsopen", func() []uintptr { return []uintptr{text("tmpfs")} })},
	{"fsconfig", "", plain, "EINVAL", calling("fsconfig", with(minusOne))},
	{"fsmount", "", namespace, "EBADF", calling("fsmount", with(minusOne))},
	{"fspick", "", namespace, "done", calling("fspick", func() []uintptr { return []uintptr{cwd, text("/tmp")} })},
	{"open_by_handle_at", "", machine, "done", openByHandle},

	{"io_uring_setup", "", plain, "EFAULT", calling("io_uring_setup", with(1, far))},
	{"io_uring_enter", "", plain, "EBADF", calling("io_uring_enter", with(minusOne))},
	{"io_uring_register", "", plain, "EINVAL or EBADF", calling("io_uring_register", with(minusOne>>32))},

	{"add_key", "", plain, "done", addKey},
	{"request_key", "", plain, "done", requestKey},
	{"keyctl", "", plain, "done", keyctl},

	{"ptrace", "", plain, "done", calling("ptrace", with(unix.PTRACE_TRACEME))},
	{"process_vm_readv", "", plain, "done", func() error { return copyOwnMemory(here("process_vm_readv")) }},
	{"process_vm_writev", "", plain, "done", func() error { return copyOwnMemory(here("process_vm_writev")) }},
	{"pidfd_getfd", "", plain, "done", getfd},

	{"bpf", "", machine, "done", calling("bpf", func() []uintptr {
		return []uintptr{unix.BPF_MAP_CREATE, at([]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}), 16}
	})},
	{"perf_event_open", "", plain, "EFAULT", calling("perf_event_open", with(far))},
	{"userfaultfd", "", plain, "done", calling("userfaultfd", with(1))}, // UFFD_USER_MODE_ONLY
	{"modify_ldt", "", plain, "done", calling("modify_ldt", with(0))},
	{"iopl", "", plain, "done", calling("iopl", with(0))},
	{"ioperm", "", plain, "done", calling("ioperm", with(0, 1, 0))},

	{"kexec_load", "", machine, "EINVAL", calling("kexec_load", with(0, 0, 0, minusOne))},
	{"kexec_file_load", "", machine, "EINVAL", calling("kexec_file_load", with(minusOne, minusOne, 0, 0, minusOne))},
	{"reboot", "", namespace, "EINVAL", calling("reboot", with(0, 0, 0))},
	{"init_module", "", machine, "ENOEXEC", calling("init_module", func() []uintptr { return []uintptr{0, 0, text("")} })},
	{"finit_module", "", machine, "EBADF", calling("finit_module", func() []uintptr { return []uintptr{minusOne, text("")} })},
	{"delete_module", "", machine, "ENOENT", calling("delete_module", func() []uintptr { return []uintptr{text("obspc_no_module"), unix.O_NONBLOCK} })},
	{"settimeofday", "", plain, "EFAULT", calling("settimeofday", with(far))},
	{"clock_settime", "", plain, "EFAULT", calling("clock_settime", with(unix.CLOCK_REALTIME, far))},
	{"clock_adjtime", "", plain, "done", calling("clock_adjtime", func() []uintptr { return []uintptr{unix.CLOCK_REALTIME, at([]unix.Timex{{}})} })},
	{"adjtimex", "", plain, "done", calling("adjtimex", func() []uintptr { return []uintptr{at([]unix.Timex{{}})} })},
	{"swapon", "", machine, "ENOENT", calling("swapon", func() []uintptr { return []uintptr{text("/tmp/no file")} })},
	{"swapoff", "", machine, "ENOENT", calling("swapoff", func() []uintptr { return []uintptr{text("/tmp/no file")} })},
	{"quotactl", "", plain, "ENODEV", calling("quotactl", with(0x80000700))}, // Q_GETQUOTA, of users
	{"quotactl_fd", "", plain, "EBADF", calling("quotactl_fd", with(minusOne))},
	{"acct", "", machine, "ENOENT", calling("acct", func() []uintptr { return []uintptr{text("/tmp/no file")} })},
	{"syslog", "", machine, "done", calling("syslog", with(10))}, // SYSLOG_ACTION_SIZE_BUFFER
}

// startWith starts a process in new namespaces.
func startWith(flags uintptr) error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{probeVariable + "=true"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

// unshareProgram is how anybody tries: one thread, as unshare(2) wants of a process
// that makes a user namespace.
func unshareProgram(how string) error {
	out, err := exec.Command("/usr/bin/unshare", how, "true").CombinedOutput()
	if strings.Contains(string(out), "Operation not permitted") {
		return unix.EPERM
	}
	return err
}

func enterOwnNetwork() error {
	fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return raw(here("setns"), uintptr(fd), unix.CLONE_NEWNET)
}

func openByHandle() error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/passwd", 0)
	if err != nil {
		return err
	}
	mount, err := unix.Open("/etc", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return opened(unix.OpenByHandleAt(mount, handle, unix.O_RDONLY))
}

// typeIntoTerminal has a process whose terminal it is type into a new one.
func typeIntoTerminal() error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer terminal.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{probeVariable + "=type into a terminal"}
	cmd.Stdin = terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.Output()
	if said := strings.TrimSpace(string(out)); err == nil && said != "done" {
		for _, errno := range []syscall.Errno{unix.EPERM, unix.EIO, unix.ENOTTY} {
			if said == unix.ErrnoName(errno) {
				return errno
			}
		}
		return fmt.Errorf("%s", said)
	}
	return err
}

// TestLiveRefused makes every call of the list without a filter, the control, and
// under it, each with the capabilities that it takes outside.
func TestLiveRefused(t *testing.T) {
	tried := map[string]bool{}
	for caller, s := range callers(t) {
		for _, a := range attempts {
			tried[a.call] = true
			if a.where == machine && s.user != nil {
				continue // tried as root
			}
			t.Run(caller+" "+a.probe(), func(t *testing.T) {
				if here(a.call) == none {
					t.Skipf("host feature missing: the call, on %s", runtime.GOARCH)
				}
				if a.where == machine && os.Getuid() != 0 {
					t.Skip("host feature missing: root, for whose capabilities the kernel asks before anything else")
				}
				s.where = a.where
				refusal, _ := syscalls.Refusing(a.call)
				control := s.run(t, nil, a.probe())
				switch {
				case slices.Contains(strings.Split(a.control, " or "), control):
				case control == "ENOSYS":
					t.Skip("host feature missing: the call, in this kernel")
				case control == refusal.Answer:
					t.Skipf("host feature missing: leave to make the call (%s)", control)
				default:
					t.Fatalf("without a filter: %s, want %s", control, a.control)
				}
				if got := s.run(t, sockets["none"], a.probe()); got != refusal.Answer {
					t.Errorf("under the filter: %s, want %s; without: %s", got, refusal.Answer, control)
				}
			})
		}
	}
	for _, r := range syscalls.Refused() {
		if !tried[r.Call] {
			t.Errorf("nobody tries %s", r.Call)
		}
	}
}
