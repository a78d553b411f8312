package live

import (
	"fmt"

	"github.com/obspc/obspc/cmd/obspc/expect"
)

// Verdict is an answer to a request, "" when there is none.
type Verdict string

// The verdicts. Undecided is a model's alone: the artifact leaves it open.
const (
	Allow     Verdict = "allow"
	Deny      Verdict = "deny"
	Undecided Verdict = "undecided"
)

func verdict(allow bool) Verdict {
	if allow {
		return Allow
	}
	return Deny
}

// Observation is what came of one request.
type Observation struct {
	Decide   Verdict // what the policy means
	Model    Verdict // what the target's model makes of the artifacts that were tried
	Control  string  // the attempt outside: "allow", the error's name, or "" if it was not made
	Heard    string  // of a system call: what the kernel found wrong with its arguments outside
	Kernel   Verdict // "" if the request was not tried
	Errno    string  // the error of a refusal
	Why      string  // why it was not tried
	Rejected bool    // the system refuses the artifact
}

func (o Observation) untried(format string, args ...any) Observation {
	o.Why = fmt.Sprintf(format, args...)
	return o
}

// Escapes reports whether the kernel allowed what the policy denies, or what the
// model says is denied: the one is a way out, the other a fault of the model.
func (o Observation) Escapes() bool {
	return o.Kernel == Allow && (o.Decide == Deny || o.Model == Deny)
}

// Judge is what the observation says of an expectation.
func (o Observation) Judge(want bool) expect.Live {
	switch {
	case o.Rejected:
		return expect.Live{Status: expect.Failed, Why: o.Why}
	case o.Kernel == "":
		return expect.Live{Status: expect.Skipped, Why: o.Why}
	}
	out := expect.Live{Status: expect.Passed, Why: o.happened()}
	if o.Kernel != verdict(want) {
		out.Status = expect.Failed
	}
	if o.Kernel == Allow && o.Model == Deny {
		out.Status, out.Why = expect.Failed, out.Why+", and by the model of the artifact it is denied"
	}
	return out
}

// happened is what the kernel did, for people.
func (o Observation) happened() string {
	switch {
	case o.Heard != "" && o.Kernel == Allow:
		return "the kernel found fault with its arguments (" + o.Heard + "), as it does outside the sandbox: no filter stands before it"
	case o.Heard != "":
		return "the kernel refused it with " + o.Errno + ", and outside the sandbox found fault with its arguments (" + o.Heard + ")"
	case o.Kernel == Allow:
		return "the kernel allowed it"
	}
	return "the kernel refused it with " + o.Errno + ", and allowed it outside the sandbox"
}
