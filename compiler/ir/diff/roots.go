package diff

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// nesting is one state of what earlier roots say around a slot's place, and a
// binding that brings it about. Shown, by side: the directory that the slot lies
// in lets the nodes in it be seen.
type nesting struct {
	state
	binding ir.Binding
	at      ir.Path // what the slot is bound to
	bound   [2]*ir.Policy
}

type state struct {
	around around
	shown  [2]bool
}

// roots compares, for each slot, every class under every way in which its place
// can lie inside earlier roots. What the pass without bindings told is not told
// again.
func (c *comparison) roots(joint map[ir.Root]trie) {
	homes := c.nestings(func(s *nestings) { s.inHost(joint[ir.Host], ir.Home) })
	for _, slot := range []ir.Root{ir.Home, ir.Workspace} {
		t := joint[slot]
		if t == nil {
			continue
		}
		places := c.nestings(func(s *nestings) {
			s.inHost(joint[ir.Host], slot)
			if slot == ir.Workspace {
				s.inHome(joint[ir.Home], homes)
				s.inTmp(joint[ir.Tmp], joint[ir.Host], slot)
			} else if t.named(before) != t.named(after) {
				s.inLater(joint, t)
			}
		})
		alike := t.alike()
		for _, n := range places {
			switch {
			case alike && n.around.alike() && n.shown[before] == n.shown[after]:
			case n.around == joint[ir.Host][0].below:
				c.nested(t[:1], n) // the pass without bindings knows no directory around a slot
			default:
				c.nested(t, n)
			}
		}
		c.aligned(joint, slot, homes)
		c.leading(slot, t, places)
	}
}

// nested is one pass over a slot's trie.
func (c *comparison) nested(t trie, n nesting) {
	v := view{comparison: c, trie: t, binding: n.binding}
	var beside [2]words // beside the slot, where its rules say nothing
	for side, p := range n.bound {
		v.deciders[side] = ir.NewDecider(p)
		up, _ := n.at.Parent()
		beside[side] = ask(v.deciders[side], up.Join("beside")).allow
	}
	told := [2]words{beside[before] &^ beside[after], beside[after] &^ beside[before]}
	v.pass(told, told)
}

// nestings collects states, each once.
type nestings struct {
	fresh string
	seen  map[state]bool
	list  []nesting
}

// below adds the states below a node inside what earlier roots say: two names deep,
// and one where the node itself is not as what lies below it. Dir is where the node
// lies, bind what binds the slot.
func (s *nestings) below(n *node, earlier around, dir func() ir.Path, bind func(ir.Path) ir.Binding) {
	within := state{around: earlier.over(n.below)}
	for side, level := range within.around.level {
		within.shown[side] = level >= readable
	}
	directly := within
	for side, r := range n.file {
		if r != nil {
			directly.shown[side] = !r.Only && r.Level >= ir.Read
		}
	}
	add := func(state state, names string) {
		if !s.seen[state] {
			s.seen[state] = true
			at := dir().Join(names)
			s.list = append(s.list, nesting{state: state, at: at, binding: bind(at)})
		}
	}
	add(within, s.fresh+"/"+s.fresh)
	add(directly, s.fresh)
}

// inHost adds the states of the host's classes that a slot can be bound in.
func (s *nestings) inHost(host trie, slot ir.Root) {
	for _, n := range host {
		if n.path.IsRoot() || !n.path.InSystemTree() {
			s.below(n, around{}, func() ir.Path { return n.path }, func(at ir.Path) ir.Binding { return ir.Binding{}.With(slot, at) })
		}
	}
}

// inHome adds the states of the workspace inside the home directory, for each
// state of that.
func (s *nestings) inHome(t trie, homes []nesting) {
	for _, home := range homes {
		for _, n := range t {
			s.below(n, home.around, func() ir.Path { return home.at.Join(n.path.Rel()) },
				func(at ir.Path) ir.Binding { return home.binding.With(ir.Workspace, at) })
		}
	}
}

// inTmp adds the states of the workspace inside tmp, which lies at /tmp on Linux
// and where no rule reaches on macOS.
func (s *nestings) inTmp(t, host trie, slot ir.Root) {
	if len(t) == 0 {
		return
	}
	tmp := ir.MustPath("/tmp")
	var around around
	for _, n := range host.around(tmp) { // parents before children
		around = n.below
	}
	s.below(t[0], around, func() ir.Path { return tmp },
		func(at ir.Path) ir.Binding { return ir.Binding{}.With(ir.Tmp, tmp).With(slot, at) })
}

// inLater adds the states of the home directory inside tmp and inside the
// workspace. A policy with rules in it admits that only where no rule of those is
// around it, so these matter where just one policy has any.
func (s *nestings) inLater(joint map[ir.Root]trie, home trie) {
	named := after
	if home.named(before) {
		named = before
	}
	if t := joint[ir.Tmp]; t != nil && !t.named(named) {
		s.inTmp(t, joint[ir.Host], ir.Home)
	}
	hosts := nestings{fresh: s.fresh, seen: map[state]bool{}}
	hosts.inHost(joint[ir.Host], ir.Workspace)
	for _, host := range hosts.list {
		for _, n := range joint[ir.Workspace] {
			if !n.ruledAbove(named) {
				s.below(n, host.around, func() ir.Path { return host.at.Join(n.path.Rel()) },
					func(at ir.Path) ir.Binding { return host.binding.With(ir.Home, at) })
			}
		}
	}
}

// ruledAbove reports whether a policy has a rule at the node or above it.
func (n *node) ruledAbove(side int) bool {
	return n.named(side) || n.parent != nil && n.parent.ruledAbove(side)
}

// nestings are the states that collect adds, with a binding that both policies
// admit, those first in which both policies say the same and allow most: their
// witnesses are the plainest.
func (c *comparison) nestings(collect func(*nestings)) []nesting {
	s := nestings{fresh: c.fresh, seen: map[state]bool{}}
	collect(&s)
	var out []nesting
	for _, n := range s.list {
		var err [2]error
		for side, p := range c.policies {
			n.bound[side], err[side] = p.Bind(n.binding)
		}
		if err[before] == nil && err[after] == nil {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(x, y nesting) int { return y.rank() - x.rank() })
	return out
}

func (n nesting) rank() int {
	rank := int(n.around.level[before]) + int(n.around.level[after])
	if n.around.alike() {
		rank += 100
	}
	return rank
}

// alike reports whether both policies state the same in the trie.
func (t trie) alike() bool {
	for _, n := range t {
		f, r := n.file, n.run
		if (f[before] == nil) != (f[after] == nil) || (r[before] == nil) != (r[after] == nil) ||
			f[before] != nil && (f[before].Level != f[after].Level || f[before].Only != f[after].Only) ||
			r[before] != nil && r[before].Only != r[after].Only {
			return false
		}
	}
	return true
}

// leading tells of the names that lead to a slot's place, where only one policy has
// rules in it: inside a write the other does not hold them.
func (c *comparison) leading(slot ir.Root, t trie, places []nesting) {
	for side := range c.policies {
		if t.named(side) || !t.named(1-side) {
			continue
		}
		i := slices.IndexFunc(places, func(n nesting) bool { return n.around.level[side] == writable })
		if i < 0 {
			continue
		}
		n := places[i]
		up, _ := n.at.Parent()
		change := Change{
			Kind:    GrantAdded,
			Subject: "names that lead to " + ir.RootPath(slot).String(),
		}
		if side == before {
			change.Kind = GrantRemoved
		}
		for _, k := range nameWords.list() {
			request := ir.Request{Kind: k, Path: up}
			if ir.Decide(n.bound[side], request).Allow && !ir.Decide(n.bound[1-side], request).Allow {
				change.Words = append(change.Words, k)
				change.Witnesses = append(change.Witnesses, Witness{Request: request, Binding: n.binding})
			}
		}
		if len(change.Witnesses) > 0 {
			c.tell(change)
		}
	}
}
