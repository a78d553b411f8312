package compiler

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// protections reports an optional read inside a write: were its path missing, the
// write would reach it. What surrounds a rule is known only after merging.
func protections(c *compilation) {
	for _, d := range c.drafts {
		if d.partial {
			continue
		}
		rules := map[ir.Path]*ir.FileRule{}
		for i := range d.policy.Files {
			rules[d.policy.Files[i].Path] = &d.policy.Files[i]
		}
		for _, s := range d.merged {
			r, ok := s.value.(ir.FileRule)
			if !ok || !r.Optional || r.Level != ir.Read || r.Path.Root() == ir.Config {
				continue
			}
			if around := surrounding(rules, r.Path); around != nil && around.Level == ir.Write {
				c.find(d.body, optionalCarveOut(s, around, d.ranges[around.Origin]))
			}
		}
	}
}

// surrounding is the rule that decides p when p's own is as if unsaid.
func surrounding(rules map[ir.Path]*ir.FileRule, p ir.Path) *ir.FileRule {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if r := rules[q]; r != nil && !r.Only {
			return r
		}
	}
	return nil
}

// optionalCarveOut reports a protection that would vanish when its path is
// missing.
func optionalCarveOut(s *statement, around *ir.FileRule, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "optional-protection",
		At:      s.at,
		Message: fmt.Sprintf("an optional read of %s inside a write protects it only while it is there", s.key.path),
		Help:    fmt.Sprintf("write %q: if it is missing, an empty file holds its place while the command runs", s.key.path),
		Related: []diag.Related{{At: at, Message: fmt.Sprintf("the write of %s stands here", around.Path)}},
	}
}
