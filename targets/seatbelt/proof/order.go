package proof

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// order proves that what each root's rules decide does not depend on where the
// slots are bound (O3), so that the classes need not try every place.
//
// In each list the rules stand by root. Then, of the rules that match a path, the
// last is one of the latest root that speaks of it, and that root decides for the
// policy as well. Only two sorts of rules of an earlier root may stand behind those
// of a later one: they let something be seen, or keep a name, and each of their
// filters names single paths at or above what a rule of the policy names in their
// own root. No admissible binding puts a rule of a later root at or above such a
// path (ir.Policy.Admit), so they override nothing of a later root but other rules
// of their own sort, which say the same.
func (c *check) order() error {
	named := c.named()
	for _, lists := range c.lists {
		for _, a := range lists {
			latest := ir.Host
			for _, r := range a.list.Rules {
				root := rootOf(r)
				if !aboutPaths(r) {
					continue
				}
				if root < latest && !(adds(a.word, r) && single(r, named)) {
					detail := fmt.Sprintf("%s of macOS %s: a rule about %s stands behind one about %s, which it would override", a.operation, a.release, name(root), name(latest))
					return &Fault{Operation: a.operation, Release: a.release, Rule: r, Detail: detail}
				}
				latest = max(latest, root)
			}
		}
	}
	return nil
}

// adds reports whether a rule lets something be seen, or keeps a name.
func adds(word ir.RequestKind, r *fragment.Rule) bool {
	switch word {
	case ir.StatRequest:
		return r.Allow
	case ir.CreateRequest, ir.RemoveRequest:
		return !r.Allow
	}
	return false
}

// name is a root for people.
func name(r ir.Root) string {
	if r == ir.Host {
		return "the host's paths"
	}
	return r.String()
}

// named is every path that a rule of the policy names, every path above one, and the
// links that lead to one.
func (c *check) named() map[ir.Path]bool {
	out := map[ir.Path]bool{}
	add := func(p ir.Path) {
		for q := range p.Upward() {
			if out[q] {
				return
			}
			out[q] = true
		}
	}
	for _, p := range []*ir.Policy{c.policy, c.stated} {
		for _, r := range p.Files {
			add(r.Path)
		}
		for _, r := range p.Execute {
			add(r.Path)
		}
	}
	return out
}

// aboutPaths reports whether a rule speaks of paths at all.
func aboutPaths(r *fragment.Rule) bool {
	return slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool { return f.Kind <= fragment.Ancestors })
}

// rootOf is the latest root that a rule speaks of.
func rootOf(r *fragment.Rule) ir.Root {
	root := ir.Host
	for _, f := range r.Filters {
		root = max(root, f.Path.Root())
	}
	return root
}

// single reports whether each filter of a rule names single paths at or above what
// is named.
func single(r *fragment.Rule, named map[ir.Path]bool) bool {
	return !slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool {
		return f.Kind == fragment.Tree || !named[f.Path]
	})
}
