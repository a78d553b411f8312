package proof

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// words are the operations that macOS asks about for a request word about one path,
// from Apple's names of operations and the violations that its log shows. Each must
// be decided as the word is, whatever others the word asks about: so a refused
// write is refused in each of its ways. rename P Q is asked as the removal of P and
// the creation of Q; link P Q as file-link of both names (which of the two is not
// published) and the creation of Q, and as its two parts write P and create Q that
// is what is decided here.
var words = []struct {
	word       ir.RequestKind
	operations []string
}{
	{ir.ReadRequest, []string{"file-read-data", "file-read-xattr", "file-map-executable"}},
	{ir.ListRequest, []string{"file-read-data"}},
	{ir.StatRequest, []string{"file-read-metadata", "file-test-existence"}},
	{ir.WriteRequest, []string{
		"file-write-data", "file-write-mode", "file-write-owner", "file-write-flags", "file-write-times", "file-write-xattr",
		"file-write-acl", "file-write-finderinfo", "file-link", "file-clone",
	}},
	{ir.CreateRequest, []string{"file-write-create"}},
	{ir.RemoveRequest, []string{"file-write-unlink"}},
	{ir.ExecuteRequest, []string{"process-exec*", "process-exec-interpreter"}},
	{ir.ConnectUnixRequest, []string{"network-outbound"}},
}

// open are the operations that no rule may speak of: version 1 leaves them open,
// where a release has them, and closing them would take nothing from a command but
// stop it.
var open = []struct{ name, why string }{
	{"default-message-filter", "messages over a connection, whose opening is decided: mach-lookup, iokit-open-user-client"},
	{"iokit-async-external-method", "calls over a connection"},
	{"iokit-external-method", "calls over a connection"},
	{"iokit-external-trap", "calls over a connection"},
	{"mach-message-send", "messages over a connection"},
	{"xpc-message-send", "messages over a connection"},
	{"mach-kernel-endpoint", "the kernel's ends of the process's own ports"},
	{"dynamic-code-generation", "the process's own memory; which code runs is no boundary"},
	{"file-lock", "a file that is open, whose opening is decided"},
	{"system-fcntl", "a file that is open"},
	{"syscall-mach", "the way to every operation that is decided"},
	{"syscall-mig", "the way to every operation that is decided"},
	{"syscall-unix", "the way to every operation that is decided"},
}

// own is what every profile allows a process with itself and others of its sandbox,
// and sockets that reach no network. "mach-task-name" is a rule of macOS's own.
var own = []struct {
	kind       fragment.Kind
	words      []string
	operations []string
}{
	{fragment.Target, []string{"self", "same-sandbox"}, []string{
		"signal",
		"process-info-codesignature", "process-info-dirtycontrol", "process-info-ledger", "process-info-pidfdinfo",
		"process-info-pidfileportinfo", "process-info-pidinfo", "process-info-rusage", "process-info-setcontrol",
		"process-codesigning", "process-codesigning-blob-get", "process-codesigning-cdhash-get",
		"process-codesigning-identity-get", "process-codesigning-status-get", "process-codesigning-teamid-get",
		"process-legacy-codesigning-blob-get", "process-legacy-codesigning-cdhash-get", "process-legacy-codesigning-identity-get",
		"process-legacy-codesigning-status-get", "process-legacy-codesigning-teamid-get",
	}},
	{fragment.Target, []string{"self"}, []string{"mach-task-special-port-get", "mach-task-name"}},
	{fragment.SocketDomain, []string{"AF_UNIX"}, []string{"socket-ioctl", "socket-option-get", "socket-option-set"}},
	{fragment.MacPolicy, []string{"AMFI", "Sandbox"}, []string{"system-mac-syscall"}},
}

// named are the operations that a policy's lists of names allow, by exact name.
var named = []struct {
	kind       fragment.Kind
	list       func(ir.System) []ir.Name
	operations []string
}{
	{fragment.GlobalName, func(s ir.System) []ir.Name { return s.Services }, []string{"mach-lookup"}},
	{fragment.SysctlName, func(s ir.System) []ir.Name { return s.Sysctls }, []string{"sysctl-read"}},
	{fragment.PosixName, func(s ir.System) []ir.Name { return s.IPC }, []string{
		"ipc-posix-sem-create", "ipc-posix-sem-open", "ipc-posix-sem-post", "ipc-posix-sem-unlink", "ipc-posix-sem-wait",
		"ipc-posix-shm-read-data", "ipc-posix-shm-write-create", "ipc-posix-shm-write-data", "ipc-posix-shm-write-unlink",
	}},
	{fragment.UserClient, func(s ir.System) []ir.Name { return s.IOKit }, []string{"iokit-open", "iokit-open-user-client"}},
}

// want is what a policy wants of one operation. The zero want is that nothing is
// allowed.
type want struct {
	asked  []ir.RequestKind // by path, as these words are decided
	open   bool             // no rule speaks of it
	always bool             // everything is allowed
	kind   fragment.Kind    // what these words are
	words  map[string]ir.Origin
	ends   [fragment.NumEnds]bool // the addresses that are reached
}

// wanted is what the policy wants of each operation that is not closed; whatever
// else there is, in any release, is closed.
func wanted(p *ir.Policy) map[string]want {
	out := map[string]want{
		// A process that was started may fork, within its sandbox.
		"process-fork": {always: true},
	}
	for _, row := range words {
		for _, name := range row.operations {
			out[name] = want{asked: append(out[name].asked, row.word)}
		}
	}
	for _, row := range open {
		out[row.name] = want{open: true}
	}
	add := func(name string, kind fragment.Kind, words map[string]ir.Origin) {
		out[name] = want{kind: kind, words: words}
	}
	for _, row := range own {
		words := map[string]ir.Origin{}
		for _, w := range row.words {
			words[w] = ""
		}
		for _, name := range row.operations {
			add(name, row.kind, words)
		}
	}
	for _, row := range named {
		words := map[string]ir.Origin{}
		for _, n := range row.list(p.System) {
			words[n.Name] = n.Origin
		}
		for _, name := range row.operations {
			add(name, row.kind, words)
		}
	}
	// Services are looked up through the bootstrap port; without any nobody needs it.
	if len(p.System.Services) > 0 {
		out["mach-bootstrap"] = want{always: true}
	}
	network(p, out)
	return out
}
