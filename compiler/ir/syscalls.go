package ir

import (
	"sync"

	"github.com/obspc/obspc/compiler/syscalls"
)

// SyscallRule denies a system call of Linux, or takes it off the list of those that
// no sandbox may make.
type SyscallRule struct {
	Name   string
	Allow  bool
	Origin Origin
}

func (r *SyscallRule) From() Origin { return r.Origin }
func (*SyscallRule) isRule()        {}

func (r SyscallRule) String() string {
	if r.Allow {
		return "allow syscall " + r.Name
	}
	return "deny syscall " + r.Name
}

// Syscall is what the policy says of the named call, nil when it does not speak of
// it.
func (p *Policy) Syscall(name string) *SyscallRule {
	for i := range p.Syscalls {
		if r := &p.Syscalls[i]; r.Name == name {
			return r
		}
	}
	return nil
}

// DeniesSyscalls reports whether the policy denies a call, so that its release has
// the programs that keep it.
func (p *Policy) DeniesSyscalls() bool {
	for _, r := range p.Syscalls {
		if !r.Allow {
			return true
		}
	}
	return false
}

// listed is a row of the list of calls that no sandbox may make, as a rule. It stands
// in no policy.
type listed struct{ syscalls.Refusal }

func (*listed) From() Origin { return "builtin/syscalls" }
func (*listed) isRule()      {}

func (r *listed) String() string {
	if r.Part != syscalls.All {
		return "deny syscall " + r.Call + " (" + string(r.Part) + ")"
	}
	return "deny syscall " + r.Call
}

// fixed is that list, by call.
var fixed = sync.OnceValue(func() map[string]*listed {
	out := map[string]*listed{}
	for _, r := range syscalls.Refused() {
		out[r.Call] = &listed{r}
	}
	return out
})

// SyscallChain lists what speaks of the named call, what decides first: the policy's
// own rule, then the list of those that no sandbox may make.
func (p *Policy) SyscallChain(name string) []Rule {
	var out []Rule
	if r := p.Syscall(name); r != nil {
		out = append(out, r)
	}
	if r := fixed()[name]; r != nil {
		out = append(out, r)
	}
	return out
}

// syscall decides about a system call: it may be made if some of it is carried out.
// Whatever no rule speaks of is allowed, unlike everything else; what a call is about
// (a path, a host) other requests ask.
func (d *Decider) syscall(name string) Decision {
	if r := d.syscalls[name]; r != nil {
		return Decision{Allow: r.Allow, Reason: ByStatement, Rule: r}
	}
	switch r := fixed()[name]; {
	case r != nil && r.Part == syscalls.All:
		return Decision{Reason: ByList, Rule: r}
	case r != nil:
		return Decision{Allow: true, Reason: InPart, Rule: r}
	}
	return Decision{Allow: true, Reason: NotListed}
}
