package proof

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// tags holds what the system's log will say of a violation to the policy: its name,
// and for a rule about paths a statement that is about one of them or about
// something below. A tag decides nothing, but people and tools will believe it.
func (c *check) tags() error {
	name := "obspc " + c.stated.Name
	if c.profile.Tag != name {
		return &Fault{Detail: "what nothing allows is not recorded as " + name}
	}
	for _, r := range c.profile.Rules {
		if r.Allow {
			continue
		}
		origin, stated := strings.CutPrefix(r.Tag, name+" ")
		if stated && !c.about(r, ir.Origin(origin)) || !stated && (r.Tag != name || slices.ContainsFunc(r.Filters, stands)) {
			return &Fault{Rule: r, Detail: "what the rule denies is recorded as " + r.Tag + ", and no such statement of the policy is about it"}
		}
	}
	return nil
}

// stands reports whether a statement of the policy is behind the filter. Above a
// slot's directory names are kept whatever the statements in it say.
func stands(f fragment.Filter) bool {
	return f.Kind == fragment.Node || f.Kind == fragment.Tree || f.Kind == fragment.Remote
}

// about reports whether a statement of that origin is about what the rule denies.
func (c *check) about(r *fragment.Rule, origin ir.Origin) bool {
	return slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool {
		switch f.Kind {
		case fragment.Remote:
			return origin == c.policy.Unix.Origin
		case fragment.Node, fragment.Tree:
			return slices.ContainsFunc(c.policy.Files, func(s ir.FileRule) bool { return s.Origin == origin && f.Path.Covers(s.Path) }) ||
				slices.ContainsFunc(c.policy.Execute, func(s ir.ExecuteRule) bool { return s.Origin == origin && f.Path.Covers(s.Path) })
		}
		return false
	})
}
