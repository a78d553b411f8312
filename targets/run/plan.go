// Package run turns a policy into run.json: what the runtime itself enforces,
// beside the kernel. Which governed commands there are and what a caller may fill
// in, what they may print, the environment, the limits, the slots to bind.
//
// Its one rule: a caller chooses values, never structure. A field's value becomes
// part of one argument, or an argument of its own, and no text is parsed again
// on the way to execve. What files and sockets are open is not decided here; that
// is in the packages of the kernel's layers.
package run

import (
	"bytes"
	"maps"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// Plan is what the runtime enforces for one policy. Slots lists, in root order,
// the slots that some statement uses. Execute is here for the search path; the
// kernel's layers enforce it. Variables are the policy's own, see Environment. The
// other lists are sorted as in ir.Policy.
type Plan struct {
	Policy    string
	Version   int64
	Workspace ir.WorkspaceKind
	Slots     []ir.Root
	Unix      ir.UnixRule
	Execute   []ir.ExecuteRule
	Variables []ir.Variable
	Limits    []ir.Limit
	Commands  []Command
}

// Command is a governed command that a caller can choose.
type Command struct{ ir.Command }

// Compile makes the plan of p.
func Compile(p *ir.Policy) *Plan {
	plan := &Plan{
		Policy: p.Name, Version: p.Version, Workspace: p.Workspace, Slots: slotsOf(p), Unix: p.Unix,
		Execute: p.Execute, Variables: p.Environment, Limits: p.Limits,
	}
	for _, c := range p.Commands {
		plan.Commands = append(plan.Commands, Command{c})
	}
	return plan
}

// slotsOf collects every slot that a path or a value of p starts in or holds.
func slotsOf(p *ir.Policy) []ir.Root {
	used := map[ir.Root]bool{}
	value := func(v ir.Value) {
		for _, part := range v {
			if slot, ok := part.(ir.SlotRef); ok {
				used[ir.Root(slot)] = true
			}
		}
	}
	for _, r := range p.Files {
		used[r.Path.Root()] = true
	}
	for _, r := range p.Execute {
		used[r.Path.Root()] = true
	}
	for _, v := range p.Environment {
		value(v.Value)
	}
	for _, c := range p.Commands {
		used[c.Executable.Root()] = true
		for _, a := range c.Arguments {
			value(a)
		}
	}
	delete(used, ir.Host)
	return slices.Sorted(maps.Keys(used))
}

// Command is the governed command of that name.
func (p *Plan) Command(name string) (Command, bool) {
	for _, c := range p.Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// Limit is the policy's value of the limit n, and whether it states one.
func (p *Plan) Limit(n ir.LimitName) (int64, bool) {
	for _, l := range p.Limits {
		if l.Name == n {
			return l.Value, true
		}
	}
	return 0, false
}

// Uses reports whether some statement uses the slot.
func (p *Plan) Uses(slot ir.Root) bool { return slices.Contains(p.Slots, slot) }

// Equal reports whether both plans are the same, origins included.
func (p *Plan) Equal(q *Plan) bool { return bytes.Equal(p.JSON(), q.JSON()) }
