package ir

import "slices"

// Feature is something a policy may use and every target must answer for
// (design 5.5). Names are stable: waivers and house rules refer to them.
type Feature string

// The features of this version.
const (
	FeatureRead              Feature = "filesystem.read"
	FeatureWrite             Feature = "filesystem.write"
	FeatureDeny              Feature = "filesystem.deny"      // a hole: a deny inside something readable
	FeatureCarveOut          Feature = "filesystem.carve-out" // a read inside a write
	FeatureOnly              Feature = "filesystem.only"      // one node, nothing below it
	FeatureOnlyCarveOut      Feature = "filesystem.only-carve-out"
	FeatureHeldDirectory     Feature = "filesystem.held-directory" // rename and link across a path that is held inside a write, or between two writes
	FeatureProtectedCase     Feature = "filesystem.protected-case" // a protected or held name may exist under another case
	FeatureProtectedNonASCII Feature = "filesystem.protected-non-ascii"
	FeatureRootLink          Feature = "filesystem.root-link"   // a path that is a link on that system
	FeatureDeviceTree        Feature = "filesystem.device-tree" // devices below a path of the host that has them
	FeatureExecute           Feature = "filesystem.execute"     // not everything readable may be started
	FeatureDevices           Feature = "system.devices"
	FeatureShm               Feature = "system.shm"
	FeatureTmp               Feature = "filesystem.tmp"
	FeatureUnixNone          Feature = "network.unix-none"
	FeatureUnixVisible       Feature = "network.unix-visible"
	FeatureEndpoint          Feature = "network.endpoint"
	FeatureEndpointProgram   Feature = "network.endpoint-executables"
	FeatureRequests          Feature = "network.endpoint-requests"  // methods and paths
	FeatureProtocol          Feature = "network.endpoint-protocol"  // what connections speak, where a policy says it
	FeatureAddresses         Feature = "network.endpoint-addresses" // what names may resolve to
	FeatureHostDeny          Feature = "network.deny"
	FeatureLoopback          Feature = "network.loopback"      // a loopback of the sandbox's own
	FeatureLoopbackHost      Feature = "network.loopback-host" // the machine's
	FeatureEnvironment       Feature = "environment"
	FeatureTimeout           Feature = "limits.timeout"
	FeatureMemory            Feature = "limits.memory"
	FeatureProcesses         Feature = "limits.processes"
	FeatureCPUTime           Feature = "limits.cpu_time"
	FeatureOpenFiles         Feature = "limits.open_files"
	FeatureFileSize          Feature = "limits.file_size"
	FeatureTmpSize           Feature = "limits.tmp_size"
	FeatureWorkspaceSize     Feature = "limits.workspace_size"
	FeatureStdout            Feature = "limits.stdout"
	FeatureStderr            Feature = "limits.stderr"
	FeatureServices          Feature = "system.services"
	FeatureSysctls           Feature = "system.sysctls"
	FeatureIPC               Feature = "system.ipc"
	FeatureIOKit             Feature = "system.iokit"
	FeatureCommand           Feature = "command"
	FeatureSyscallsDeny      Feature = "syscalls.deny"
	FeatureSyscallsAllow     Feature = "syscalls.allow"
)

// Features lists every feature, in the order in which tables show them.
func Features() []Feature {
	return []Feature{
		FeatureRead, FeatureWrite, FeatureDeny, FeatureCarveOut, FeatureOnly, FeatureOnlyCarveOut, FeatureHeldDirectory,
		FeatureProtectedCase, FeatureProtectedNonASCII, FeatureRootLink, FeatureDeviceTree, FeatureExecute, FeatureTmp, FeatureDevices, FeatureShm,
		FeatureUnixNone, FeatureUnixVisible, FeatureEndpoint, FeatureEndpointProgram, FeatureRequests, FeatureProtocol, FeatureAddresses,
		FeatureHostDeny, FeatureLoopback, FeatureLoopbackHost, FeatureEnvironment,
		FeatureTimeout, FeatureMemory, FeatureProcesses, FeatureCPUTime, FeatureOpenFiles, FeatureFileSize,
		FeatureTmpSize, FeatureWorkspaceSize, FeatureStdout, FeatureStderr,
		FeatureSyscallsDeny, FeatureSyscallsAllow, FeatureServices, FeatureSysctls, FeatureIPC, FeatureIOKit, FeatureCommand,
	}
}

// Use is one place where a policy uses a feature. What names the path, host or
// name concerned, for the message.
type Use struct {
	Feature Feature
	Origin  Origin
	What    string
}

// Uses lists every feature the policy uses and every place where it does.
func (p *Policy) Uses() []Use {
	var out []Use
	add := func(f Feature, o Origin, what string) { out = append(out, Use{f, o, what}) }
	d := NewDecider(p)
	outermost := d.outermostWrites(p.Files)
	for i := range p.Files {
		r := &p.Files[i]
		d.fileUses(r, add)
		if len(outermost) > 1 && slices.Contains(outermost, r) {
			add(FeatureHeldDirectory, r.Origin, r.Path.String())
		}
	}
	for i := range p.Execute {
		r := &p.Execute[i]
		add(FeatureExecute, r.Origin, r.Path.String())
		if d.At(r.Path).self.file == nil && d.insideWrite(r.Path) {
			add(FeatureHeldDirectory, r.Origin, r.Path.String())
		}
		if around := d.around(r.Path); around != nil && around.Level == Write {
			protectedUses(r.Path, r.Origin, add)
		}
		if isRootLink(r.Path) {
			add(FeatureRootLink, r.Origin, r.Path.String())
		}
	}
	if p.Unix.Visible {
		add(FeatureUnixVisible, p.Unix.Origin, "")
	} else {
		add(FeatureUnixNone, p.Unix.Origin, "")
	}
	p.networkUses(add)
	for _, v := range p.Environment {
		add(FeatureEnvironment, v.Origin, v.Name)
	}
	for _, l := range p.Limits {
		add(Feature("limits."+string(l.Name)), l.Origin, string(l.Name))
	}
	for _, r := range p.Syscalls {
		if r.Allow {
			add(FeatureSyscallsAllow, r.Origin, r.Name)
		} else {
			add(FeatureSyscallsDeny, r.Origin, r.Name)
		}
	}
	p.System.uses(add)
	for _, c := range p.Commands {
		add(FeatureCommand, c.Origin, c.Name)
	}
	return out
}

func (p *Policy) networkUses(add func(Feature, Origin, string)) {
	for _, e := range p.Endpoints {
		host := e.Host.String()
		add(FeatureEndpoint, e.Origin, host)
		if !p.Loopback.Host {
			add(FeatureLoopback, e.Origin, host)
		}
		if len(e.Executables) > 0 {
			add(FeatureEndpointProgram, e.Origin, host)
		}
		if len(e.Addresses) > 0 {
			add(FeatureAddresses, e.Origin, host)
		}
		switch e.Protocol {
		case Web:
		case REST:
			add(FeatureRequests, e.Origin, host)
		default:
			add(FeatureProtocol, e.Origin, host)
		}
	}
	for _, r := range p.DeniedHosts {
		add(FeatureHostDeny, r.Origin, r.Host.String())
	}
	if p.Loopback.Host {
		add(FeatureLoopbackHost, p.Loopback.Origin, "")
	}
}

func (d *Decider) fileUses(r *FileRule, add func(Feature, Origin, string)) {
	what := r.Path.String()
	switch r.Backing {
	case ProcFS:
		return // the builtin rule: every Linux sandbox has it, macOS has no /proc
	case DevFS:
		add(FeatureDevices, r.Origin, what)
		return
	case TmpFS:
		if r.Path.root == Tmp {
			add(FeatureTmp, r.Origin, what)
		} else {
			add(FeatureShm, r.Origin, what)
		}
		return
	}
	around := d.around(r.Path)
	protects := false
	switch {
	case r.Level == Deny:
		add(FeatureDeny, r.Origin, what)
		protects = around != nil && around.Level > Deny
	case r.Level == Read && around != nil && around.Level == Write:
		add(FeatureCarveOut, r.Origin, what)
		protects = true
		if r.Only {
			add(FeatureOnlyCarveOut, r.Origin, what)
		}
	case r.Level == Read:
		add(FeatureRead, r.Origin, what)
	default:
		add(FeatureWrite, r.Origin, what)
	}
	if r.Only {
		add(FeatureOnly, r.Origin, what)
	}
	if around != nil && around.Level == Write || r.Level == Write && d.insideWrite(r.Path) {
		add(FeatureHeldDirectory, r.Origin, what)
	}
	if r.Level > Deny && !r.Only && (r.Path == Path{} || deviceDirectory.Covers(r.Path)) && (around == nil || around.Backing == HostFile) {
		add(FeatureDeviceTree, r.Origin, what)
	}
	if protects || around != nil && around.Level == Write { // where its name stays
		protectedUses(r.Path, r.Origin, add)
	}
	if isRootLink(r.Path) {
		add(FeatureRootLink, r.Origin, what)
	}
}

// outermostWrites are the writes of the host's files inside no other write of their
// root. From one to another everything could be moved and linked.
func (d *Decider) outermostWrites(files []FileRule) []*FileRule {
	var out []*FileRule
	for i := range files {
		if r := &files[i]; r.Level == Write && r.Backing == HostFile && !d.insideWrite(r.Path) {
			out = append(out, r)
		}
	}
	return out
}

// insideWrite reports whether a write of p's own root lies above p.
func (d *Decider) insideWrite(p Path) bool {
	for r := d.around(p); r != nil; r = d.around(r.Path) {
		if r.Level == Write {
			return true
		}
	}
	return false
}

// deviceDirectory is where every system keeps its devices.
var deviceDirectory = MustPath("/dev")

// protectedUses notes what a rule asks of systems that know a file under several
// spellings of its name, when its path is refused something that others are not.
func protectedUses(p Path, o Origin, add func(Feature, Origin, string)) {
	add(FeatureProtectedCase, o, p.String())
	if !isASCII(p.rel) {
		add(FeatureProtectedNonASCII, o, p.String())
	}
}

// around is the rule that would decide p if p had none of its own.
func (d *Decider) around(p Path) *FileRule {
	if r := d.covering(d.At(p).above); r != nil {
		return r
	}
	return d.fallback(p)
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= 0x80 })
}

// rootLinks are paths that macOS keeps as links to /private/… (system.sb of
// macOS 10.15 names them).
var rootLinks = []Path{MustPath("/tmp"), MustPath("/var"), MustPath("/etc")}

func isRootLink(p Path) bool {
	return slices.ContainsFunc(rootLinks, func(l Path) bool { return l.Covers(p) })
}

func (s System) uses(add func(Feature, Origin, string)) {
	for _, list := range []struct {
		f     Feature
		names []Name
	}{{FeatureServices, s.Services}, {FeatureSysctls, s.Sysctls}, {FeatureIPC, s.IPC}, {FeatureIOKit, s.IOKit}} {
		for _, n := range list.names {
			add(list.f, n.Origin, n.Name)
		}
	}
}
