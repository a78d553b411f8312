package live

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// nothing is a file whose contents a write does not change (null(4)).
var nothing = ir.MustPath("/dev/null")

// cannot says why a request is not tried whatever the policy, "" when it is. asked
// is the binding of the machine it is meant for.
func (b *Bench) cannot(asked ir.Binding, q ir.Request) string {
	switch q.Kind {
	case ir.ConnectRequest, ir.URLRequest:
		return "connections are not tried: they need a peer that answers"
	case ir.ConnectUnixRequest:
		return "sockets are not tried: they need a service that listens"
	case ir.SyscallRequest:
		return callCannot(q.Syscall)
	}
	paths := []ir.Path{q.Path}
	if q.Kind.Pairs() {
		paths = append(paths, q.To)
	}
	for _, p := range paths {
		for _, slot := range ir.Slots() {
			if at, bound := asked.At(slot); bound && at.Covers(p) {
				return fmt.Sprintf("it lies where the test binds %s; write ${%s}/…, which lies elsewhere here", slot, slot)
			}
		}
		if why := b.unreachable(q, p, b.place(p)); why != "" {
			return why
		}
	}
	return ""
}

// unreachable says why an attempt cannot be about the path p, which lies at here.
func (b *Bench) unreachable(q ir.Request, p, here ir.Path) string {
	fresh := b.isFresh(here)
	switch {
	case p.Root() == ir.Tmp && !fresh:
		return "the tmp directory is new in every run, so nothing can be put there beforehand"
	case here.Root() == ir.Home:
		return "the user database has no home directory for this user"
	case here.Root() != ir.Host:
		return fmt.Sprintf("nothing lies in ${%s} here", here.Root())
	case q.Kind.Changes() && !fresh && (q.Kind != ir.WriteRequest || here != nothing):
		return "only what lies in " + b.ownNames() + " is changed to try it: for the control it is changed outside the sandbox"
	}
	return ""
}

// ownNames are the slots whose contents are the bench's, as policies write them.
func (b *Bench) ownNames() string {
	names := make([]string, len(b.own))
	for i, slot := range b.own {
		names[i] = ir.RootPath(slot).String()
	}
	return strings.Join(names, ", ")
}

// elsewhere says why the request has another answer here than where it is meant:
// slots lie elsewhere, or the statements of the program that attempts decide it.
func (b *Bench) elsewhere(p *ir.Policy, asked ir.Binding, with *ir.Policy, q ir.Request) string {
	here, err := with.Bind(b.binding)
	if err != nil {
		return "the policy does not run here: " + err.Error()
	}
	have := ir.Decide(here, b.placed(q))
	if verdict(have.Allow) != decided(p, asked, q) {
		return fmt.Sprintf("here, where slots lie elsewhere and the program that attempts may start, the policy says %s", verdict(have.Allow))
	}
	if rule, ok := have.Rule.(*ir.FileRule); ok && rule.Backing != ir.HostFile && b.traits.Private {
		return "it is the sandbox's own, and the host's is another"
	}
	return ""
}

// decided is what the policy means on a machine with that binding, "" when no
// machine has it.
func decided(p *ir.Policy, at ir.Binding, q ir.Request) Verdict {
	bound, err := p.Bind(at)
	if err != nil {
		return ""
	}
	q.Path, q.To = at.Path(q.Path), at.Path(q.To)
	return verdict(ir.Decide(bound, q).Allow)
}
