package seatbelt

// named are denied by name although (deny default) reaches them: what nobody
// should have to look up in a table.
var named = []string{
	"file-ioctl", "file-mount", "file-mount-update", "file-write-setugid", "job-creation", "lsopen",
	"mach-register", "network-bind", "network-inbound", "network-outbound", "system-socket",
}

// kept are the operations that version 1 leaves open and that stay so, with the
// reason. Each decides about something the process already holds, or stops every
// program when it is denied.
var kept = []struct{ Name, Reason string }{
	{"default-message-filter", "messages over a connection; opening one is mach-lookup or iokit-open-*"},
	{"dynamic-code-generation", "the process's own memory; what code runs is no boundary"},
	{"file-lock", "locks on a file that is open; opening it is decided by its own rules"},
	{"iokit-async-external-method", "calls over a connection; opening one is iokit-open-user-client"},
	{"mach-kernel-endpoint", "the kernel's ends of the process's own ports"},
	{"syscall-mach", "the way to every operation decided here; no program starts without"},
	{"syscall-mig", "the way to every operation decided here; no program starts without"},
	{"syscall-unix", "the way to every operation decided here; no program starts without"},
	{"system-fcntl", "commands on a file that is open; the loader needs some"},
}

// ownTarget and ownSocket limit an operation to processes of the sandbox itself,
// and to sockets that reach no network.
const (
	ownTarget = "(target same-sandbox)"
	ownSocket = "(socket-domain AF_UNIX)"
)

// own is what a process may do with itself and with the others of its sandbox.
// The loader asks AMFI, and libsystem asks Sandbox, about the process they run in;
// neither can loosen anything.
var own = []struct {
	Operations []string
	Filters    []string
}{
	{[]string{"process-fork"}, nil},
	{[]string{"signal"}, []string{ownTarget}},
	{[]string{
		"process-info-codesignature", "process-info-dirtycontrol", "process-info-ledger", "process-info-pidfdinfo",
		"process-info-pidfileportinfo", "process-info-pidinfo", "process-info-rusage", "process-info-setcontrol",
	}, []string{ownTarget}},
	{[]string{
		"process-codesigning", "process-codesigning-blob-get", "process-codesigning-cdhash-get",
		"process-codesigning-identity-get", "process-codesigning-status-get", "process-codesigning-teamid-get",
		"process-legacy-codesigning-blob-get", "process-legacy-codesigning-cdhash-get",
		"process-legacy-codesigning-identity-get", "process-legacy-codesigning-status-get",
		"process-legacy-codesigning-teamid-get",
	}, []string{ownTarget}},
	{[]string{"mach-task-special-port-get"}, []string{"(target self)"}},
	{[]string{"socket-ioctl", "socket-option-get", "socket-option-set"}, []string{ownSocket}},
	{[]string{"system-mac-syscall"}, []string{`(mac-policy-name "AMFI")`, `(mac-policy-name "Sandbox")`}},
}

// denied lists what every profile denies by name: what version 1 leaves open in
// some release and is not kept, and what is named. A name in except is left out.
func denied(except string) []string {
	var out []string
	for _, o := range operations() {
		if o.Name != except && (o.leftOpen() && !isKept(o.Name) || isNamed(o.Name)) {
			out = append(out, o.Name)
		}
	}
	return out
}

func isNamed(name string) bool {
	for _, n := range named {
		if n == name {
			return true
		}
	}
	return false
}

func isKept(name string) bool {
	for _, k := range kept {
		if k.Name == name {
			return true
		}
	}
	return false
}

// closeLibrary writes the denials, one line each so that a diff shows one name.
func (w *printer) closeLibrary(bootstrap bool) {
	w.section("version 1 allows these before the first rule, or the kernel by itself")
	except := ""
	if bootstrap {
		except = "mach-bootstrap"
	}
	for _, name := range denied(except) {
		w.add(rule{Operations: []string{name}})
	}
	for _, k := range kept {
		w.buf.WriteString("; open: " + k.Name + ": " + k.Reason + "\n")
	}
	w.section("its own processes")
	for _, o := range own {
		w.add(rule{Allow: true, Operations: o.Operations, Filters: o.Filters})
	}
}
