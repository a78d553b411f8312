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
					c.find(d.body, commandNotExecutable(d, s, cmd, got))
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
			c.find(d.body, executeUnreadable(d, s, got))
		}
	}
}

// extendsBase is what a policy that extends nothing has usually forgotten.
const extendsBase = `; most programs need extends = ["std/base"] too`

// forgotten is extendsBase for a policy that extends nothing.
func (d *draft) forgotten() string {
	if len(d.body.source.Extends) > 0 {
		return ""
	}
	return extendsBase
}

// denied reports whether the policy itself denies exactly that path: to grant it,
// the statement must go, for a path has one level.
func (d *draft) denied(p ir.Path) bool {
	for _, s := range d.body.statements {
		r, ok := s.value.(ir.FileRule)
		if ok && r.Path == p && r.Level == ir.Deny {
			return true
		}
	}
	return false
}

// commandNotExecutable reports a command that could never start.
func commandNotExecutable(d *draft, s *statement, cmd ir.Command, got ir.Decision) diag.Diagnostic {
	found := diag.Diagnostic{
		Code: "command-not-executable",
		At:   s.at,
	}
	switch {
	case got.Reason == ir.NotExecutable:
		found.Message = fmt.Sprintf("command %s cannot start: no execute rule covers %s", cmd.Name, cmd.Executable)
		found.Help = fmt.Sprintf("add %q to execute", cmd.Executable) + d.forgotten()
	case got.Rule == nil:
		found.Message = fmt.Sprintf("command %s cannot start: no rule lets %s be read", cmd.Name, cmd.Executable)
		found.Help = fmt.Sprintf("add %q to read, and to execute", cmd.Executable) + d.forgotten()
	default:
		found.Message = fmt.Sprintf("command %s cannot start: %s decides that %s cannot be read", cmd.Name, got.Rule, cmd.Executable)
		found.Help = fmt.Sprintf("name another executable, or add %q to read", cmd.Executable)
		if d.denied(cmd.Executable) {
			found.Help = fmt.Sprintf("name another executable, or move %q from deny to read", cmd.Executable)
		}
		found.Related = []diag.Related{{At: d.ranges[got.Rule.From()], Message: "the rule that decides stands here"}}
	}
	return found
}

// executeUnreadable warns of an execute rule that can never let anything start.
func executeUnreadable(d *draft, s *statement, got ir.Decision) diag.Diagnostic {
	found := diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "execute-unreadable",
		At:       s.at,
		Message:  fmt.Sprintf("nothing at %s can be read, so nothing of it can start", s.key.path),
		Help:     fmt.Sprintf("add %q to read, or remove it from execute", s.key.path) + d.forgotten(),
	}
	if got.Rule != nil {
		found.Help = fmt.Sprintf("remove it from execute, or add %q to read", s.key.path)
		if d.denied(s.key.path) {
			found.Help = fmt.Sprintf("remove it from execute, or move %q from deny to read", s.key.path)
		}
		found.Related = []diag.Related{{At: d.ranges[got.Rule.From()], Message: got.Rule.String() + " stands here"}}
	}
	return found
}
