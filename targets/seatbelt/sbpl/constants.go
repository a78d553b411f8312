package sbpl

import (
	"strconv"
	"strings"
	"sync"
)

// Constant is a named argument of a filter or modifier, such as DIRECTORY.
type Constant struct{ Name string }

func (c Constant) String() string { return c.Name }

// family is the constants of some filters. names are words, "NAME" or
// "NAME=number"; numbers are those of macOS's public headers. Where the published
// tables name only some, prefix (or open, where they have none) admits the others.
type family struct {
	filters string
	names   string
	prefix  string
	open    bool
}

var families = []family{
	{filters: "protocol", names: "ip ip4 ip6 tcp tcp4 tcp6 udp udp4 udp6 unix-socket unix"},
	{filters: "vnode-type", names: "REGULAR-FILE DIRECTORY BLOCK-DEVICE CHARACTER-DEVICE SYMLINK SOCKET FIFO TTY"},
	{filters: "target", names: "self pgrp others children same-sandbox initproc"},
	{filters: "semaphore-owner", names: "self pgrp others children same-sandbox initproc platform-binary"},
	{filters: "system-attribute", names: "apple-internal sandbox-debug-mode factory-build internal-build carrier-build bats-environment recovery-os developer-mode"},
	{filters: "process-attribute", names: "is-plugin is-installer is-restricted is-initproc is-platform-binary is-sandboxed is-nvram-privileged " +
		"is-sandcastle-constrained is-datavault-controller is-apple-signed-executable is-catalyst-binary is-translated-binary is-protoboxed is-rsr-binary"},
	{filters: "csr", names: "CSR_ALLOW_UNTRUSTED_KEXTS CSR_ALLOW_UNRESTRICTED_FS CSR_ALLOW_TASK_FOR_PID CSR_ALLOW_KERNEL_DEBUGGER CSR_ALLOW_APPLE_INTERNAL " +
		"CSR_ALLOW_UNRESTRICTED_DTRACE CSR_ALLOW_UNRESTRICTED_NVRAM CSR_ALLOW_DEVICE_CONFIGURATION CSR_ALLOW_ANY_RECOVERY_OS CSR_ALLOW_UNAPPROVED_KEXTS " +
		"CSR_ALLOW_EXECUTABLE_POLICY_OVERRIDE CSR_ALLOW_UNAUTHENTICATED_ROOT"},
	{filters: "persona-type", names: "PERSONA_INVALID PERSONA_GUEST PERSONA_MANAGED PERSONA_PRIV PERSONA_SYSTEM PERSONA_DEFAULT PERSONA_ENTERPRISE"},
	{filters: "iokit-registry-entry-attribute", names: "ioservice-requires-approval"},
	{filters: "task-special-port", names: "TASK_KERNEL_PORT TASK_HOST_PORT TASK_NAME_PORT TASK_BOOTSTRAP_PORT TASK_INSPECT_PORT TASK_READ_PORT TASK_ACCESS_PORT " +
		"TASK_DEBUG_CONTROL_PORT TASK_RESOURCE_NOTIFY_PORT"},
	{filters: "socket-domain", prefix: "AF_", names: "AF_UNSPEC=0 AF_UNIX=1 AF_LOCAL=1 AF_INET=2 AF_IMPLINK=3 AF_PUP=4 AF_CHAOS=5 AF_NS=6 AF_ISO=7 AF_OSI=7 AF_ECMA=8 " +
		"AF_DATAKIT=9 AF_CCITT=10 AF_SNA=11 AF_DECnet=12 AF_DLI=13 AF_LAT=14 AF_HYLINK=15 AF_APPLETALK=16 AF_ROUTE=17 AF_LINK=18 AF_COIP=20 AF_CNT=21 " +
		"AF_IPX=23 AF_SIP=24 AF_NDRV=27 AF_ISDN=28 AF_E164=28 AF_INET6=30 AF_NATM=31 AF_SYSTEM=32 AF_NETBIOS=33 AF_PPP=34 AF_IEEE80211=37 AF_UTUN=38 " +
		"AF_MULTIPATH=39 AF_VSOCK=40"},
	{filters: "socket-type", names: "SOCK_STREAM=1 SOCK_DGRAM=2 SOCK_RAW=3 SOCK_RDM=4 SOCK_SEQPACKET=5"},
	{filters: "signal-number send-signal", names: "SIGHUP=1 SIGINT=2 SIGQUIT=3 SIGILL=4 SIGTRAP=5 SIGABRT=6 SIGIOT=6 SIGEMT=7 SIGFPE=8 SIGKILL=9 SIGBUS=10 SIGSEGV=11 " +
		"SIGSYS=12 SIGPIPE=13 SIGALRM=14 SIGTERM=15 SIGURG=16 SIGSTOP=17 SIGTSTP=18 SIGCONT=19 SIGCHLD=20 SIGTTIN=21 SIGTTOU=22 SIGIO=23 SIGXCPU=24 " +
		"SIGXFSZ=25 SIGVTALRM=26 SIGPROF=27 SIGWINCH=28 SIGINFO=29 SIGUSR1=30 SIGUSR2=31"},
	{filters: "socket-protocol", names: ""},
	{filters: "fsctl-command", prefix: "FSIOC_", names: "FSIOC_SYNC_VOLUME FSIOC_SET_PACKAGE_EXTS FSIOC_UNSUPPORTED FSIOC_SET_FSTYPENAME_OVERRIDE FSIOC_ROUTEFS_SETROUTEID", open: true},
	{filters: "ioctl-command", names: "CTLIOCGCOUNT CTLIOCGINFO DKIOCEJECT DKIOCSYNCHRONIZE DKIOCSYNCHRONIZECACHE", open: true},
	{filters: "privilege-id", prefix: "PRIV_", names: "PRIV_ADJTIME=1000 PRIV_PROC_UUID_POLICY=1001 PRIV_GLOBAL_PROC_INFO=1002 PRIV_SYSTEM_OVERRIDE=1003 PRIV_HW_DEBUG_DATA=1004"},
	{filters: "host-special-port", prefix: "HOST_", names: "HOST_DYNAMIC_PAGER_PORT HOST_AUDIT_CONTROL_PORT HOST_USER_NOTIFICATION_PORT HOST_AUTOMOUNTD_PORT HOST_LOCKD_PORT"},
	{filters: "file-attribute", names: "sip-protected datavault time-machine-backup time-machine-device local-filesystem", open: true},
	{filters: "iokit-usb-interface-class", prefix: "kUSB", names: "kUSBAudioInterfaceClass kUSBCommunicationControlInterfaceClass kUSBHIDInterfaceClass " +
		"kUSBPhysicalInterfaceClass kUSBImageInterfaceClass"},
	{filters: "iokit-usb-interface-subclass", prefix: "kUSB", names: "kUSBCompositeSubClass kUSBHubSubClass kUSBRFControllerSubClass kUSBVideoControlSubClass kUSBCommDirectLineSubClass"},
	{filters: "syscall-number", prefix: "SYS_", names: "SYS_syscall=0 SYS_exit=1 SYS_fork=2 SYS_read=3 SYS_write=4"},
	{filters: "machtrap-number", prefix: "MSC_", names: "MSC__kernelrpc_mach_vm_allocate_trap MSC__kernelrpc_mach_vm_purgable_control_trap MSC__kernelrpc_mach_vm_deallocate_trap " +
		"MSC_task_dyld_process_info_notify_get MSC__kernelrpc_mach_vm_protect_trap"},
	{filters: "kernel-mig-routine", names: "host_info host_kernel_version host_page_size mach_memory_object_memory_entry host_processor_info", open: true},
	{filters: "fcntl-command", prefix: "F_", names: "F_DUPFD=0 F_GETFD=1 F_SETFD=2 F_GETFL=3 F_SETFL=4"},
	{filters: "socket-option-level", prefix: "IPPROTO_", names: "IPPROTO_IP=0 IPPROTO_HOPOPTS=0 IPPROTO_ICMP=1 IPPROTO_IGMP=2 IPPROTO_GGP=3 SOL_SOCKET", open: true},
	{filters: "socket-option-name", prefix: "SO_", names: "SO_DEBUG SO_ACCEPTCONN SO_REUSEADDR SO_KEEPALIVE SO_DONTROUTE", open: true},
	{filters: "necp-client-action", prefix: "NECP_CLIENT_ACTION_", names: "NECP_CLIENT_ACTION_ADD NECP_CLIENT_ACTION_REMOVE NECP_CLIENT_ACTION_COPY_PARAMETERS " +
		"NECP_CLIENT_ACTION_COPY_RESULT NECP_CLIENT_ACTION_COPY_LIST"},
	{filters: "memorystatus-control-command", prefix: "MEMORYSTATUS_CMD_", names: "MEMORYSTATUS_CMD_GET_PRIORITY_LIST MEMORYSTATUS_CMD_SET_PRIORITY_PROPERTIES " +
		"MEMORYSTATUS_CMD_GET_JETSAM_SNAPSHOT MEMORYSTATUS_CMD_GET_PRESSURE_STATUS MEMORYSTATUS_CMD_SET_JETSAM_HIGH_WATER_MARK"},
	{filters: "errno", names: numbered("EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EDEADLK ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV " +
		"ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EAGAIN EINPROGRESS EALREADY ENOTSOCK EDESTADDRREQ " +
		"EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT ENOTSUP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET " +
		"ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED ELOOP ENAMETOOLONG EHOSTDOWN EHOSTUNREACH ENOTEMPTY EPROCLIM " +
		"EUSERS EDQUOT ESTALE EREMOTE EBADRPC ERPCMISMATCH EPROGUNAVAIL EPROGMISMATCH EPROCUNAVAIL ENOLCK ENOSYS EFTYPE EAUTH ENEEDAUTH EPWROFF EDEVERR EOVERFLOW")},
}

// numbered gives the words the numbers 1, 2, 3, …: errno.h has no gaps.
func numbered(words string) string {
	list := strings.Fields(words)
	for i := range list {
		list[i] += "=" + strconv.Itoa(i+1)
	}
	return strings.Join(list, " ")
}

// familyOf is the constants that a filter or modifier takes.
type familyOf struct {
	numbers map[string]int64 // -1: the number is not known here
	prefix  string
	open    bool
}

var familyIndex = sync.OnceValue(func() map[string]familyOf {
	out := map[string]familyOf{}
	for _, f := range families {
		entry := familyOf{numbers: map[string]int64{}, prefix: f.prefix, open: f.open}
		for word := range strings.FieldsSeq(f.names) {
			name, digits, hasNumber := strings.Cut(word, "=")
			entry.numbers[name] = -1
			if hasNumber {
				entry.numbers[name], _ = strconv.ParseInt(digits, 10, 64)
			}
		}
		for name := range strings.FieldsSeq(f.filters) {
			out[name] = entry
		}
	}
	return out
})

// has reports whether the family may have a constant of that name.
func (f familyOf) has(name string) bool {
	_, listed := f.numbers[name]
	return listed || f.open || f.prefix != "" && strings.HasPrefix(name, f.prefix)
}

// number is what a constant or a numeral stands for.
func (f familyOf) number(word string) (int64, bool) {
	if n, listed := f.numbers[word]; listed {
		return n, n >= 0
	}
	n, err := strconv.ParseInt(word, 0, 64)
	return n, err == nil
}

// equal compares two words of a family, each a name or a numeral.
func (f familyOf) equal(a, b string) truth {
	if a == b {
		return yes
	}
	m, knownA := f.number(a)
	n, knownB := f.number(b)
	switch {
	case knownA && knownB:
		return truthOf(m == n)
	case isNumeral(a) || isNumeral(b):
		return unknown // the other is a name whose number is not known here
	}
	return no
}

func isNumeral(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// openConstant gives a value to names that only the whole published tables list.
func openConstant(name string) (Constant, bool) {
	for _, f := range families {
		if f.prefix != "" && strings.HasPrefix(name, f.prefix) {
			return Constant{name}, true
		}
	}
	return Constant{}, false
}
