package diff

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// bindings tells of denies that keep slots out: a slot is never bound inside one
// of an earlier root. It speaks only where nothing else changes
// while slots lie apart.
func (v *view) bindings(joint map[ir.Root]trie) {
	root := v.trie[0].path.Root()
	slots := slices.DeleteFunc([]ir.Root{ir.Workspace, ir.Home}, func(s ir.Root) bool {
		return s <= root || !joint[s].named(before) || !joint[s].named(after)
	})
	if len(slots) == 0 || root == ir.Tmp {
		return
	}
	var groups grouping
	for i, n := range v.trie {
		if n.path.InSystemTree() && !n.path.IsRoot() {
			continue
		}
		for depth, f := range v.findings[i] {
			for side, r := range f.rules() { // side denies, the other admits
				if r == nil || r.Level != ir.Deny || f.only[1-side] != 0 {
					continue
				}
				k := key{side: 1 - side, cause: byBinding}
				k.rules[side] = r
				if other := f.rules()[1-side]; other != nil {
					if other.Level == ir.Deny {
						continue
					}
					k.rules[1-side] = other
				}
				groups.add(k, place{n, depth}, readWord)
			}
		}
	}
	for _, g := range groups.list {
		v.admits(g, slots)
	}
}

// admits tells of a group where a slot may lie under one policy only.
func (v *view) admits(g *group, slots []ir.Root) {
	change := Change{Kind: BindingAdmitted}
	if g.key.side == before {
		change.Kind = BindingRefused
	}
	g.extent(&change)
	change.Old, change.New = v.statement(g.key.rules[before]), v.statement(g.key.rules[after])
	home := ir.MustPath("/").Join(v.fresh).Join(v.fresh)
	// The first classes are enough: below a deny every place is refused, and at its
	// own path only a directory of the system can stand in the way.
	for _, p := range g.order[:min(len(g.order), 8)] {
		at := p.path(v.fresh)
		for _, slot := range slots {
			b := ir.Binding{}
			if at.Root() == ir.Home {
				b = b.With(ir.Home, home)
			}
			b = b.With(slot, b.Path(at))
			if v.policies[g.key.side].Admit(b) == nil && v.policies[1-g.key.side].Admit(b) != nil {
				change.Witnesses = []Witness{{Text: "bind " + slot.String() + "=" + at.String(), Binding: b}}
				v.changes = append(v.changes, change)
				return
			}
		}
	}
}
