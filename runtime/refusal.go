package runtime

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// Code is the class of a run that obspc refused or could not do (design 9); the
// process ends with 125 and evidence carries the class.
type Code int

// No: what was asked for is not allowed. Input: the call or the policy is wrong.
// Machine: this machine lacks something. Bug: obspc itself is wrong.
const (
	No      Code = 1
	Input   Code = 2
	Machine Code = 3
	Bug     Code = 70
)

// Refusal is why no command ran, or why its result is not to be used. Message is
// one clause that names the user's thing; Help says what to do about it and may
// be empty.
type Refusal struct {
	Code    Code
	Word    Word // Refused, SetupFailed, ExecFailed or ProtectionLost
	Exit    int  // the exit code of the process: 125, 126 or 127
	Message string
	Help    string
	// Statements are those of the policy that it is about, as far as it is about some.
	Statements []ir.Origin
	// check names the check of Examine that it belongs to, "" when none is known.
	check string
}

func (r *Refusal) Error() string {
	if r.Help == "" {
		return r.Message
	}
	return r.Message + "; " + r.Help
}

// Exit codes of a run that is not the command's own (design 9, as env(1) has
// them).
const (
	ExitTimeout   = 124
	ExitRefused   = 125
	ExitNotRun    = 126
	ExitNotFound  = 127
	exitSignalled = 128
)

// refuse is a Refusal before anything was started.
func refuse(code Code, help, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Word: Refused, Exit: ExitRefused, Message: fmt.Sprintf(format, args...), Help: help}
}

// about notes the statements that a refusal is about.
func (r *Refusal) about(statements ...ir.Origin) *Refusal {
	r.Statements = statements
	return r
}

// setupFailed is a Refusal after bwrap was started and before the command was.
func setupFailed(help, format string, args ...any) *Refusal {
	return &Refusal{Code: Machine, Word: SetupFailed, Exit: ExitRefused, Message: fmt.Sprintf(format, args...), Help: help}
}
