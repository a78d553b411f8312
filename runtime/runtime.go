// Package runtime turns a verified policy and a command into one confined
// process, and into evidence of what happened. Its one rule: it takes nothing but
// a *verify.Verified, and what it cannot keep it refuses; there is no fallback.
//
// A run goes: bind (slots get their paths), facts (what stands at every path the
// policy names), materialise (the options for bubblewrap, read back and
// compared), launch (bubblewrap starts the first process), supervise, clean up.
// The first process is this program again, inside the sandbox: First. Meaning is
// decided in compiler/ir, the options in targets/bwrap; command lines are cmd's.
package runtime

import (
	"io"

	"github.com/obspc/obspc/compiler/ir"
)

// Job is one run: which policy, which command, and the caller's side of it.
type Job struct {
	Policy string
	// Command is a governed command of the policy and Fields what the caller fills
	// in. In development Argv is run instead: its first element is a path, or a name
	// that is looked up in the policy's PATH.
	Command string
	Fields  map[string][]string
	Argv    []string
	// Development lets Argv run. It wants a release that was verified as such.
	Development bool
	Workspace   Workspace
	// Stdin is /dev/null when nil. Stdout and Stderr get what the command writes,
	// up to the policy's limits; nil discards it. Standard output of a command with
	// a typed result is not passed on: Outcome.Result is printed instead.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal, in development, gives the command a terminal of its own instead of
	// these three: what is typed at the caller's goes there, and what the command
	// writes, one stream, to Stdout, under that limit. The policy has to grant
	// terminals.
	Terminal *Terminal
	// Trace, in development, notes what fails and the policy denies (Evidence.Trace).
	// The run is confined exactly as without it. Places says where a statement stands,
	// false when that is not known; nil: nowhere.
	Trace bool
	// Observe, in development, notes what the proxy denied and which rules would allow
	// it (Evidence.Observed). A policy without endpoints gets a proxy as well, which
	// denies everything.
	Observe bool
	Places  func(ir.Origin) (file string, line int, ok bool)
	// Notice, when it is not nil, is told before the command starts what its caller
	// may not expect: one clause each time.
	Notice func(string)
	// Bwrap is the absolute path of bubblewrap, DefaultBwrap when empty.
	Bwrap string
	// Trusted lists what obspc trusts on this machine: configuration, pins, golden
	// files, the release. Nothing of it may be written from inside.
	Trusted []string
}

// Workspace is what the caller said about the workspace. Dir is a shared one's
// path ("": the current directory); Fresh asks for a new one. The zero value asks
// for what the policy says.
type Workspace struct {
	Dir   string
	Fresh bool
}

// Outcome is how a run came out. Exit is the exit code of the process; Result is
// the typed result as canonical JSON, nil when there is none.
type Outcome struct {
	Exit     int
	Result   []byte
	Evidence *Evidence
}

// Interrupt is the cause of a context that a signal ended.
type Interrupt struct{ Signal int }

func (i Interrupt) Error() string { return "interrupted by a signal" }

// kind is whose directory the workspace is: the policy's word, else what the call
// asks for, else fresh for governed commands and shared in development.
func (j *Job) kind(p *ir.Policy) (ir.WorkspaceKind, *Refusal) {
	switch {
	case j.Workspace.Fresh && j.Workspace.Dir != "":
		return "", twoWorkspaces()
	case p.Workspace == ir.SharedWorkspace:
		if j.Workspace.Fresh && !j.Development {
			return "", workspaceIsShared()
		}
	case p.Workspace == ir.FreshWorkspace || !j.Development:
		if j.Workspace.Dir != "" {
			return "", workspaceIsFresh()
		}
		return ir.FreshWorkspace, nil
	}
	if j.Workspace.Fresh {
		return ir.FreshWorkspace, nil
	}
	return ir.SharedWorkspace, nil
}

// notice tells the caller something.
func (j *Job) notice(what string) {
	if j.Notice != nil {
		j.Notice(what)
	}
}

func twoWorkspaces() *Refusal {
	return refuse(Input, "", "a workspace is fresh or a directory, not both")
}

func workspaceIsFresh() *Refusal {
	return refuse(Input, `leave --workspace out, or say workspace = "shared" in the policy`,
		"this policy's commands get a fresh workspace, so none can be given")
}

func workspaceIsShared() *Refusal {
	return refuse(Input, "name a directory with --workspace DIR", "this policy's commands work in a shared workspace, so it cannot be fresh")
}
