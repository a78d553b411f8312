package diff

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// Classes that differ for one reason are one change. The reason is the pair of
// rules that decide, or what is named in cause; so a deny that goes away is one
// change at its path, however many other rules stand below it.

// cause says what decides a difference.
type cause uint8

const (
	byLevel   cause = iota // the rules that give the level
	byRun                  // an execute rule
	bySockets              // unix = "none" or "visible"
	byName                 // a rule that holds the name
	bySeen                 // something that shows the node
	byBacking
	bySize
	byBinding
)

// key is a reason: rules by side, nil for the default, and the node for those that
// concern one name.
type key struct {
	side  int // whose policy alone allows
	cause cause
	rules [2]ir.Rule
	node  *node
}

// group is the classes that differ for one reason, in the order of the trie, and
// the words they differ in.
type group struct {
	key   key
	order []place
	masks map[place]words
}

// grouping keeps groups in the order in which they appear.
type grouping struct {
	byKey map[key]*group
	list  []*group
}

func (s *grouping) add(k key, p place, w words) {
	if w == 0 {
		return
	}
	g := s.byKey[k]
	if g == nil {
		g = &group{key: k, masks: map[place]words{}}
		if s.byKey == nil {
			s.byKey = map[key]*group{}
		}
		s.byKey[k] = g
		s.list = append(s.list, g)
	}
	if g.masks[p] == 0 {
		g.order = append(g.order, p)
	}
	g.masks[p] |= w
}

// tell turns what a pass found into changes.
func (v *view) tell() {
	if !v.differs {
		return
	}
	changed := v.reach()
	var groups grouping
	for _, n := range v.trie {
		for depth, f := range v.findings[n.index] {
			for side, only := range f.only {
				v.assign(&groups, place{n, depth}, f, side, only, changed[n.index][side])
			}
		}
	}
	for _, g := range groups.list {
		v.add(v.change(g))
	}
}

// add tells of a change. One that has the reason of another, in another root or
// under another binding, is part of that.
func (v *view) add(change Change) {
	k := reasonKey{change.Kind, change.reason}
	i, known := v.byReason[k]
	if !known {
		if change.reason != [2]string{} {
			v.byReason[k] = len(v.changes)
		}
		v.changes = append(v.changes, change)
		return
	}
	c := &v.changes[i]
	for _, w := range change.Witnesses {
		if !slices.Contains(c.Words, w.Request.Kind) {
			c.Witnesses = append(c.Witnesses, w)
		}
	}
	c.Words = (wordsOf(c.Words) | wordsOf(change.Words)).list()
	for _, top := range change.tops {
		if !slices.Contains(c.tops, top) {
			c.tops = append(c.tops, top)
		}
	}
	for _, s := range change.spans {
		if !slices.Contains(c.spans, s) {
			c.spans = append(c.spans, s)
		}
	}
	c.Subject = listed(c.tops, mostTops)
	c.Except, c.scope, c.cover = append(c.Except, change.Except...), append(c.scope, change.scope...), append(c.cover, change.cover...)
}

func wordsOf(list []ir.RequestKind) words {
	var out words
	for _, k := range list {
		out |= wordOf(k)
	}
	return out
}

// reasonKey is what one change is for.
type reasonKey struct {
	kind   Kind
	reason [2]string
}

// reason is what two rules are as a reason. Below a slot that one policy speaks of
// and the other does not, it is all one what lies around it.
func (v *view) reason(rules [2]ir.Rule) [2]string {
	root := v.trie[0].path.Root()
	var out [2]string
	var own [2]bool
	for side, r := range rules {
		if s := v.statement(r); s != nil {
			out[side] = s.Text + " " + string(s.Origin)
		}
		file, ok := r.(*ir.FileRule)
		own[side] = ok && v.unbound(file.Path).Root() == root
	}
	for side := range out {
		if root != ir.Host && own[1-side] && !own[side] {
			out[side] = "around"
		}
	}
	return out
}

// reach marks, by side, the nodes that have a difference strictly below them.
func (v *view) reach() [][2]bool {
	out := make([][2]bool, len(v.trie))
	for i := len(v.trie) - 1; i >= 0; i-- { // children before parents
		n, f := v.trie[i], v.findings[i]
		for side := range 2 {
			out[i][side] = out[i][side] || f[beneath].only[side] != 0
			if up := v.parent(n); up != nil && (out[i][side] || f[itself].only[side] != 0) {
				out[up.index][side] = true
			}
		}
	}
	return out
}

// assign gives the words of one class to the reasons they differ for. Deeper: so
// does something below it.
func (v *view) assign(groups *grouping, p place, f finding, side int, only words, deeper bool) {
	if only == 0 {
		return
	}
	a, b := f.answers[side], f.answers[1-side] // a allows what b does not
	level := key{side: side, cause: byLevel}
	if a.level != nil {
		level.rules[side] = a.level
	}
	if b.level != nil {
		level.rules[1-side] = b.level
	}
	own := only & (readWord | listWord | writeWord)
	echo := only & echoWords
	if only&writeWord != 0 {
		own |= only & nameWords
	}
	if only&readWord != 0 {
		own |= only & statWord
	}
	echo &^= own
	if only&executeWord != 0 {
		if b.unlisted {
			k := key{side: side, cause: byRun}
			if a.runs != nil {
				k.rules[side] = a.runs
			}
			groups.add(k, p, executeWord)
		} else {
			own |= executeWord
		}
	}
	if only&socketWord != 0 {
		if old, new := &v.policies[before].Unix, &v.policies[after].Unix; old.Visible != new.Visible {
			groups.add(key{side: side, cause: bySockets, rules: [2]ir.Rule{old, new}}, p, socketWord)
		} else {
			own |= socketWord
		}
	}
	groups.add(level, p, own)
	v.echo(groups, level, p, echo, own != 0, deeper)
}

// echo treats what follows from a change elsewhere: the ancestors of what can be
// read can be seen, those of what a rule names are held. It stands for itself only
// where nothing else tells of it.
func (v *view) echo(groups *grouping, level key, p place, echo words, own, deeper bool) {
	side := level.side
	switch {
	case echo == 0 || p.depth == itself && deeper:
		return
	case own, p.node.told[p.depth][side]&readWord != 0:
		groups.add(level, p, echo)
		return
	}
	if echo&nameWords != 0 {
		k := key{side: side, cause: byName, node: p.node}
		if rule := p.node.holder(1 - side); rule != nil {
			k.rules[1-side] = rule
		}
		groups.add(k, p, echo)
		return
	}
	if up := v.parent(p.node); up != nil && p.depth == itself && v.findings[up.index].reads(side) {
		return
	}
	groups.add(key{side: side, cause: bySeen, node: p.node}, p, echo)
}

// reads reports whether something about a directory can be read by one side alone:
// its own names, or what it shows.
func (f findings) reads(side int) bool {
	return (f[itself].only[side]|f[beneath].only[side])&readWord != 0
}

// holder is the rule of a policy that names the node.
func (n *node) holder(side int) ir.Rule {
	switch {
	case n.file[side] != nil:
		return n.file[side]
	case n.run[side] != nil:
		return n.run[side]
	}
	return nil
}

// change is a group told.
func (v *view) change(g *group) Change {
	out := Change{Kind: GrantAdded}
	if g.key.side == before {
		out.Kind = GrantRemoved
	}
	g.extent(&out)
	for i := range out.spans {
		s := &out.spans[i]
		s.binding = v.binding
		for depth := range s.asked {
			s.asked[depth] = v.path(place{s.node, depth})
		}
	}
	var all words
	for _, w := range g.masks {
		all |= w
	}
	out.Words = all.list()
	for _, w := range telling {
		if all&w != 0 {
			out.Witnesses = append(out.Witnesses, v.witness(g, w))
		}
	}
	out.Old, out.New = v.statement(g.key.rules[before]), v.statement(g.key.rules[after])
	out.reason = v.reason(g.key.rules)
	return out
}

// telling is the order of witnesses: what can be done first, then what can be
// learned, names and attributes last.
var telling = []words{
	writeWord, executeWord, socketWord, readWord,
	wordOf(ir.CreateRequest), wordOf(ir.RemoveRequest), listWord, statWord,
}

// witness is a request of the first class that differs in the word; below a path
// rather than at it.
func (v *view) witness(g *group, w words) Witness {
	for _, p := range g.order {
		if deeper := (place{p.node, beneath}); g.masks[deeper]&w != 0 {
			p = deeper
		}
		if g.masks[p]&w != 0 {
			return Witness{Request: ir.Request{Kind: w.list()[0], Path: v.path(p)}, Binding: v.binding}
		}
	}
	panic("bug in obspc: a change lacks a word that it has")
}

// statement is the rule as its policy states it, slots unbound.
func (v *view) statement(r ir.Rule) *Statement {
	switch r := r.(type) {
	case nil:
		return nil
	case *ir.FileRule:
		stated := *r
		stated.Path = v.unbound(stated.Path)
		return &Statement{stated.String(), r.Origin}
	case *ir.ExecuteRule:
		stated := *r
		stated.Path = v.unbound(stated.Path)
		return &Statement{stated.String(), r.Origin}
	}
	return &Statement{r.String(), r.From()}
}

// unbound is the path with its slot, if it lies at or below what one is bound to.
func (v *view) unbound(p ir.Path) ir.Path {
	for _, slot := range []ir.Root{ir.Workspace, ir.Tmp, ir.Home} {
		at, ok := v.binding.At(slot)
		switch {
		case !ok || !at.Covers(p):
		case at == p:
			return ir.RootPath(slot)
		default:
			return ir.RootPath(slot).Join(p.Rel()[len(at.Rel())+1:])
		}
	}
	return p
}

// mostTops is how many places a subject names.
const mostTops = 3

// extent says what the group comprises: its topmost places and the words of each
// place for people, each place where its words change on the way down in canonical
// form, and the trees and words it leaves out.
func (g *group) extent(c *Change) {
	c.cover = g.order
	for _, n := range g.nodes() {
		own, below := g.masks[place{n, itself}], g.masks[place{n, beneath}]
		above := g.above(n)
		if above == 0 {
			c.tops = append(c.tops, spanned(n.path, own, below))
		}
		if above == 0 || own != above || below != above {
			c.scope = append(c.scope, line(n.path, own, below))
		}
		c.spans = append(c.spans, spans(n, own&^above, below&^above)...)
		for _, s := range spans(n, above&^own, above&^below) {
			c.Except = append(c.Except, s.String())
		}
		for _, child := range n.children {
			if below != 0 && g.masks[place{child, itself}] == 0 && g.masks[place{child, beneath}] == 0 {
				c.scope = append(c.scope, line(child.path, 0, 0))
				c.Except = append(c.Except, child.path.String())
			}
		}
	}
	c.Subject = listed(c.tops, mostTops)
}

// nodes are the nodes of the group, in the order of the trie.
func (g *group) nodes() []*node {
	out := make([]*node, len(g.order))
	for i, p := range g.order {
		out[i] = p.node
	}
	return slices.Compact(out)
}

// above is what the group says about what lies below the node's directory.
func (g *group) above(n *node) words {
	if n.parent == nil {
		return 0
	}
	return g.masks[place{n.parent, beneath}]
}

func line(p ir.Path, own, below words) string { return fmt.Sprintf("%s: %s; below: %s", p, own, below) }

// spanned is a node and what of it is meant.
func spanned(p ir.Path, own, below words) string {
	switch {
	case below == 0:
		return p.String()
	case own == 0:
		return "below " + p.String()
	}
	return p.String() + " and below"
}

// span is words, and a place for which each of them is granted: a path, what lies
// below it, or both (depth). Asked is what stands for either, under the binding.
type span struct {
	words   words
	place   string
	node    *node
	depth   [2]bool
	asked   [2]ir.Path
	binding ir.Binding
}

func (s span) String() string { return s.words.String() + " " + s.place }

// spans are the words of a node, and of what lies below it.
func spans(n *node, own, below words) []span {
	var out []span
	add := func(w words, place string, depth [2]bool) {
		if w != 0 {
			out = append(out, span{words: w, place: place, node: n, depth: depth})
		}
	}
	add(own&below, n.path.String()+" and below", [2]bool{true, true})
	add(own&^below, n.path.String(), [2]bool{true, false})
	add(below&^own, "below "+n.path.String(), [2]bool{false, true})
	return out
}
