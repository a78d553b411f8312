package propose

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// withheld is why nothing is proposed for an access, "" when something is.
func (p *proposer) withheld(a Access, d ir.Decision, wants []want) string {
	r := a.Request
	for _, at := range []ir.Path{r.Path, r.To, a.Machine.Real} {
		if why := p.secret(at); why != "" {
			return why
		}
	}
	switch {
	case d.Reason == ir.NoSockets:
		return `unix = "visible" is all there is, and lets every socket that can be read be connected to`
	case d.Reason == ir.ByHeld:
		return "a statement of the policy is about it or about something below it, so its name stays"
	case a.Machine.There:
		// What is said here is a proposal as well.
		if why := p.tooMuch(want{List: "write", Path: r.Path}); why != "" {
			return why
		}
		return fmt.Sprintf("it is there already: let it be read or written, as in write = [%s]", expression(Stated(p.Binding, r.Path)))
	case a.Machine.Refused:
		return "outside the sandbox this user may not either"
	}
	if rule := p.meant(a.Request, d); rule != nil {
		return fmt.Sprintf("%s was put there to refuse it", p.released(rule))
	}
	if real := a.Machine.Real; r.Kind.Changes() && !real.IsRoot() {
		wants = append(slices.Clone(wants), want{List: "write", Path: real}) // what a link leads to
	}
	for _, w := range wants {
		if why := p.tooMuch(w); why != "" {
			return why
		}
	}
	return ""
}

// meant is the statement, if any, that an author wrote to refuse this: a deny, or a
// read inside of what can be written. What is not said is no statement.
func (p *proposer) meant(r ir.Request, d ir.Decision) ir.Rule {
	for _, at := range []ir.Path{r.Path, r.To} {
		chain := p.decider.Chain(at)
		if len(chain) == 0 {
			continue
		}
		if chain[0].Level == ir.Deny {
			return chain[0]
		}
		if r.Kind.Changes() && chain[0].Level == ir.Read && len(chain) > 1 && chain[1].Level == ir.Write {
			return chain[0]
		}
	}
	return nil
}

// tooMuch is why a line would give more than one could want to give for a single
// access, "" when it does not.
func (p *proposer) tooMuch(w want) string {
	at := w.Path
	switch {
	case at.Unstatable() != "":
		return at.Unstatable()
	case Stated(p.Binding, at).Unstatable() != "":
		return Stated(p.Binding, at).Unstatable()
	case w.List == "execute" && Stated(p.Binding, at).Root() == ir.Tmp:
		return "the tmp slot is empty when a run starts, so nothing in it is named to start"
	case w.List != "write":
		return ""
	case at.InSystemTree():
		return "it would take writing " + at.String() + ", which is the system's"
	case p.inHome(at):
		return fmt.Sprintf("it would take writing %s, and in a home directory nothing is proposed for writing but what lies in the workspace", Stated(p.Binding, at))
	case at.IsSystemDirectory() || p.holdsHomes(at):
		return fmt.Sprintf("it would take writing all of %s; make the file or directory beforehand, and let that be written", Stated(p.Binding, at))
	}
	if why := p.covers(at); why != "" {
		return fmt.Sprintf("it would take writing all of %s, where %s", Stated(p.Binding, at), why)
	}
	return ""
}
