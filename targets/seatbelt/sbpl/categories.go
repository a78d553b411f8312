package sbpl

import (
	"slices"
	"strings"
	"sync"

	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// Every operation takes filters of these categories.
var everywhere = []string{"extension", "process", "sandbox", "system"}

// categories tells which other categories of filters operations take: the
// libsandbox tables of 13.0 in blacktop/ipsw (pkg/sandbox/data before 29c97ae50).
// Operations that only other releases have are missing; nothing is known of them.
var categories = []struct{ filters, operations string }{
	{"", "default device* device-camera device-microphone dynamic-code-generation fs-rename hid-control iokit* iokit-open* ipc* ipc-sysv* ipc-sysv-msg " +
		"ipc-sysv-sem ipc-sysv-shm job-creation lsopen mach* mach-bootstrap mach-host* mach-host-exception-port-set mach-priv* mach-priv-host-port " +
		"necp-client-open opendirectory-user-modify process* process-fork process-info* process-info-listpids pseudo-tty syscall* system* system-acct " +
		"system-audit system-kext* system-kext-query system-mac* system-mac-label system-nfssvc system-package-check system-set-time system-suspend-resume " +
		"system-swap default-message-filter"},
	{"ae-destination", "appleevent-send"},
	{"auth-right-name", "authorization-right-obtain"},
	{"boot-arg", "boot-arg-set"},
	{"notification", "darwin-notification-post distributed-notification-post"},
	{"path file-mode vnode-type device fs", "file* file-chroot file-clone file-link file-map-executable file-mknod file-mount file-mount-update file-read* file-read-data file-read-metadata " +
		"file-revoke file-search file-test-existence file-unmount file-write* file-write-acl file-write-create file-write-data file-write-finderinfo " +
		"file-write-flags file-write-mode file-write-owner file-write-setugid file-write-times file-write-unlink"},
	{"path file-mode vnode-type device fs ioctl", "file-ioctl"},
	{"path file-mode vnode-type device fs extension-class", "file-issue-extension"},
	{"path file-mode vnode-type device fs xattr", "file-read-xattr file-write-xattr"},
	{"fs", "fs-quota* fs-quota-get fs-quota-on fs-quota-off fs-quota-set* fs-quota-set-limits fs-quota-set-usage fs-quota-stat fs-quota-sync"},
	{"fs snapshot", "fs-snapshot* fs-snapshot-create fs-snapshot-delete fs-snapshot-mount fs-snapshot-revert"},
	{"extension-class", "generic-issue-extension iokit-issue-extension"},
	{"path", "qtn-user system-automount storage-class-map"},
	{"iokit-property iokit-registry-entry-class", "iokit-get-properties iokit-set-properties"},
	{"iokit-registry-entry-class", "iokit-open-user-client"},
	{"iokit-registry-entry-class iokit-user-client-type", "iokit-open-service"},
	{"posix-ipc", "ipc-posix* ipc-posix-shm* ipc-posix-shm-read-data ipc-posix-shm-write* ipc-posix-shm-write-create ipc-posix-shm-write-data ipc-posix-shm-write-unlink"},
	{"posix-ipc extension-class", "ipc-posix-issue-extension"},
	{"posix-ipc semaphore", "ipc-posix-sem* ipc-posix-sem-create ipc-posix-sem-open ipc-posix-sem-post ipc-posix-sem-unlink ipc-posix-sem-wait"},
	{"mach", "mach-cross-domain-lookup mach-kernel-endpoint mach-lookup mach-register"},
	{"mach mach-port-role", "mach-derive-port"},
	{"host-special-port", "mach-host-special-port-set"},
	{"mach extension-class", "mach-issue-extension"},
	{"target", "mach-priv-task-port mach-task* mach-task-inspect mach-task-name mach-task-read process-codesigning* process-codesigning-blob-get " +
		"process-codesigning-cdhash-get process-codesigning-entitlements-blob-get process-codesigning-entitlements-der-blob-get " +
		"process-codesigning-identity-get process-codesigning-status* process-codesigning-status-set process-codesigning-status-get " +
		"process-codesigning-teamid-get process-codesigning-text-offset-get process-info-codesignature process-info-dirtycontrol process-info-ledger " +
		"process-info-rusage process-info-pidinfo process-info-pidfdinfo process-info-pidfileportinfo process-info-setcontrol system-debug system-sched"},
	{"target task-special-port", "mach-task-special-port* mach-task-special-port-get mach-task-special-port-set"},
	{"socket network path file-mode vnode-type fs", "network* network-inbound network-bind network-outbound"},
	{"nvram", "nvram* nvram-delete nvram-get nvram-set"},
	{"path file-mode fs", "process-exec* process-exec-interpreter"},
	{"target signal", "signal"},
	{"socket ioctl", "socket-ioctl"},
	{"socket socket-option", "socket-option* socket-option-get socket-option-set"},
	{"syscall", "syscall-unix"},
	{"machtrap", "syscall-mach"},
	{"sysctl", "sysctl* sysctl-read sysctl-write"},
	{"fcntl", "system-fcntl"},
	{"fsctl", "system-fsctl"},
	{"info", "system-info"},
	{"kext-bundle-id", "system-kext-load system-kext-unload"},
	{"macf", "system-mac-syscall"},
	{"memorystatus-control", "system-memorystatus-control"},
	{"necp-client-action", "system-necp-client-action"},
	{"priv", "system-privilege"},
	{"reboot-flags", "system-reboot"},
	{"socket", "system-socket"},
	{"preference-domain", "user-preference* user-preference-read managed-preference-read user-preference-write"},
	{"iokit-method-filter", "iokit-async-external-method iokit-external-method"},
	{"iokit-trap-filter", "iokit-external-trap"},
	{"mach-message-filter", "mach-message-send xpc-message-send"},
}

// byOperation maps each operation to its own categories.
var byOperation = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, row := range categories {
		filters := append(strings.Fields(row.filters), everywhere...)
		for op := range strings.FieldsSeq(row.operations) {
			out[op] = filters
		}
	}
	return out
})

// takes reports whether filters of a category can match requests of an operation.
// What is not known to be false is taken to be true.
func takes(op, category string) bool {
	filters, known := byOperation()[op]
	return !known || slices.Contains(filters, category)
}

// usable reports whether a rule on op may have filters of a category: those of the
// operation itself and of all below it.
func usable(op, category string, r operations.Release) bool {
	if takes(op, category) {
		return true
	}
	for _, o := range operations.All() {
		if o.In(r) && takes(o.Name, category) && isBelow(o, op, r) {
			return true
		}
	}
	return false
}

// isBelow reports whether op is an ancestor of o.
func isBelow(o operations.Operation, op string, r operations.Release) bool {
	for {
		parent := o.Parent(r)
		if parent == op {
			return true
		}
		var ok bool
		if o, ok = operations.Named(parent); !ok {
			return false
		}
	}
}
