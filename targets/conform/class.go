package conform

import "github.com/obspc/obspc/compiler/ir"

// Class is how a bound policy speaks of a path. Every atom of an artifact is
// constant on a named path and on what lies below it and below nothing else named
// (design 5.7, O2), so these are all the ways in which a path can matter.
type Class string

// The classes. Node: a rule about files names it. Named: only an execute rule
// does. Ancestor: nothing names it and something below it is named. Below: nothing
// names it nor anything below, and a rule covers it. Outside: no rule speaks of it.
const (
	Node     Class = "node"
	Named    Class = "named"
	Ancestor Class = "ancestor"
	Below    Class = "below"
	Outside  Class = "outside"
)

// Classes lists them in the order of the table.
func Classes() []Class { return []Class{Node, Named, Ancestor, Below, Outside} }

// Names is what a bound policy names, indexed.
type Names struct {
	files, execute, above map[ir.Path]bool
	policy                *ir.Policy
}

// NewNames indexes the bound policy p.
func NewNames(p *ir.Policy) *Names {
	n := &Names{map[ir.Path]bool{}, map[ir.Path]bool{}, map[ir.Path]bool{}, p}
	for _, r := range p.Files {
		if r.Path.Root() != ir.Config {
			n.files[r.Path] = true
			n.lead(r.Path)
		}
	}
	for _, r := range p.Execute {
		n.execute[r.Path] = true
		n.lead(r.Path)
	}
	return n
}

func (n *Names) lead(p ir.Path) {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		n.above[q] = true
	}
}

// Class is that of the bound path p.
func (n *Names) Class(p ir.Path) Class {
	switch {
	case n.files[p]:
		return Node
	case n.execute[p]:
		return Named
	case n.above[p]:
		return Ancestor
	}
	for _, r := range n.policy.Files {
		if r.Covers(p) {
			return Below
		}
	}
	return Outside
}

// holder is the nearest directory above p whose name a rule holds: it is named, or
// something below it is (design 5.1).
func (n *Names) holder(p ir.Path) ir.Path {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if n.files[q] || n.execute[q] || n.above[q] {
			return q
		}
	}
	return ir.Path{}
}

// Across reports whether a rename or link from p to q crosses a held directory,
// which bwrap declares tighter (design 5.5): the two have different holders, or
// what is linked is itself held.
func (n *Names) Across(r ir.Request) bool {
	if r.Kind != ir.RenameRequest && r.Kind != ir.LinkRequest {
		return false
	}
	held := n.files[r.Path] || n.execute[r.Path]
	return n.holder(r.Path) != n.holder(r.To) || r.Kind == ir.LinkRequest && held
}

// InsideWrite reports whether some write rule covers the bound path p, whatever a
// longer rule says.
func (n *Names) InsideWrite(p ir.Path) bool {
	for _, r := range n.policy.Files {
		if r.Level == ir.Write && r.Covers(p) {
			return true
		}
	}
	return false
}
