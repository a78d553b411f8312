package cmdline

// kind is what an argument of an option is.
type kind uint8

const (
	plain kind = iota
	descriptor
	octal
	amount
	number
	capability
	source // a path of the host
	dest   // a path of the sandbox
)

// option is one option of bwrap.
type option struct {
	name  string
	args  []kind
	since Version
}

// options is every option with its arguments and the release that brought it
// (bwrap(1), the project's release notes and, for --netns, its tests). Releases
// before 0.2 are told apart as far as the notes do.
var options = []option{
	{"--help", nil, Version{0, 1, 0}},
	{"--version", nil, Version{0, 1, 0}},
	{"--args", []kind{descriptor}, Version{0, 1, 0}},
	{"--argv0", []kind{plain}, Version{0, 9, 0}},
	{"--level-prefix", nil, Version{0, 11, 0}},
	{"--not-a-security-boundary", nil, Version{0, 12, 0}},

	{"--unshare-all", nil, Version{0, 1, 7}},
	{"--share-net", nil, Version{0, 1, 7}},
	{"--unshare-user", nil, Version{0, 1, 0}},
	{"--unshare-user-try", nil, Version{0, 1, 0}},
	{"--unshare-ipc", nil, Version{0, 1, 0}},
	{"--unshare-pid", nil, Version{0, 1, 0}},
	{"--unshare-net", nil, Version{0, 1, 0}},
	{"--unshare-uts", nil, Version{0, 1, 0}},
	{"--unshare-cgroup", nil, Version{0, 1, 0}},
	{"--unshare-cgroup-try", nil, Version{0, 1, 0}},
	{"--userns", []kind{descriptor}, Version{0, 4, 0}},
	{"--userns2", []kind{descriptor}, Version{0, 4, 0}},
	{"--pidns", []kind{descriptor}, Version{0, 4, 0}},
	{"--netns", []kind{descriptor}, Version{0, 13, 0}},
	{"--disable-userns", nil, Version{0, 8, 0}},
	{"--assert-userns-disabled", nil, Version{0, 8, 0}},
	{"--uid", []kind{number}, Version{0, 1, 0}},
	{"--gid", []kind{number}, Version{0, 1, 0}},
	{"--hostname", []kind{plain}, Version{0, 1, 2}},

	{"--chdir", []kind{plain}, Version{0, 1, 0}},
	{"--setenv", []kind{plain, plain}, Version{0, 1, 0}},
	{"--unsetenv", []kind{plain}, Version{0, 1, 0}},
	{"--clearenv", nil, Version{0, 5, 0}},
	{"--lock-file", []kind{plain}, Version{0, 1, 0}},
	{"--sync-fd", []kind{descriptor}, Version{0, 1, 0}},

	{"--bind", []kind{source, dest}, Version{0, 1, 0}},
	{"--bind-try", []kind{source, dest}, Version{0, 3, 1}},
	{"--dev-bind", []kind{source, dest}, Version{0, 1, 0}},
	{"--dev-bind-try", []kind{source, dest}, Version{0, 3, 1}},
	{"--ro-bind", []kind{source, dest}, Version{0, 1, 0}},
	{"--ro-bind-try", []kind{source, dest}, Version{0, 3, 1}},
	{"--bind-fd", []kind{descriptor, dest}, Version{0, 10, 0}},
	{"--ro-bind-fd", []kind{descriptor, dest}, Version{0, 10, 0}},
	{"--remount-ro", []kind{dest}, Version{0, 1, 2}},
	{"--overlay-src", []kind{source}, Version{0, 11, 0}},
	{"--overlay", []kind{source, source, dest}, Version{0, 11, 0}},
	{"--tmp-overlay", []kind{dest}, Version{0, 11, 0}},
	{"--ro-overlay", []kind{dest}, Version{0, 11, 0}},
	{"--exec-label", []kind{plain}, Version{0, 1, 0}},
	{"--file-label", []kind{plain}, Version{0, 1, 0}},
	{"--proc", []kind{dest}, Version{0, 1, 0}},
	{"--dev", []kind{dest}, Version{0, 1, 0}},
	{"--tmpfs", []kind{dest}, Version{0, 1, 0}},
	{"--mqueue", []kind{dest}, Version{0, 1, 0}},
	{"--dir", []kind{dest}, Version{0, 1, 0}},
	{"--file", []kind{descriptor, dest}, Version{0, 1, 0}},
	{"--bind-data", []kind{descriptor, dest}, Version{0, 1, 0}},
	{"--ro-bind-data", []kind{descriptor, dest}, Version{0, 1, 2}},
	{"--symlink", []kind{plain, dest}, Version{0, 1, 0}},
	{"--perms", []kind{octal}, Version{0, 5, 0}},
	{"--size", []kind{amount}, Version{0, 7, 0}},
	{"--chmod", []kind{octal, dest}, Version{0, 5, 0}},

	{"--seccomp", []kind{descriptor}, Version{0, 1, 0}},
	{"--add-seccomp-fd", []kind{descriptor}, Version{0, 6, 0}},
	{"--block-fd", []kind{descriptor}, Version{0, 1, 2}},
	{"--userns-block-fd", []kind{descriptor}, Version{0, 2, 0}},
	{"--info-fd", []kind{descriptor}, Version{0, 1, 2}},
	{"--json-status-fd", []kind{descriptor}, Version{0, 3, 3}},
	{"--new-session", nil, Version{0, 1, 7}},
	{"--die-with-parent", nil, Version{0, 1, 8}},
	{"--as-pid-1", nil, Version{0, 2, 0}},
	{"--cap-add", []kind{capability}, Version{0, 2, 0}},
	{"--cap-drop", []kind{capability}, Version{0, 2, 0}},
}

// optionNamed is the option of that name.
func optionNamed(name string) (option, bool) {
	for _, o := range options {
		if o.name == name {
			return o, true
		}
	}
	return option{}, false
}

// maxWords is how many arguments bwrap takes, those behind --args included ("Exceeded
// maximum number of arguments 9000").
const maxWords = 9000

// maxTmpfs bounds --size: half of what a size_t holds.
const maxTmpfs = 1<<63 - 1

// capabilityNames are the capabilities of capabilities(7), Linux 6.12.
var capabilityNames = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER",
	"CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE",
	"CAP_SYS_RESOURCE", "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL", "CAP_SETFCAP",
	"CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
}
