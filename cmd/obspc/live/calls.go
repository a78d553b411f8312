package live

import (
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// tryCall makes a system call outside and inside, with arguments that mean nothing,
// so that it does nothing. A filter is asked before the kernel looks at arguments: what
// it says of them outside, which has to be something that no filter says, is said
// inside where the call is let through.
func (b *Bench) tryCall(o Observation, s *subject, q ir.Request) Observation {
	word, args := string(q.Kind), []string{q.Syscall}
	nodes := treeFor(s.policy, b.binding, ir.Request{Kind: ir.StatRequest, Path: b.place(ir.RootPath(ir.Workspace))}, b.isFresh)
	outside, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.control(word, args) })
	switch {
	case err != nil:
		return o.untried("the attempt outside the sandbox cannot be made: %v", err)
	case outside == unix.ENOSYS:
		o.Control = unix.ErrnoName(outside)
		return o.untried("this kernel does not have the call (ENOSYS), or says so of arguments that mean nothing")
	case outside == unix.EPERM:
		o.Control = unix.ErrnoName(outside)
		return o.untried("it fails outside the sandbox as well, with EPERM, which a filter would say too")
	}
	o.Control, o.Heard = string(Allow), unix.ErrnoName(outside)
	var refusals []string
	inside, err := b.fresh(nodes, func() (_ syscall.Errno, err error) {
		if refusals, err = s.sandbox.Refusals(b.seen(), q); err != nil {
			return 0, err
		}
		return b.sandboxed(s, word, args)
	})
	switch errno := unix.ErrnoName(inside); {
	case err != nil:
		return o.untried("%v", err)
	case inside == outside:
		o.Kernel = Allow
	case slices.Contains(refusals, errno):
		o.Kernel, o.Errno = Deny, errno
	case len(refusals) > 0:
		return o.untried("it ended with %s, and the sandbox refuses it with %s", said(errno), strings.Join(refusals, " or "))
	case inside == unix.EPERM || inside == unix.ENOSYS:
		return o.untried("it failed with %s, which the kernel says for want of a capability too; outside it ended with %s", errno, said(o.Heard))
	default:
		o.Kernel = Allow // no filter says that
	}
	return o
}

// said is the name of an error, or what is said without one.
func said(errno string) string {
	if errno == "" {
		return "success"
	}
	return errno
}
