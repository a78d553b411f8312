package compiler

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// programs asks whether what is to start can start: the executable of every
// command, and something for every execute rule.
func programs(c *compilation) {
	for _, d := range c.drafts {
		if d.partial {
			continue
		}
		decider := ir.NewDecider(d.policy)
		for _, s := range d.merged {
			if cmd, ok := s.value.(ir.Command); ok {
				got := decider.Decide(ir.Request{Kind: ir.ExecuteRequest, Path: cmd.Executable})
				if !got.Allow && got.Depends == 0 {
					c.find(d.body, commandNotExecutable(s, cmd, got, d.ranges))
				}
			}
		}
		c.unreadable(d, decider)
	}
}

// unreadable warns of execute rules under which nothing can be read.
func (c *compilation) unreadable(d *draft, decider *ir.Decider) {
	leads := map[ir.Path]bool{} // what is readable, and everything above it
	for _, r := range d.policy.Files {
		if r.Level < ir.Read || r.Path.Root() == ir.Config {
			continue
		}
		for p := range r.Path.Upward() {
			if leads[p] {
				break
			}
			leads[p] = true
		}
	}
	for _, s := range d.merged {
		r, ok := s.value.(ir.ExecuteRule)
		if !ok || leads[r.Path] && !r.Only {
			continue
		}
		got := decider.Decide(ir.Request{Kind: ir.ReadRequest, Path: r.Path})
		if !got.Allow && got.Depends == 0 {
			c.find(d.body, executeUnreadable(s, got, d.ranges))
		}
	}
}

// commandNotExecutable reports a command that could never start.
func commandNotExecutable(s *statement, cmd ir.Command, got ir.Decision, ranges map[ir.Origin]diag.Range) diag.Diagnostic {
	d := diag.Diagnostic{
		Code: "command-not-executable",
		At:   s.at,
	}
	switch {
	case got.Reason == ir.NotExecutable:
		d.Message = fmt.Sprintf("command %s cannot start: no execute rule covers %s", cmd.Name, cmd.Executable)
		d.Help = fmt.Sprintf("add %q to execute", cmd.Executable)
	case got.Rule == nil:
		d.Message = fmt.Sprintf("command %s cannot start: no rule lets %s be read", cmd.Name, cmd.Executable)
		d.Help = fmt.Sprintf("add %q to read, and to execute", cmd.Executable)
	default:
		d.Message = fmt.Sprintf("command %s cannot start: %s decides that %s cannot be read", cmd.Name, got.Rule, cmd.Executable)
		d.Help = fmt.Sprintf("name another executable, or add %q to read", cmd.Executable)
		d.Related = []diag.Related{{At: ranges[got.Rule.From()], Message: "the rule that decides stands here"}}
	}
	return d
}

// executeUnreadable warns of an execute rule that can never let anything start.
func executeUnreadable(s *statement, got ir.Decision, ranges map[ir.Origin]diag.Range) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "execute-unreadable",
		At:       s.at,
		Message:  fmt.Sprintf("nothing at %s can be read, so nothing of it can start", s.key.path),
		Help:     fmt.Sprintf("add %q to read, or remove it from execute", s.key.path),
	}
	if got.Rule != nil {
		d.Related = []diag.Related{{At: ranges[got.Rule.From()], Message: got.Rule.String() + " stands here"}}
	}
	return d
}
