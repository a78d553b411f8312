package diff

import "github.com/obspc/obspc/compiler/ir"

// Beside the places below nodes of earlier roots there are bindings that put a
// path of the slot on or below a very node. They matter where no directory for
// the slot has the node's state:
//
//   - An only() says something about one node that holds of nothing below it.
//   - Inside a deny no slot is bound, but one bound above it may have rules that
//     reach into it.

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

// alignment compares where nodes of earlier roots meet paths of one slot.
type alignment struct {
	*comparison
	slot  ir.Root
	index map[string]*node // the slot's trie, by path
	met   map[meeting]bool
}

// aligned compares every meeting for one slot.
func (c *comparison) aligned(joint map[ir.Root]trie, slot ir.Root, homes []nesting) {
	a := alignment{c, slot, make(map[string]*node, len(joint[slot])), map[meeting]bool{}}
	for _, n := range joint[slot] {
		a.index[n.path.Rel()] = n
	}
	for _, n := range joint[ir.Host] {
		if !n.path.InSystemTree() {
			a.meet(n, nesting{})
		}
	}
	if slot != ir.Workspace {
		return
	}
	for _, home := range homes {
		for _, n := range joint[ir.Home] {
			a.meet(n, home)
		}
	}
}

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

// meet binds the slot to the node and to each directory above it. Earlier binds
// the root of the node, if it is a slot.
func (a *alignment) meet(n *node, earlier nesting) {
	single, closed := n.single(), n.closed()
	if !single && !closed {
		return
	}
	m := meeting{below: earlier.around.over(n.below)}
	for side := range m.stands {
		m.stands[side] = n.stands(side)
	}
	at := earlier.binding.Path(n.path)
	for y := range at.Upward() {
		if y.IsRoot() || y == earlier.at {
			return
		}
		rel := ir.RootPath(a.slot)
		if y != at {
			rel = rel.Join(at.Rel()[len(y.Rel())+1:])
		}
		m.class = a.classOf(rel)
		here := single && (m.class.depth == itself || m.class.node.below != around{})
		under := m.class.depth == itself && len(m.class.node.children) > 0
		if a.met[m] || !here && !under {
			continue
		}
		v := view{comparison: a.comparison, binding: earlier.binding.With(a.slot, y)}
		if !v.bind() {
			continue
		}
		a.met[m] = true
		if here {
			v.trie = trie{m.class.node}
			if m.class.depth == itself {
				v.pass(n.told[itself], n.told[beneath])
			} else {
				v.at = rel
				v.pass([2]words{every, every}, n.told[itself])
			}
		}
		if under {
			v.trie, v.at = m.class.node.children, ir.Path{}
			if closed {
				v.trie = m.class.node.all(nil)[1:]
			}
			v.pass(n.told[beneath], n.told[beneath])
		}
	}
}

// bind binds both policies, if both admit it.
func (v *view) bind() bool {
	for side, p := range v.policies {
		bound, err := p.Bind(v.binding)
		if err != nil {
			return false
		}
		v.deciders[side] = ir.NewDecider(bound)
	}
	return true
}

// pass asks and tells about the view's nodes. Earlier roots tell of the words own
// about nodes themselves and of below about what lies below them.
func (v *view) pass(own, below [2]words) {
	v.elsewhere = [2][2]words{own, below}
	v.ask()
	v.tell()
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

// all is n and all below it, parents before children.
func (n *node) all(list trie) trie {
	list = append(list, n)
	for _, child := range n.children {
		list = child.all(list)
	}
	return list
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
