// Package ir is the shared intermediate representation: what a policy means,
// with every name resolved and every template expanded. Targets compile it,
// models are compared with it, and Decide answers every request from it. Its one
// rule: everything an artifact grants stands here, with an origin. It is a leaf;
// how policies are written is in package lang, how they get here in compiler.
package ir

// Level is how much a rule lets the sandbox do with a file: Deny < Read < Write.
type Level uint8

// The levels. Write includes Read.
const (
	Deny Level = iota
	Read
	Write
)

var levelNames = [...]string{"deny", "read", "write"}

func (l Level) String() string { return levelNames[l] }

// Origin tells which statement a rule comes from: "payment-batch/filesystem.write[0]",
// "std/base/system.devices", "builtin/proc". It names statements and never lines,
// so that a blank line in a policy changes no artifact.
type Origin string

// Rule is one statement of a policy's authority. It is sealed: *FileRule,
// *ExecuteRule, *UnixRule, *Endpoint, *RequestRule, *HostRule, *LoopbackRule and
// *SyscallRule are what policies state.
type Rule interface {
	From() Origin
	// String is the rule as a policy would state it, for people.
	String() string
	isRule()
}

// Backing tells what stands behind the path of a FileRule.
type Backing string

// HostFile is the host's own file or directory. ProcFS is the /proc of the
// sandbox's own PID namespace. DevFS is a node of the minimal /dev. TmpFS is a
// private memory file system, fresh for every run, with a size.
const (
	HostFile Backing = ""
	ProcFS   Backing = "proc"
	DevFS    Backing = "dev"
	TmpFS    Backing = "tmpfs"
)

// FileRule gives Path and everything below it (Only: just Path) a level.
// Optional: as if unsaid when the path is missing at the start of a run. Size is
// the capacity of a TmpFS in bytes.
type FileRule struct {
	Path     Path
	Level    Level
	Only     bool
	Optional bool
	Backing  Backing
	Size     int64
	Origin   Origin
}

// ExecuteRule lets files at or below Path (Only: just Path) be started, if they
// can be read.
type ExecuteRule struct {
	Path     Path
	Only     bool
	Optional bool
	Origin   Origin
}

// UnixRule says whether Unix-domain sockets with a readable path may be
// connected to.
type UnixRule struct {
	Visible bool
	Origin  Origin
}

func (r *FileRule) From() Origin    { return r.Origin }
func (r *ExecuteRule) From() Origin { return r.Origin }
func (r *UnixRule) From() Origin    { return r.Origin }

func (*FileRule) isRule()    {}
func (*ExecuteRule) isRule() {}
func (*UnixRule) isRule()    {}

// Covers reports whether the rule speaks of p.
func (r FileRule) Covers(p Path) bool { return r.Path == p || !r.Only && r.Path.Covers(p) }

// Covers reports whether the rule speaks of p.
func (r ExecuteRule) Covers(p Path) bool { return r.Path == p || !r.Only && r.Path.Covers(p) }

// WorkspaceKind tells whose directory the workspace is.
type WorkspaceKind string

// A fresh workspace is made for one run and removed after it; a shared one is
// the caller's and is never created, emptied or removed. ByCommand (nothing was
// said): fresh for governed commands, shared for obspc exec.
const (
	ByCommand       WorkspaceKind = ""
	FreshWorkspace  WorkspaceKind = "fresh"
	SharedWorkspace WorkspaceKind = "shared"
)

// Target names a system that policies compile for.
type Target string

// Bwrap is the whole Linux set (argument set, seccomp, Landlock, first process);
// Seatbelt is macOS.
const (
	Bwrap    Target = "bwrap"
	Seatbelt Target = "seatbelt"
)

// Variable is one environment variable of the sandbox.
type Variable struct {
	Name   string
	Value  Value
	Origin Origin
}

// LimitName names a limit of design 4.
type LimitName string

// The limits of this version, with the unit of their values.
const (
	Timeout       LimitName = "timeout"        // milliseconds of the whole run
	Memory        LimitName = "memory"         // bytes, of all processes together
	Processes     LimitName = "processes"      // processes and threads at one time
	CPUTime       LimitName = "cpu_time"       // seconds of processor time, each process
	OpenFiles     LimitName = "open_files"     // descriptors, each process
	FileSize      LimitName = "file_size"      // bytes of one file written
	TmpSize       LimitName = "tmp_size"       // bytes in the tmp slot: the Size of its rule
	WorkspaceSize LimitName = "workspace_size" // bytes in the workspace, with what was there before
	Stdout        LimitName = "stdout"         // bytes passed on; the rest is counted and discarded
	Stderr        LimitName = "stderr"         // likewise
)

// Scope tells what keeps a limit, and over what.
type Scope string

// RunScope: the runtime, or a file system of the run's own, over the whole run.
// TreeScope: the kernel, over all processes of the run together. ProcessScope: the
// kernel, over each process by itself. WatchedScope: the runtime sums the tree up
// again and again, and ends a run that is past the limit.
const (
	RunScope     Scope = "run"
	TreeScope    Scope = "tree"
	ProcessScope Scope = "process"
	WatchedScope Scope = "watched"
)

// Limit bounds one resource of a run. Scope is TreeScope when nothing weaker
// satisfies the policy, which Memory and Processes alone can ask for; else "".
type Limit struct {
	Name   LimitName
	Value  int64
	Scope  Scope
	Origin Origin
}

// System lists what of macOS beside files the sandbox reaches, by exact name.
type System struct {
	Services []Name // mach services looked up
	Sysctls  []Name // sysctls read
	IPC      []Name // POSIX shared memory and semaphores
	IOKit    []Name // IOKit user client classes opened
}

// Name is one allowed name and the statement that allows it.
type Name struct {
	Name   string
	Origin Origin
}

// Waiver accepts that a target does not enforce a feature.
type Waiver struct {
	Target  Target
	Feature Feature
	Reason  string
	Origin  Origin
}

// Policy is one compiled policy. Files and Execute are sorted by Path.Compare,
// the other lists by name; Endpoints too.
type Policy struct {
	Name        string
	Version     int64
	Targets     []Target
	Workspace   WorkspaceKind
	Files       []FileRule
	Execute     []ExecuteRule
	Unix        UnixRule
	Loopback    LoopbackRule
	Endpoints   []Endpoint
	DeniedHosts []HostRule // by Host.String, each once
	Environment []Variable
	Limits      []Limit
	Syscalls    []SyscallRule // by name, each once
	System      System
	Commands    []Command
	Waivers     []Waiver
}

// Limit is the policy's value of the limit n, and whether it states one.
func (p *Policy) Limit(n LimitName) (int64, bool) {
	for _, l := range p.Limits {
		if l.Name == n {
			return l.Value, true
		}
	}
	return 0, false
}

// Command is the governed command of that name.
func (p *Policy) Command(name string) (Command, bool) {
	for _, c := range p.Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// HasTarget reports whether the policy is compiled for t.
func (p *Policy) HasTarget(t Target) bool {
	for _, have := range p.Targets {
		if have == t {
			return true
		}
	}
	return false
}
