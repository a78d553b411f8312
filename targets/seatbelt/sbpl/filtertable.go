package sbpl

import "github.com/obspc/obspc/targets/seatbelt/operations"

// kind tells what arguments a filter takes.
type kind uint8

const (
	pattern     kind = iota // strings; -prefix and -regex are filters too
	pathPattern             // likewise, and subpath
	network                 // a protocol and addresses
	enum                    // named constants or numbers
	bits                    // numbers whose bits are looked for
	boolean                 // #t or #f; #t when left out
	text                    // strings
	named                   // strings or numbers
)

// filterSpec is one filter: its name is also the name under which a Context says
// what holds. A filter exists from the release since on, and until the release
// until unless that is 0.
type filterSpec struct {
	name, category string
	kind           kind
	since, until   operations.Release
}

func (f filterSpec) in(r operations.Release) bool {
	return r >= f.since && (f.until == 0 || r <= f.until)
}

// filterTable is every filter of the releases: the libsandbox tables of 10.12 to
// 10.15 (0xbf00/simbple), 12.5 and 13.0 (blacktop/ipsw), the names of 14.4
// (Protonk/SANDBOX_LORE). What 10.12 has is taken to be in 10.9 too, whose Scheme
// front end makes its filters one by one.
var filterTable = []filterSpec{
	{"path", "path", pathPattern, operations.Mavericks, 0},
	{"mount-relative-path", "path", pathPattern, operations.Mavericks, 0},
	{"xattr", "xattr", pattern, operations.Mavericks, 0},
	{"file-mode", "file-mode", bits, operations.Mavericks, 0},
	{"ipc-posix-name", "posix-ipc", pattern, operations.Mavericks, 0},
	{"global-name", "mach", pattern, operations.Mavericks, 0},
	{"local-name", "mach", pattern, operations.Mavericks, 0},
	{"local", "network", network, operations.Mavericks, 0},
	{"remote", "network", network, operations.Mavericks, 0},
	{"control-name", "network", pattern, operations.Mavericks, 0},
	{"socket-domain", "socket", enum, operations.Mavericks, 0},
	{"socket-type", "socket", enum, operations.Mavericks, 0},
	{"socket-protocol", "socket", enum, operations.Mavericks, 0},
	{"target", "target", enum, operations.Mavericks, 0},
	{"fsctl-command", "fsctl", enum, operations.Mavericks, 0},
	{"ioctl-command", "ioctl", enum, operations.Mavericks, 0},
	{"iokit-registry-entry-class", "iokit-registry-entry-class", pattern, operations.Mavericks, 0},
	{"iokit-property", "iokit-property", pattern, operations.Mavericks, 0},
	{"iokit-connection", "iokit-registry-entry-class", pattern, operations.Mavericks, 0},
	{"device-major", "device", enum, operations.Mavericks, 0},
	{"device-minor", "device", enum, operations.Mavericks, 0},
	{"device-conforms-to", "device", text, operations.Mavericks, 0},
	{"extension", "extension", text, operations.Mavericks, 0},
	{"extension-class", "extension-class", pattern, operations.Mavericks, 0},
	{"appleevent-destination", "ae-destination", pattern, operations.Mavericks, 0},
	{"system-attribute", "system", enum, operations.Mavericks, 0},
	{"right-name", "auth-right-name", pattern, operations.Mavericks, 0},
	{"preference-domain", "preference-domain", pattern, operations.Mavericks, 0},
	{"vnode-type", "vnode-type", enum, operations.Mavericks, 0},
	{"%entitlement-load", "process", named, operations.Mavericks, 0},
	{"%entitlement-boolean", "process", boolean, operations.Mavericks, 0},
	{"%entitlement-string", "process", pattern, operations.Mavericks, 0},
	{"kext-bundle-id", "kext-bundle-id", pattern, operations.Mavericks, 0},
	{"info-type", "info", pattern, operations.Mavericks, 0},
	{"notification-name", "notification", pattern, operations.Mavericks, 0},
	{"notification-payload", "notification", boolean, operations.Mavericks, 0},
	{"semaphore-owner", "semaphore", enum, operations.Mavericks, 0},
	{"sysctl-name", "sysctl", pattern, operations.Mavericks, 0},
	{"process-path", "process", pathPattern, operations.Mavericks, 0},
	{"rootless-boot-device-filter", "nvram", boolean, operations.Mavericks, 0},
	{"rootless-disk-filter", "path", boolean, operations.Mavericks, 0},
	{"privilege-id", "priv", enum, operations.Mavericks, 0},
	{"process-attribute", "process", enum, operations.Mavericks, 0},
	{"uid", "process", enum, operations.Mavericks, 0},
	{"nvram-variable", "nvram", pattern, operations.Mavericks, 0},
	{"csr", "system", enum, operations.Mavericks, 0},
	{"host-special-port", "host-special-port", enum, operations.Mavericks, 0},
	{"filesystem-name", "fs", pattern, operations.Mavericks, 0},
	{"boot-arg", "boot-arg", pattern, operations.Mavericks, 0},
	{"xpc-service-name", "mach", pattern, operations.Catalina, 0},
	{"signing-identifier", "process", pattern, operations.Catalina, 0},
	{"signal-number", "signal", enum, operations.Catalina, 0},
	{"target-signing-identifier", "target", pattern, operations.Catalina, 0},
	{"reboot-flags", "reboot-flags", bits, operations.Catalina, 0},
	{"datavault-disk-filter", "path", boolean, operations.Catalina, 0},
	{"extension-path-ancestor", "extension", boolean, operations.Catalina, 0},
	{"file-attribute", "path", enum, operations.Catalina, 0},
	{"storage-class", "path", text, operations.Catalina, 0},
	{"storage-class-extension", "extension", boolean, operations.Catalina, 0},
	{"iokit-usb-interface-class", "iokit-registry-entry-class", enum, operations.Catalina, 0},
	{"iokit-usb-interface-subclass", "iokit-registry-entry-class", enum, operations.Catalina, 0},
	{"ancestor-signing-identifier", "process", pattern, operations.Catalina, 0},
	{"require-ancestor-with-entitlement", "process", named, operations.Catalina, 0},
	{"persona-type", "process", enum, operations.Catalina, 0},
	{"syscall-number", "syscall", enum, operations.Catalina, 0},
	{"require-target-with-entitlement", "target", named, operations.Catalina, 0},
	{"iokit-registry-entry-attribute", "iokit-registry-entry-class", enum, operations.Catalina, 0},
	{"user-intent-extension", "extension", boolean, operations.Catalina, 0},
	{"snapshot-name", "snapshot", pattern, operations.Monterey, 0},
	{"mach-derived-port-role", "mach-port-role", pattern, operations.Monterey, 0},
	{"message-number", "mach-message-filter", enum, operations.Monterey, 0},
	{"message-name", "mach-message-filter", pattern, operations.Monterey, 0},
	{"iokit-method-number", "iokit-method-filter", enum, operations.Monterey, 0},
	{"iokit-trap-number", "iokit-trap-filter", enum, operations.Monterey, 0},
	{"machtrap-number", "machtrap", enum, operations.Monterey, 0},
	{"kernel-mig-routine", "mach-message-filter", enum, operations.Monterey, 0},
	{"iokit-user-client-type", "iokit-user-client-type", enum, operations.Monterey, 0},
	{"fcntl-command", "fcntl", enum, operations.Monterey, 0},
	{"socket-option-level", "socket", enum, operations.Monterey, 0},
	{"socket-option-name", "socket", enum, operations.Monterey, 0},
	{"mac-policy-name", "macf", pattern, operations.Monterey, 0},
	{"mac-syscall-number", "macf", enum, operations.Monterey, 0},
	{"necp-client-action", "necp-client-action", enum, operations.Monterey, 0},
	{"memorystatus-control-command", "memorystatus-control", enum, operations.Monterey, 0},
	{"state-flag", "sandbox", text, operations.Monterey, 0},
	{"require-responsible-binary-with-entitlement", "process", named, operations.Ventura, 0},
	{"%entitlement-is-bool-true", "process", named, operations.Ventura, 0},
	{"%entitlement-is-present", "process", named, operations.Ventura, 0},
	{"task-special-port", "task-special-port", enum, operations.Ventura, 0},
	{"fileprovider-syncroot-path", "path", pathPattern, operations.Sonoma, 0},
	{"mount-root-path", "path", pathPattern, operations.Sonoma, 0},
	{"codesigning-operation", "codesigning", enum, operations.Sonoma, 0},
	{"kas-info-selector", "kas-info", enum, operations.Sonoma, 0},
	{"rootless-file-filter", "path", boolean, operations.Sierra, operations.Sierra},
	{"rootless-proc-filter", "target", boolean, operations.Sierra, operations.Sierra},
	{"syscall-mask", "syscall", named, operations.Catalina, operations.Catalina},
}

// filterAliases are other names of filters and of their derived filters (sbpl1.scm
// 10.15). Those of path itself are made with it.
var filterAliases = []struct{ alias, name string }{
	{"literal", "path"}, {"prefix", "path-prefix"}, {"subpath", "path-subpath"}, {"regex", "path-regex"}, {"path-literal", "path"},
	{"mount-relative-literal", "mount-relative-path"}, {"mount-relative-prefix", "mount-relative-path-prefix"},
	{"mount-relative-subpath", "mount-relative-path-subpath"}, {"mount-relative-regex", "mount-relative-path-regex"},
	{"process-subpath", "process-path-subpath"}, {"process-prefix", "process-path-prefix"},
	{"from", "local"}, {"to", "remote"}, {"mach-extension", "extension"}, {"granted-extensions", "extension"},
	{"iokit-user-client-class", "iokit-registry-entry-class"}, {"iokit-user-client-class-regex", "iokit-registry-entry-class-regex"},
	{"iokit-user-client-class-prefix", "iokit-registry-entry-class-prefix"},
}

// fixedFilters are procedures without arguments that stand for one filter
// (sbpl1.scm 10.15).
var fixedFilters = []struct{ name, filter, constant string }{
	{"tty", "vnode-type", "TTY"}, {"debug-mode", "system-attribute", "sandbox-debug-mode"},
	{"process-is-plugin", "process-attribute", "is-plugin"}, {"process-is-installer", "process-attribute", "is-installer"},
}
