package live

import (
	"os"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
)

// Launcher makes sandboxes of one kind.
type Launcher interface {
	Traits() Traits
	// Additions are what a policy is given so that the program that attempts starts
	// under it, the least first; the first with which it starts is used.
	Additions() []Addition
	// Prepare makes the policy ready, from the artifacts of its one target. It starts
	// nothing.
	Prepare(r compiler.Result, artifacts []targets.Artifact) (Sandbox, error)
}

// Traits are in what kinds of sandboxes differ for whoever tries requests in them.
type Traits struct {
	Target ir.Target
	System string // as people call it
	// Private: /proc, /dev and what has a size are the sandbox's own.
	Private bool
	// Indirect: whether a program would be started is asked in a way that no manual
	// promises, so it is calibrated first.
	Indirect bool
	// Spelled is the path as the kernel spells it for the sandbox; nil: as it is.
	Spelled func(ir.Path) ir.Path
}

// Addition is what a policy is given beside a read and an execute of the program
// that attempts. Statements about what the policy itself names are left out.
type Addition struct {
	Name    string
	Files   []ir.FileRule
	Execute []ir.ExecuteRule
	System  ir.System
	Limits  []ir.Limit // instead of the policy's own
}

// Sandbox is a policy made ready.
type Sandbox interface {
	// Call is how a command is started in the sandbox, on a machine with that binding,
	// as Spelled spells it.
	Call(b ir.Binding, command []string) (Call, error)
	// Refusals names the errors with which the sandbox may refuse the request, on a
	// machine with that binding that stands as it does now. None: it refuses nothing of
	// the kind, by what the artifacts say.
	Refusals(b ir.Binding, q ir.Request) ([]string, error)
	// Fault is why a call ended without an answer: what was written to standard error
	// and how the process ended. A *RejectedError says that it will never do better.
	Fault(said string, err error) error
	Close()
}

// Call is a program to start, its arguments, and files it inherits from descriptor
// 3 on.
type Call struct {
	Program string
	Args    []string
	Files   []*os.File
}

// RejectedError says that the system refuses the artifact itself, with its words.
type RejectedError struct{ System, Said string }

func (e *RejectedError) Error() string { return e.System + " refuses the artifact: " + e.Said }
