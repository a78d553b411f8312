package expect

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// point is one result as test protocols know them: an expectation held to policy
// and targets, or its attempt against the kernel.
type point struct {
	test, policy, name string
	at                 diag.Range
	status             Status // Passed, Failed or Skipped
	message            string // why it failed or was skipped, in one line
	detail             string // the lines that WriteText writes about it
}

// points are those of one case.
func (c Case) points() []point {
	var out []point
	for _, o := range c.Outcomes {
		p := point{test: c.Name, policy: c.Policy, name: word(o.Want) + " " + o.Request.String(), at: o.At, status: o.Status}
		if o.Status == Failed {
			alone := o
			alone.Live = nil
			p.message, p.detail = o.message(), detail(alone)
		}
		out = append(out, p)
		if o.Live == nil {
			continue
		}
		p.name, p.status, p.message, p.detail = "live: "+p.name, o.Live.Status, oneLine(o.Live.Why), ""
		out = append(out, p)
	}
	return out
}

// message says in one line who gave the wrong answer.
func (o Outcome) message() string {
	if o.Allow != o.Want {
		return fmt.Sprintf("%s wanted, the policy says %s", word(o.Want), word(o.Allow))
	}
	for _, a := range o.Targets {
		if a.Status == Failed {
			return fmt.Sprintf("%s wanted, the policy says so and %s says %s", word(o.Want), a.Target, word(a.Allow))
		}
	}
	if o.Live != nil && o.Live.Status == Failed {
		return fmt.Sprintf("%s wanted, the policy says so and the kernel does not: %s", word(o.Want), o.Live.Why)
	}
	diag.Bug("the expectation at %s failed and every answer is right", o.At)
	return ""
}

// detail is what people read about a failed expectation.
func detail(o Outcome) string {
	var b strings.Builder
	o.text(&b)
	return b.String()
}
