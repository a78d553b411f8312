package targets

import "github.com/obspc/obspc/compiler/ir"

// Capability is how well a target keeps a feature (design 5.5). The zero value is
// Absent: what nobody thought of is refused. Nothing is ever looser.
type Capability uint8

// Absent: the target cannot keep it, so a policy that uses it is refused.
// Attribution: it limits honest programs and is no boundary. Tighter: the target
// denies more than the policy says. Exact: as the policy says.
const (
	Absent Capability = iota
	Attribution
	Tighter
	Exact
)

var capabilityNames = [...]string{"absent", "attribution", "tighter", "exact"}

func (c Capability) String() string { return capabilityNames[c] }

// Answer is what one target says about one feature. Layer is what enforces it;
// Note says what differs, or why it is absent.
type Answer struct {
	Capability Capability
	Layer      string
	Note       string
}

// feature is one row of the table: a feature, what it is called in a finding, and
// each target's answer.
type feature struct {
	name            ir.Feature
	thing           string
	bwrap, seatbelt Answer
}

// Layers of enforcement.
const (
	byMount     = "mount"
	byLandlock  = "Landlock"
	bySeccomp   = "seccomp"
	byNetwork   = "network namespace"
	byRuntime   = "runtime"
	byRlimit    = "rlimit"
	byCgroup    = "cgroup"
	bySeatbelt  = "Seatbelt"
	byProxy     = "proxy"
	needsLinux  = "unless everything readable may start, the kernel must have Landlock ABI 2 (Linux 5.19)"
	noPrograms  = "it sees no program behind a connection, so no program is let through by such an endpoint"
	honestOnly  = "it tells who opened a connection, and a hostile command can have one of these programs open it"
	ownNetwork  = "the sandbox has a network of its own, in which the machine's loopback is not; name an endpoint with address = \"127.0.0.1\""
	macOSOnly   = "Linux has nothing of that name"
	linuxCalls  = "a profile names operations and no system calls of Linux"
	noList      = "on macOS no list of calls is refused"
	perProcess  = "each process has the limit to itself"
	orByCgroup  = "kept by a cgroup, for all processes together, where one is delegated to the caller"
	orByEither  = "kept by a cgroup, or for other callers than root by an rlimit, for all processes together, where the machine has them"
	noTree      = "it has no limit for the processes of a run together"
	linuxMemory = "macOS has no memory file system"
	ownMemory   = "a file system of its own: nothing is moved or linked between it and any other"
)

func exact(layer string) Answer         { return Answer{Exact, layer, ""} }
func exactly(layer, note string) Answer { return Answer{Exact, layer, note} }
func tighter(layer, note string) Answer { return Answer{Tighter, layer, note} }
func absent(layer, note string) Answer  { return Answer{Absent, layer, note} }

// table has a row for every feature, in the order of ir.Features.
var table = []feature{
	{ir.FeatureRead, "reading a path", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureWrite, "writing a path", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureDeny, "a hole in what is granted", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureCarveOut, "a read inside a write", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureOnly, "only() of a path", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureOnlyCarveOut, "only() of a read inside a write", absent(byMount, "a mount carries all that lies below it"), exact(bySeatbelt)},
	{ir.FeatureHeldDirectory, "moving or linking across a path that has a rule of its own",
		tighter(byMount, "it is a mount of its own on Linux: nothing can be moved or linked into it or out of it"), exact(bySeatbelt)},
	{ir.FeatureProtectedCase, "names that differ from a protected or held one only by case",
		exact(byMount), tighter(bySeatbelt, "names that differ from it only by case are protected as well, whether or not the volume tells them apart")},
	{ir.FeatureProtectedNonASCII, "a protected name outside ASCII",
		exact(byMount), absent(bySeatbelt, "the volume may know it under other spellings, which no pattern lists")},
	{ir.FeatureRootLink, "a path below /tmp, /var or /etc",
		exact(byMount), exactly(bySeatbelt, "the profile names /private/tmp, /private/var and /private/etc, where those links lead")},
	{ir.FeatureDeviceTree, "the devices below a path",
		tighter(byMount, "it is mounted without its devices on Linux: those that a write rule names are there, the others cannot be opened"), exact(bySeatbelt)},
	{ir.FeatureExecute, "what may be executed", exactly(byLandlock, needsLinux), exact(bySeatbelt)},
	{ir.FeatureTmp, "private temporary files", exactly(byMount, ownMemory), exactly(bySeatbelt, "a new directory, of no fixed size")},
	{ir.FeatureDevices, "the minimal devices", exactly(byMount, "nothing else is in /dev"), exactly(bySeatbelt, "the ones that macOS has")},
	{ir.FeatureShm, "shared memory at /dev/shm", exactly(byMount, ownMemory), exactly(bySeatbelt, linuxMemory)},
	{ir.FeatureUnixNone, "no Unix-domain sockets", exact(bySeccomp), exact(bySeatbelt)},
	{ir.FeatureUnixVisible, "Unix-domain sockets whose path is readable", exact(byMount), exact(bySeatbelt)},
	{ir.FeatureEndpoint, "a network endpoint", exact(byProxy), exact(byProxy)},
	{ir.FeatureEndpointProgram, "executables of an endpoint", Answer{Attribution, byProxy, honestOnly}, absent(byProxy, noPrograms)},
	{ir.FeatureRequests, "requests by method and path", exact(byProxy), exact(byProxy)},
	{ir.FeatureProtocol, "what is spoken with an endpoint", exact(byProxy), exact(byProxy)},
	{ir.FeatureAddresses, "addresses that a name may lead to", exact(byProxy), exact(byProxy)},
	{ir.FeatureHostDeny, "a denied host", exact(byProxy), exact(byProxy)},
	{ir.FeatureLoopback, "a loopback of the sandbox's own", exact(byNetwork), tighter(bySeatbelt, "the host's loopback is shared, so only the proxy's port is reached, and nothing listens")},
	{ir.FeatureLoopbackHost, "the loopback of the machine", absent(byNetwork, ownNetwork), tighter(bySeatbelt, "TCP to and at 127.0.0.1 and ::1 is opened, no datagrams, and no other address of it that a machine may have")},
	{ir.FeatureEnvironment, "an environment variable", exact(byRuntime), exact(byRuntime)},
	{ir.FeatureTimeout, "a timeout", exact(byRuntime), exact(byRuntime)},
	{ir.FeatureMemory, "a limit on memory", exactly(byRuntime, orByCgroup), absent(byRuntime, noTree)},
	{ir.FeatureProcesses, "a limit on processes", exactly(byRuntime, orByEither), absent(byRuntime, noTree)},
	{ir.FeatureCPUTime, "a limit on processor time", exactly(byRlimit, perProcess), exactly(byRlimit, perProcess)},
	{ir.FeatureOpenFiles, "a limit on open files", exactly(byRlimit, perProcess), exactly(byRlimit, perProcess)},
	{ir.FeatureFileSize, "a limit on file sizes", exactly(byRlimit, perProcess), exactly(byRlimit, perProcess)},
	{ir.FeatureTmpSize, "a limit on temporary files", exact(byMount), exact(byRuntime)},
	{ir.FeatureWorkspaceSize, "a limit on the workspace", exact(byRuntime), exact(byRuntime)},
	{ir.FeatureStdout, "a limit on standard output", exact(byRuntime), exact(byRuntime)},
	{ir.FeatureStderr, "a limit on standard error", exact(byRuntime), exact(byRuntime)},
	{ir.FeatureSyscallsDeny, "the denial of a system call", exact(bySeccomp), absent(bySeatbelt, linuxCalls)},
	{ir.FeatureSyscallsAllow, "a system call off the list", exact(bySeccomp), exactly("", noList)},
	{ir.FeatureServices, "a mach service", exactly("", macOSOnly), exact(bySeatbelt)},
	{ir.FeatureSysctls, "a sysctl", exactly("", macOSOnly), exact(bySeatbelt)},
	{ir.FeatureIPC, "a POSIX object of macOS", exactly("", macOSOnly), exact(bySeatbelt)},
	{ir.FeatureIOKit, "an IOKit class", exactly("", macOSOnly), exact(bySeatbelt)},
	{ir.FeatureCommand, "a governed command", exact(byRuntime), exact(byRuntime)},
}

var rows = indexed()

func indexed() map[ir.Feature]feature {
	m := make(map[ir.Feature]feature, len(table))
	for _, f := range table {
		m[f.name] = f
	}
	return m
}

// Answers is what target t says about feature f. A target or a feature that the
// table lacks is Absent.
func Answers(t ir.Target, f ir.Feature) Answer {
	switch t {
	case ir.Bwrap:
		return rows[f].bwrap
	case ir.Seatbelt:
		return rows[f].seatbelt
	}
	return Answer{}
}

// Keeps reports whether the target keeps the feature as policies say, as far as it can
// be kept, or denies more than they say. A waiver of such a feature silences a warning
// and grants nothing.
func Keeps(t ir.Target, f ir.Feature) bool { return Answers(t, f).Capability > Absent }
