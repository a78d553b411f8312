package landlock

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// everythingStarts reports whether the policy lets everything readable start, by
// ir.Decide, so that no start is left to refuse. A rule may be unsaid on some
// machine when it is optional, so optional execute rules do not count.
//
// Decide is constant on each path that the policy names or leads through, and on
// what lies below it and below nothing else named; those are asked.
func everythingStarts(p *ir.Policy) bool {
	sure := *p
	sure.Execute = slices.DeleteFunc(slices.Clone(p.Execute), func(r ir.ExecuteRule) bool { return r.Optional })
	d := ir.NewDecider(&sure)
	starts := func(at ir.Path) bool {
		return !d.Decide(ir.Request{Kind: ir.ReadRequest, Path: at}).Allow ||
			d.Decide(ir.Request{Kind: ir.ExecuteRequest, Path: at}).Allow
	}
	named := namedPaths(p)
	for at := range named {
		if !starts(at) || !starts(unnamedBelow(at, named)) {
			return false
		}
	}
	return true
}

// namedPaths is every path of p's rules and every ancestor, the roots of slots
// included even when no rule starts there.
func namedPaths(p *ir.Policy) map[ir.Path]bool {
	named := map[ir.Path]bool{{}: true}
	add := func(at ir.Path) {
		for q := range at.Upward() {
			named[q] = true
		}
	}
	for _, slot := range ir.Slots() {
		named[ir.RootPath(slot)] = true
	}
	for _, r := range p.Files {
		add(r.Path)
	}
	for _, r := range p.Execute {
		add(r.Path)
	}
	return named
}

// unnamedBelow stands for everything below at that nothing named covers.
func unnamedBelow(at ir.Path, named map[ir.Path]bool) ir.Path {
	name := "_"
	for named[at.Join(name)] {
		name += "_"
	}
	return at.Join(name)
}
