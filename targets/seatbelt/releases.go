package seatbelt

// release is a column of the operation table.
type release int

// The releases whose tables are known. For macOS 15 and 26 none has been
// published; operations new there are reached by (deny default) or not at all.
const (
	catalina release = iota // 10.15
	monterey                // 12.5
	ventura                 // 13.0
	sonoma                  // 14.4

	numReleases = iota
)

func (r release) String() string { return [...]string{"10.15", "12.5", "13.0", "14.4"}[r] }

// operation is one row: its name and, for each release, the operation whose rules
// decide when its own do not ("" where the release lacks it; "allow" and "deny"
// where it ends in a decision of its own and (deny default) is never asked).
// Open tells that the version 1 library allows it, from 12 on, before the first
// rule of a profile is read.
type operation struct {
	Name   string
	Parent parents
	Open   bool
}

// parents has one name for each release.
type parents [numReleases]string

// in reports whether release r has the operation.
func (o operation) in(r release) bool { return o.Parent[r] != "" }

// everywhere reports whether every release has the operation, so that its name may
// stand in a profile without a guard: an unbound name fails the whole profile.
func (o operation) everywhere() bool {
	for r := range numReleases {
		if !o.in(release(r)) {
			return false
		}
	}
	return true
}

// leftOpen reports whether (deny default) fails to reach the operation in some
// release.
func (o operation) leftOpen() bool {
	for r := range numReleases {
		if o.Parent[r] == "allow" {
			return true
		}
	}
	return o.Open
}

var operationIndex = func() map[string]operation {
	index := make(map[string]operation, len(operations))
	for _, o := range operations {
		index[o.Name] = o
	}
	return index
}()

func operationNamed(name string) (operation, bool) {
	o, ok := operationIndex[name]
	return o, ok
}

// operations is every operation of the supported releases. Sources: the libsandbox
// tables of 10.15 in 0xbf00/simbple, those of 12.5 and 13.0 in blacktop/ipsw
// (pkg/sandbox/data before 29c97ae50), the names of 14.4 in Protonk/SANDBOX_LORE;
// parents of names new in 14.4 are read off their spelling. Open is from the
// compiled operation tables of sample.sb and bsd.sb on 14.4.1 (SANDBOX_LORE).
var operations = []operation{
	{"default", parents{"deny", "deny", "deny", "deny"}, false},
	{"appleevent-send", parents{"default", "default", "default", "default"}, false},
	{"authorization-right-obtain", parents{"default", "default", "default", "default"}, false},
	{"boot-arg-set", parents{"default", "default", "default", "default"}, false},
	{"darwin-notification-post", parents{"allow", "default", "default", "default"}, true},
	{"default-message-filter", parents{"", "allow", "allow", "allow"}, false},
	{"device*", parents{"default", "default", "default", "default"}, false},
	{"device-camera", parents{"device*", "device*", "device*", "device*"}, false},
	{"device-microphone", parents{"device*", "device*", "device*", "device*"}, false},
	{"distributed-notification-post", parents{"default", "default", "default", "default"}, false},
	{"dynamic-code-generation", parents{"allow", "default", "default", "default"}, true},
	{"file*", parents{"default", "default", "default", "default"}, false},
	{"file-chroot", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-clone", parents{"allow", "file*", "file*", "file*"}, true},
	{"file-ioctl", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-issue-extension", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-link", parents{"allow", "file*", "file*", "file*"}, true},
	{"file-lock", parents{"", "", "", "file*"}, true},
	{"file-map-executable", parents{"allow", "file*", "file*", "file*"}, true},
	{"file-mknod", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-mount", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-mount-update", parents{"file-mount", "file-mount", "file-mount", "file-mount"}, false},
	{"file-read*", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-read-data", parents{"file-read*", "file-read*", "file-read*", "file-read*"}, false},
	{"file-read-metadata", parents{"file-read*", "file-read*", "file-read*", "file-read*"}, false},
	{"file-read-xattr", parents{"file-read*", "file-read*", "file-read*", "file-read*"}, false},
	{"file-revoke", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-search", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-test-existence", parents{"allow", "file*", "file*", "file*"}, true},
	{"file-unmount", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-write*", parents{"file*", "file*", "file*", "file*"}, false},
	{"file-write-acl", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-create", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-data", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-finderinfo", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-flags", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-mode", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-owner", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-setugid", parents{"deny", "deny", "deny", "deny"}, false},
	{"file-write-times", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-unlink", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"file-write-xattr", parents{"file-write*", "file-write*", "file-write*", "file-write*"}, false},
	{"fs-quota*", parents{"", "default", "default", "default"}, true},
	{"fs-quota-get", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-quota-off", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-quota-on", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-quota-set*", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-quota-set-limits", parents{"", "fs-quota-set*", "fs-quota-set*", "fs-quota-set*"}, false},
	{"fs-quota-set-usage", parents{"", "fs-quota-set*", "fs-quota-set*", "fs-quota-set*"}, false},
	{"fs-quota-stat", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-quota-sync", parents{"", "fs-quota*", "fs-quota*", "fs-quota*"}, false},
	{"fs-rename", parents{"default", "default", "default", "default"}, false},
	{"fs-snapshot*", parents{"default", "default", "default", "default"}, false},
	{"fs-snapshot-create", parents{"fs-snapshot*", "fs-snapshot*", "fs-snapshot*", "fs-snapshot*"}, false},
	{"fs-snapshot-delete", parents{"fs-snapshot*", "fs-snapshot*", "fs-snapshot*", "fs-snapshot*"}, false},
	{"fs-snapshot-mount", parents{"", "fs-snapshot*", "fs-snapshot*", "fs-snapshot*"}, true},
	{"fs-snapshot-revert", parents{"fs-snapshot*", "fs-snapshot*", "fs-snapshot*", "fs-snapshot*"}, false},
	{"generic-issue-extension", parents{"default", "default", "default", "default"}, false},
	{"hid-control", parents{"default", "default", "default", "default"}, false},
	{"iokit*", parents{"default", "default", "default", "default"}, false},
	{"iokit-async-external-method", parents{"", "default-message-filter", "default-message-filter", "default-message-filter"}, true},
	{"iokit-external-method", parents{"", "default-message-filter", "default-message-filter", "default-message-filter"}, false},
	{"iokit-external-trap", parents{"", "default-message-filter", "default-message-filter", "default-message-filter"}, false},
	{"iokit-get-properties", parents{"allow", "iokit*", "iokit*", "iokit*"}, true},
	{"iokit-issue-extension", parents{"iokit*", "iokit*", "iokit*", "iokit*"}, false},
	{"iokit-open", parents{"iokit*", "", "", ""}, false},
	{"iokit-open*", parents{"", "iokit*", "iokit*", "iokit*"}, false},
	{"iokit-open-service", parents{"", "iokit-open*", "iokit-open*", "iokit-open*"}, true},
	{"iokit-open-user-client", parents{"", "iokit-open*", "iokit-open*", "iokit-open*"}, false},
	{"iokit-set-properties", parents{"iokit*", "iokit*", "iokit*", "iokit*"}, false},
	{"ipc*", parents{"default", "default", "default", "default"}, false},
	{"ipc-posix*", parents{"ipc*", "ipc*", "ipc*", "ipc*"}, false},
	{"ipc-posix-issue-extension", parents{"ipc-posix*", "ipc-posix*", "ipc-posix*", "ipc-posix*"}, false},
	{"ipc-posix-sem*", parents{"ipc-posix*", "ipc-posix*", "ipc-posix*", "ipc-posix*"}, false},
	{"ipc-posix-sem-create", parents{"ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*"}, false},
	{"ipc-posix-sem-open", parents{"ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*"}, false},
	{"ipc-posix-sem-post", parents{"ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*"}, false},
	{"ipc-posix-sem-unlink", parents{"ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*"}, false},
	{"ipc-posix-sem-wait", parents{"ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*", "ipc-posix-sem*"}, false},
	{"ipc-posix-shm*", parents{"ipc-posix*", "ipc-posix*", "ipc-posix*", "ipc-posix*"}, false},
	{"ipc-posix-shm-read-data", parents{"ipc-posix-shm*", "ipc-posix-shm*", "ipc-posix-shm*", "ipc-posix-shm*"}, false},
	{"ipc-posix-shm-write*", parents{"ipc-posix-shm*", "ipc-posix-shm*", "ipc-posix-shm*", "ipc-posix-shm*"}, false},
	{"ipc-posix-shm-write-create", parents{"ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*"}, false},
	{"ipc-posix-shm-write-data", parents{"ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*"}, false},
	{"ipc-posix-shm-write-unlink", parents{"ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*", "ipc-posix-shm-write*"}, false},
	{"ipc-sysv*", parents{"ipc*", "ipc*", "ipc*", "ipc*"}, false},
	{"ipc-sysv-msg", parents{"ipc-sysv*", "ipc-sysv*", "ipc-sysv*", "ipc-sysv*"}, false},
	{"ipc-sysv-sem", parents{"ipc-sysv*", "ipc-sysv*", "ipc-sysv*", "ipc-sysv*"}, false},
	{"ipc-sysv-shm", parents{"ipc-sysv*", "ipc-sysv*", "ipc-sysv*", "ipc-sysv*"}, false},
	{"job-creation", parents{"deny", "deny", "deny", "deny"}, false},
	{"load-unsigned-code", parents{"default", "", "", ""}, false},
	{"lsopen", parents{"default", "default", "default", "default"}, false},
	{"mach*", parents{"default", "default", "default", "default"}, false},
	{"mach-bootstrap", parents{"", "mach*", "mach*", "mach*"}, true},
	{"mach-cross-domain-lookup", parents{"allow", "mach*", "mach*", "mach*"}, true},
	{"mach-derive-port", parents{"", "allow", "allow", "allow"}, false},
	{"mach-host*", parents{"mach*", "mach*", "mach*", "mach*"}, false},
	{"mach-host-exception-port-set", parents{"mach-host*", "mach-host*", "mach-host*", "mach-host*"}, false},
	{"mach-host-special-port-set", parents{"mach-host*", "mach-host*", "mach-host*", "mach-host*"}, false},
	{"mach-issue-extension", parents{"mach*", "mach*", "mach*", "mach*"}, false},
	{"mach-kernel-endpoint", parents{"", "mach*", "allow", "allow"}, false},
	{"mach-lookup", parents{"mach*", "mach*", "mach*", "mach*"}, false},
	{"mach-message-send", parents{"", "default-message-filter", "default-message-filter", "default-message-filter"}, false},
	{"mach-priv*", parents{"mach*", "mach*", "mach*", "mach*"}, false},
	{"mach-priv-host-port", parents{"mach-priv*", "mach-priv*", "mach-priv*", "mach-priv*"}, false},
	{"mach-priv-task-port", parents{"mach-priv*", "mach-priv*", "mach-priv*", "mach-priv*"}, false},
	{"mach-register", parents{"mach*", "mach*", "mach*", "mach*"}, false},
	{"mach-task*", parents{"", "mach-priv-task-port", "mach-priv-task-port", "mach-priv-task-port"}, false},
	{"mach-task-inspect", parents{"", "mach-task-read", "mach-task-read", "mach-task-read"}, false},
	{"mach-task-name", parents{"mach*", "mach-task-inspect", "mach-task-inspect", "mach-task-inspect"}, false},
	{"mach-task-read", parents{"", "mach-task*", "mach-task*", "mach-task*"}, false},
	{"mach-task-special-port*", parents{"", "", "mach-task*", "mach-task*"}, true},
	{"mach-task-special-port-get", parents{"", "", "mach-task-special-port*", "mach-task-special-port*"}, false},
	{"mach-task-special-port-set", parents{"", "", "mach-task-special-port*", "mach-task-special-port*"}, false},
	{"managed-preference-read", parents{"user-preference-read", "user-preference-read", "user-preference-read", "user-preference-read"}, false},
	{"necp-client-open", parents{"", "default", "default", "default"}, true},
	{"network*", parents{"default", "default", "default", "default"}, false},
	{"network-bind", parents{"network-inbound", "network-inbound", "network-inbound", "network-inbound"}, false},
	{"network-inbound", parents{"network*", "network*", "network*", "network*"}, false},
	{"network-outbound", parents{"network*", "network*", "network*", "network*"}, false},
	{"nvram*", parents{"allow", "default", "default", "default"}, true},
	{"nvram-delete", parents{"nvram*", "nvram*", "nvram*", "nvram*"}, false},
	{"nvram-get", parents{"nvram*", "nvram*", "nvram*", "nvram*"}, false},
	{"nvram-set", parents{"nvram*", "nvram*", "nvram*", "nvram*"}, false},
	{"opendirectory-user-modify", parents{"default", "default", "default", "default"}, false},
	{"process*", parents{"default", "default", "default", "default"}, false},
	{"process-codesigning", parents{"", "", "", "process*"}, true},
	{"process-codesigning*", parents{"", "process*", "process*", ""}, false},
	{"process-codesigning-blob-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-cdhash-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-entitlements-blob-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-entitlements-der-blob-get", parents{"", "process-codesigning-entitlements-blob-get", "process-codesigning-entitlements-blob-get", ""}, false},
	{"process-codesigning-identity-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-status*", parents{"process*", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-status-get", parents{"process-codesigning-status*", "process-codesigning-status*", "process-codesigning-status*", ""}, false},
	{"process-codesigning-status-set", parents{"process-codesigning-status*", "process-codesigning-status*", "process-codesigning-status*", ""}, false},
	{"process-codesigning-teamid-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-codesigning-text-offset-get", parents{"", "process-codesigning*", "process-codesigning*", ""}, false},
	{"process-exec*", parents{"process*", "process*", "process*", "process*"}, false},
	{"process-exec-interpreter", parents{"process-exec*", "process-exec*", "process-exec*", "process-exec*"}, false},
	{"process-exec-update-label", parents{"", "", "", "process*"}, false},
	{"process-fork", parents{"process*", "process*", "process*", "process*"}, false},
	{"process-info*", parents{"allow", "process*", "process*", "process*"}, true},
	{"process-info-codesignature", parents{"allow", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-dirtycontrol", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-ledger", parents{"", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-listpids", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-pidfdinfo", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-pidfileportinfo", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-pidinfo", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-rusage", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-info-setcontrol", parents{"process-info*", "process-info*", "process-info*", "process-info*"}, false},
	{"process-legacy-codesigning*", parents{"", "", "", "process*"}, true},
	{"process-legacy-codesigning-blob-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-cdhash-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-entitlements-blob-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-entitlements-der-blob-get", parents{"", "", "", "process-legacy-codesigning-entitlements-blob-get"}, false},
	{"process-legacy-codesigning-identity-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-status*", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-status-get", parents{"", "", "", "process-legacy-codesigning-status*"}, false},
	{"process-legacy-codesigning-status-set", parents{"", "", "", "process-legacy-codesigning-status*"}, false},
	{"process-legacy-codesigning-teamid-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"process-legacy-codesigning-text-offset-get", parents{"", "", "", "process-legacy-codesigning*"}, false},
	{"pseudo-tty", parents{"default", "default", "default", "default"}, false},
	{"qtn-user", parents{"default", "default", "default", "default"}, false},
	{"signal", parents{"default", "default", "default", "default"}, false},
	{"socket-ioctl", parents{"allow", "default", "default", "default"}, true},
	{"socket-option*", parents{"", "default", "default", "default"}, false},
	{"socket-option-get", parents{"", "socket-option*", "socket-option*", "socket-option*"}, true},
	{"socket-option-set", parents{"", "socket-option*", "socket-option*", "socket-option*"}, true},
	{"storage-class-map", parents{"deny", "deny", "deny", "deny"}, false},
	{"syscall*", parents{"", "default", "default", "default"}, false},
	{"syscall-mach", parents{"", "syscall*", "syscall*", "syscall*"}, true},
	{"syscall-mig", parents{"", "", "", "syscall*"}, true},
	{"syscall-unix", parents{"allow", "syscall*", "syscall*", "syscall*"}, true},
	{"sysctl*", parents{"default", "default", "default", "default"}, false},
	{"sysctl-read", parents{"sysctl*", "sysctl*", "sysctl*", "sysctl*"}, false},
	{"sysctl-write", parents{"sysctl*", "sysctl*", "sysctl*", "sysctl*"}, false},
	{"system*", parents{"default", "default", "default", "default"}, false},
	{"system-acct", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-audit", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-automount", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-debug", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-fcntl", parents{"", "system*", "system*", "system*"}, true},
	{"system-fsctl", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-info", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-kas-info", parents{"", "", "", "system*"}, false},
	{"system-kext*", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-kext-load", parents{"system-kext*", "system-kext*", "system-kext*", "system-kext*"}, false},
	{"system-kext-query", parents{"system-kext*", "system-kext*", "system-kext*", "system-kext*"}, false},
	{"system-kext-unload", parents{"system-kext*", "system-kext*", "system-kext*", "system-kext*"}, false},
	{"system-mac*", parents{"", "system*", "system*", "system*"}, false},
	{"system-mac-label", parents{"system*", "system-mac*", "system-mac*", "system-mac*"}, false},
	{"system-mac-syscall", parents{"", "system-mac*", "system-mac*", "system-mac*"}, true},
	{"system-memorystatus-control", parents{"", "system*", "system*", "system*"}, true},
	{"system-necp-client-action", parents{"", "system*", "system*", "system*"}, true},
	{"system-nfssvc", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-package-check", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-privilege", parents{"allow", "allow", "allow", "allow"}, false},
	{"system-reboot", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-sched", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-set-time", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-socket", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-suspend-resume", parents{"system*", "system*", "system*", "system*"}, false},
	{"system-swap", parents{"system*", "system*", "system*", "system*"}, false},
	{"user-preference*", parents{"default", "default", "default", "default"}, false},
	{"user-preference-read", parents{"user-preference*", "user-preference*", "user-preference*", "user-preference*"}, false},
	{"user-preference-write", parents{"user-preference*", "user-preference*", "user-preference*", "user-preference*"}, false},
	{"xpc-message-send", parents{"", "default-message-filter", "default-message-filter", "default-message-filter"}, false},
}
