package diff

import "github.com/obspc/obspc/compiler/ir"

// calls compares system calls: those that either policy names, for what neither does
// is the same under both.
func (c *comparison) calls() {
	name := func(r ir.SyscallRule) string { return r.Name }
	match(c.policies[before].Syscalls, c.policies[after].Syscalls, name, func(old, new *ir.SyscallRule) {
		var rule *ir.SyscallRule
		if rule = new; rule == nil {
			rule = old
		}
		ask := ir.Request{Kind: ir.SyscallRequest, Syscall: rule.Name}
		was, is := c.deciders[before].Decide(ask), c.deciders[after].Decide(ask)
		if was.Allow == is.Allow {
			return // said or not, it is carried out as before
		}
		change := Change{
			Kind: GrantAdded, Subject: rule.Name, Words: []ir.RequestKind{ir.SyscallRequest}, Witnesses: []Witness{{Request: ask}},
			Old: callStatement(old), New: callStatement(new), scope: []string{ask.String()},
		}
		if was.Allow {
			change.Kind = GrantRemoved
		}
		c.tell(change)
	})
}

func callStatement(r *ir.SyscallRule) *Statement {
	if r == nil {
		return nil
	}
	return &Statement{r.String(), r.Origin}
}
