package targets

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/seccomp"
)

// mismatch reports a request that artifacts decide unlike the policy.
func (v *validator) mismatch(file string, r ir.Request, d ir.Decision, machine string) *ValidationError {
	e := &ValidationError{Policy: v.policy.Name, Artifact: file, Request: &r, Machine: machine}
	e.Allowed.Policy, e.Allowed.Artifact = d.Allow, !d.Allow
	if d.Rule != nil {
		e.Origin, e.Statement = d.Rule.From(), d.Rule.String()
	}
	return e
}

// mismatch adds which layer of the Linux artifacts decides, and where it says so.
func (s *sandbox) mismatch(r ir.Request, d ir.Decision) error {
	e := s.validator.mismatch(bwrapFile, r, d, s.machine.String())
	if rule := s.stated(d.Rule); rule != nil {
		e.Statement = rule.String()
	}
	reads := s.table.Access(r.Path).Read
	switch {
	case r.Kind == ir.ExecuteRequest && (e.Allowed.Artifact || reads):
		e.Artifact, e.Place = bwrapFile+" with "+landlockFile, s.landlockPlace(r.Path)
	case r.Kind == ir.ConnectUnixRequest && (e.Allowed.Artifact || reads):
		e.Artifact, e.Place = bwrapFile+" with seccomp", s.socketPlace()
	default:
		e.Place = s.mountPlace(r.Path)
	}
	return e
}

// withheld reports a request that policy and mounts allow and Landlock does not.
func (s *sandbox) withheld(r ir.Request, d ir.Decision) error {
	e := s.validator.mismatch(landlockFile, r, d, s.machine.String())
	e.Allowed.Artifact = false
	if rule := s.stated(d.Rule); rule != nil {
		e.Statement = rule.String()
	}
	list := "/write"
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest, ir.ExecuteRequest:
		list = "/read, none of /write"
	}
	e.Place = landlockFile + ": no rule of " + list
	return e
}

// stated is the rule with its slots, as the policy has it; nil for no rule about a
// path.
func (s *sandbox) stated(bound ir.Rule) ir.Rule {
	switch bound := bound.(type) {
	case *ir.FileRule:
		for i := range s.policy.Files {
			if r := &s.policy.Files[i]; s.machine.binding.Path(r.Path) == bound.Path {
				return r
			}
		}
	case *ir.ExecuteRule:
		for i := range s.policy.Execute {
			if r := &s.policy.Execute[i]; s.machine.binding.Path(r.Path) == bound.Path {
				return r
			}
		}
	}
	return nil
}

// mountPlace is the line of bwrap.args.txt that decides the bound path.
func (s *sandbox) mountPlace(p ir.Path) string {
	m := s.table.Decides(p)
	for _, o := range s.read.Set.Operations {
		if s.machine.binding.Path(o.Path) == m.Path {
			return s.line(o)
		}
	}
	return ""
}

func (v *validator) line(o bwrap.Operation) string {
	n, text := v.read.Set.Line(o.Path)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: %s", argsFile, n, text)
}

// landlockPlace is the rule that lets the bound path start; without one, that
// there is none.
func (s *sandbox) landlockPlace(p ir.Path) string {
	rules := s.read.Landlock
	if !rules.Programs {
		return landlockFile + ": everything starts"
	}
	best := -1
	for i, r := range rules.Execute {
		at := s.machine.binding.Path(r.Path)
		if (at == p || !r.Only && at.Covers(p)) && (best < 0 || at.Depth() > s.machine.binding.Path(rules.Execute[best].Path).Depth()) {
			best = i
		}
	}
	if best < 0 {
		return landlockFile + ": no rule of /execute"
	}
	return landlockMember("execute", best, rules.Execute[best])
}

func landlockMember(right string, i int, r landlock.Rule) string {
	return fmt.Sprintf("%s: /%s/%d (%s)", landlockFile, right, i, r.Path)
}

// socketPlace is where the disassembly speaks of Unix-domain sockets.
func (v *validator) socketPlace() string {
	for _, arch := range seccomp.Arches() {
		for i, line := range strings.Split(string(v.files[seccompText(arch)]), "\n") {
			if strings.Contains(line, "AF_UNIX") {
				return fmt.Sprintf("%s:%d: %s", seccompText(arch), i+1, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return ""
}
