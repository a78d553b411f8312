package diff

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Beside the places below nodes of earlier roots there are bindings that put a
// path of the slot on or below a very node. They matter where no directory for
// the slot has the node's state:
//
//   - An only() says something about one node that holds of nothing below it.
//   - Inside a deny no slot is bound, but one bound above it may have rules that
//     reach into it.
//
// Each costs the rules that speak of the meeting paths, not those of the policies.

// meeting is one such state: what is said at the node and below it, and the
// slot's class there. One binding is enough for each.
type meeting struct {
	stands [2]standing
	below  around
	class  place
}

// standing is what a policy says at a node, as far as it matters there.
type standing struct {
	level     stated
	only, run bool
}

// alignment compares where nodes of an earlier root meet paths of a slot. Earlier
// binds that root, if it is a slot itself.
type alignment struct {
	*comparison
	slot    ir.Root
	slots   trie
	named   [2]bool          // by side: rules start in the slot
	index   map[string]*node // the slot's trie, by path
	earlier nesting
	over    []*node           // the host's nodes that the earlier root lies in
	rules   map[*node][2]bool // nodes of the earlier root at or above a rule, by side
	admits  map[*node]bool    // whether the slot can be bound there
	met     map[meeting]bool
}

// aligned compares every meeting for one slot.
func (c *comparison) aligned(joint map[ir.Root]trie, slot ir.Root, homes []nesting) {
	a := alignment{
		comparison: c, slot: slot, slots: joint[slot], named: [2]bool{joint[slot].named(before), joint[slot].named(after)},
		index: make(map[string]*node, len(joint[slot])), met: map[meeting]bool{},
	}
	for _, n := range a.slots {
		a.index[n.path.Rel()] = n
	}
	a.in(joint[ir.Host], nesting{}, nil)
	if slot == ir.Workspace && joint[ir.Home] != nil {
		for _, home := range homes {
			a.in(joint[ir.Home], home, joint[ir.Host].around(home.at))
			a.above(joint[ir.Home][0])
		}
	}
}

// around lists the nodes at and above p.
func (t trie) around(p ir.Path) []*node {
	var out []*node
	for _, n := range t {
		if n.path.Covers(p) {
			out = append(out, n)
		}
	}
	return out
}

// in compares the meetings with one root.
func (a *alignment) in(t trie, earlier nesting, over []*node) {
	a.earlier, a.over, a.rules, a.admits = earlier, over, t.ruled(), map[*node]bool{}
	for _, n := range t {
		if (n.single() || n.closed()) && !n.path.InSystemTree() {
			a.meet(n)
		}
	}
}

// ruled marks, by side, the nodes at or above a rule.
func (t trie) ruled() map[*node][2]bool {
	out := make(map[*node][2]bool, len(t))
	for _, n := range slices.Backward(t) { // children before parents
		here := out[n]
		for side := range here {
			here[side] = here[side] || n.named(side)
		}
		out[n] = here
		if n.parent != nil {
			up := out[n.parent]
			out[n.parent] = [2]bool{up[before] || here[before], up[after] || here[after]}
		}
	}
	return out
}

// named reports whether a policy has a rule at the node.
func (n *node) named(side int) bool { return n.file[side] != nil || n.run[side] != nil }

// single reports whether a rule speaks of the node alone.
func (n *node) single() bool {
	for side := range n.file {
		if f, r := n.file[side], n.run[side]; f != nil && f.Only || r != nil && r.Only {
			return true
		}
	}
	return false
}

// closed reports whether a deny keeps slots from being bound below the node.
func (n *node) closed() bool {
	return n.below.level[before] == denied || n.below.level[after] == denied
}

// stands is what a policy says at the node.
func (n *node) stands(side int) standing {
	var out standing
	if f := n.file[side]; f != nil {
		out.level, out.only = states(f.Level), f.Only
	}
	out.run = n.run[side] != nil
	return out
}

// meet binds the slot to the node and to each directory above it.
func (a *alignment) meet(n *node) {
	m := meeting{below: a.earlier.around.over(n.below)}
	for side := range m.stands {
		m.stands[side] = n.stands(side)
	}
	closed := n.closed()
	rel := ir.RootPath(a.slot)
	for y := n; y != nil; y = y.parent {
		if y.path.IsRoot() {
			return // "/" is no place, and that of the earlier slot is taken
		}
		m.class = a.classOf(rel)
		here := m.class.depth == itself || m.class.node.below != around{}
		under := m.class.depth == itself && len(m.class.node.children) > 0
		if !a.met[m] && (here || under) && a.admitsAt(y) {
			a.met[m] = true
			a.compare(a.binding(y), n, m.class, rel, here, under, closed)
		}
		rel = ir.RootPath(a.slot).Join(n.path.Rel()[len(y.path.Rel())-len(y.path.Base()):])
	}
}

// classOf is the class of a path of the slot.
func (a *alignment) classOf(p ir.Path) place {
	if n := a.index[p.Rel()]; n != nil {
		return place{n, itself}
	}
	for q := range p.Upward() {
		if n := a.index[q.Rel()]; n != nil {
			return place{n, beneath}
		}
	}
	panic("bug in obspc: a trie lacks its root")
}

// admitsAt reports whether both policies admit the slot at y: as ir.Policy.Admit,
// at the cost of what the two tries have in common below it.
func (a *alignment) admitsAt(y *node) bool {
	known, ok := a.admits[y]
	if !ok {
		known = (&ir.Policy{}).Admit(a.binding(y)) == nil // no directory of the system
		for side, named := range a.named {
			known = known && !(named && (a.level(side, y) == denied || a.collides(side, a.slots[0], y)))
		}
		a.admits[y] = known
	}
	return known
}

// binding binds the slot to y.
func (a *alignment) binding(y *node) ir.Binding {
	return a.earlier.binding.With(a.slot, a.earlier.binding.Path(y.path))
}

// level is what earlier roots say about the node.
func (a *alignment) level(side int, n *node) stated {
	for up := n; up != nil; up = up.parent {
		if r := up.file[side]; r != nil && (!r.Only || up == n) {
			return states(r.Level)
		}
	}
	return a.earlier.around.level[side]
}

// collides reports whether a rule of the slot at or below s would stand at or above
// an earlier one at or below n, s lying at n.
func (a *alignment) collides(side int, s, n *node) bool {
	if !a.rules[n][side] {
		return false
	}
	if s.named(side) {
		return true
	}
	for _, pair := range common(s.children, n.children) {
		if a.collides(side, pair[0], pair[1]) {
			return true
		}
	}
	return false
}

// common pairs the nodes of two lists of siblings, sorted by name, that have one
// name.
func common(a, b []*node) [][2]*node {
	if len(a) > len(b) {
		var out [][2]*node
		for _, pair := range common(b, a) {
			out = append(out, [2]*node{pair[1], pair[0]})
		}
		return out
	}
	var out [][2]*node
	for _, x := range a {
		i, ok := slices.BinarySearchFunc(b, x.path.Base(), func(n *node, name string) int { return strings.Compare(n.path.Base(), name) })
		if ok {
			out = append(out, [2]*node{x, b[i]})
		}
	}
	return out
}

// above compares the meetings with the earlier slot inside this one: the root of
// that lies at each path that this slot names and has no rule at or above.
func (a *alignment) above(root *node) {
	for side, named := range a.named {
		if named && a.earlier.around.level[side] == denied {
			return
		}
	}
	for _, s := range a.slots[1:] {
		if a.open(root, s) {
			at := a.earlier.at.Join(s.path.Rel())
			a.meetAll(a.earlier.binding.With(root.path.Root(), at).With(a.slot, a.earlier.at), root, s)
		}
	}
}

// open reports whether both policies admit that the earlier slot lies at s.
func (a *alignment) open(root, s *node) bool {
	for side := range 2 {
		if a.rules[root][side] && (s.parent.ruledAbove(side) || a.collides(side, s, root)) {
			return false
		}
	}
	return true
}

// meetAll compares every meeting of the nodes at and below two that lie at one
// path.
func (a *alignment) meetAll(b ir.Binding, n, s *node) {
	single, closed := n.single(), n.closed()
	m := meeting{below: a.earlier.around.over(n.below), class: place{s, itself}}
	for side := range m.stands {
		m.stands[side] = n.stands(side)
	}
	if (single || closed) && !a.met[m] {
		a.met[m] = true
		a.compare(b, n, m.class, s.path, true, len(s.children) > 0, closed)
	}
	for _, pair := range common(n.children, s.children) {
		a.meetAll(b, pair[0], pair[1])
	}
}

// compare asks about the class itself (here) and about what the slot names below
// it (under), under a binding that puts rel at n.
func (a *alignment) compare(b ir.Binding, n *node, class place, rel ir.Path, here, under, closed bool) {
	v := view{comparison: a.comparison, binding: b}
	for side := range v.deciders {
		v.deciders[side] = ir.NewDecider(a.excerpt(side, n, class.node, v.binding))
	}
	if here {
		v.trie = trie{class.node}
		if class.depth == itself {
			v.pass(n.told[itself], n.told[beneath])
		} else {
			v.at = rel
			v.pass([2]words{every, every}, n.told[itself])
		}
	}
	if under {
		v.trie, v.at = class.node.children, ir.Path{}
		if closed {
			v.trie = class.node.all(nil)[1:]
		}
		v.pass(n.told[beneath], n.told[beneath])
	}
}

// excerpt is the policy, bound, less what speaks neither of the two nodes, which lie
// at one path, nor of what lies below them.
func (a *alignment) excerpt(side int, n, s *node, b ir.Binding) *ir.Policy {
	nodes := slices.Clone(a.over)
	for _, m := range []*node{n, s} {
		for up := m.parent; up != nil; up = up.parent {
			nodes = append(nodes, up)
		}
		nodes = m.all(nodes)
	}
	p := &ir.Policy{Unix: a.policies[side].Unix}
	for _, m := range nodes {
		if r := m.file[side]; r != nil {
			bound := *r
			bound.Path = b.Path(r.Path)
			p.Files = append(p.Files, bound)
		}
		if r := m.run[side]; r != nil {
			bound := *r
			bound.Path = b.Path(r.Path)
			p.Execute = append(p.Execute, bound)
		}
	}
	return p
}

// all is n and all below it, parents before children.
func (n *node) all(list trie) trie {
	list = append(list, n)
	for _, child := range n.children {
		list = child.all(list)
	}
	return list
}
