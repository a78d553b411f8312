package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// files compares every request word about every class of paths (O2): first with
// no slot bound, then for each way in which roots can lie in each other (O3).
func (c *comparison) files() {
	joint := tries(c.policies)
	for _, p := range c.policies {
		c.inSlots = c.inSlots || slices.ContainsFunc(p.Files, func(r ir.FileRule) bool {
			return r.Level >= ir.Read && r.Path.Root() != ir.Host && r.Path.Root() != ir.Config
		})
	}
	for root := ir.Host; root <= ir.Workspace; root++ {
		if t := joint[root]; t != nil {
			v := view{comparison: c, trie: t, deciders: c.deciders}
			v.ask()
			v.tell()
			v.backings()
			v.bindings(joint)
		}
	}
	c.roots(joint)
	for root := ir.Host; root <= ir.Workspace; root++ {
		c.optional(joint[root])
	}
}

// pass asks and tells about the view's nodes. Earlier roots tell of the words own
// about nodes themselves and of below about what lies below them.
func (v *view) pass(own, below [2]words) {
	v.elsewhere = [2][2]words{own, below}
	v.ask()
	v.tell()
}

// answers is what one policy answers about one class: the words it allows, the
// rule that decides reading, and the one that lets it start. Unlisted: it could be
// read, but no execute rule covers it.
type answers struct {
	allow    words
	level    *ir.FileRule
	runs     *ir.ExecuteRule
	unlisted bool
}

func ask(d *ir.Decider, p ir.Path) answers {
	var out answers
	for i, k := range fileWords {
		got := d.Decide(ir.Request{Kind: k, Path: p})
		if got.Allow {
			out.allow |= 1 << i
		}
		switch k {
		case ir.ReadRequest:
			out.level, _ = got.Rule.(*ir.FileRule)
		case ir.ExecuteRequest:
			out.runs, _ = got.Rule.(*ir.ExecuteRule)
			out.unlisted = got.Reason == ir.NotExecutable
		}
	}
	out.unlisted = out.unlisted && out.allow&readWord != 0
	return out
}

// finding is what a pass found about one class: both answers, and by side the
// words that only that policy allows and no change tells of yet.
type finding struct {
	answers [2]answers
	only    [2]words
}

// view is one pass over one root's trie, under one binding.
type view struct {
	*comparison
	trie     trie
	deciders [2]*ir.Decider
	binding  ir.Binding
	at       ir.Path // stands for what lies beneath the first node, unless it is "/"
	// elsewhere are the words, by depth and side, that differ around a slot's place
	// already: the classes of the earlier root tell of them.
	elsewhere [2][2]words
	findings  []findings // by node of the trie
	differs   bool
}

// path represents a class.
func (v *view) path(p place) ir.Path {
	if p.depth == beneath && p.node.index == 0 && v.at != (ir.Path{}) && v.at != p.node.path {
		return v.at
	}
	return p.path(v.fresh)
}

// parent is the node above n, if this pass asks about it.
func (v *view) parent(n *node) *node {
	if up := n.parent; up != nil && up.index < len(v.trie) && v.trie[up.index] == up {
		return up
	}
	return nil
}

// findings are those about a node, by depth.
type findings [2]finding

// ask asks both policies about both classes of each node.
func (v *view) ask() {
	v.findings = make([]findings, len(v.trie))
	for i, n := range v.trie {
		n.index = i
		for depth := range v.findings[i] {
			f := &v.findings[i][depth]
			at := v.binding.Path(v.path(place{n, depth}))
			for side, d := range v.deciders {
				f.answers[side] = ask(d, at)
			}
			if n.path.IsRoot() && depth == itself {
				v.rootSeen(n, f)
			}
			for side := range f.only {
				allow, other := f.answers[side].allow, f.answers[1-side].allow
				f.only[side] = allow &^ other &^ n.told[depth][side] &^ v.told(depth, side, allow&other)
				n.told[depth][side] |= f.only[side]
				v.differs = v.differs || f.only[side] != 0
			}
		}
	}
}

// told is what the earlier root's classes tell of. Whether something starts they
// tell only where they say whether it can be read; where the slot says so for both
// policies, its own class has to tell.
func (v *view) told(depth, side int, shared words) words {
	if told := v.elsewhere[depth][side]; shared&readWord == 0 || told == every {
		return told
	}
	return v.elsewhere[depth][side] &^ executeWord
}

// rootSeen mends what an unbound policy cannot know about seeing a root: slots lie
// below "/", so "/" can be seen if something in one can be read (a difference in
// that is theirs to tell), and something shows or hides what a slot lies in.
func (v *view) rootSeen(n *node, f *finding) {
	for side := range f.answers {
		switch root := n.path.Root(); {
		case root == ir.Host && v.inSlots:
			f.answers[side].allow |= statWord
		case root != ir.Host && v.binding == ir.Binding{}:
			f.answers[side].allow &^= statWord // the passes with bindings ask
		}
	}
}

// rules are the rules that decide the level of a class, by side.
func (f finding) rules() [2]*ir.FileRule {
	return [2]*ir.FileRule{f.answers[before].level, f.answers[after].level}
}

// backings compares what stands behind what both policies let be read.
func (v *view) backings() {
	var groups grouping
	for i, n := range v.trie {
		for depth, f := range v.findings[i] {
			p, old, new := place{n, depth}, f.rules()[before], f.rules()[after]
			if old == nil || new == nil || old.Level == ir.Deny || new.Level == ir.Deny {
				continue
			}
			switch {
			case old.Backing != new.Backing:
				groups.add(key{cause: byBacking, rules: [2]ir.Rule{old, new}}, p, readWord)
			case old.Size != new.Size:
				groups.add(key{cause: bySize, rules: [2]ir.Rule{old, new}}, p, readWord)
			}
		}
	}
	for _, g := range groups.list {
		old, new := g.key.rules[before].(*ir.FileRule), g.key.rules[after].(*ir.FileRule)
		change := Change{Kind: BackingChanged, Old: &Statement{backed(old), old.Origin}, New: &Statement{backed(new), new.Origin}}
		g.extent(&change)
		if g.key.cause == bySize {
			change.Kind = SizeRaised
			if new.Size < old.Size {
				change.Kind = SizeLowered
			}
		}
		change.Witnesses = []Witness{{Text: fmt.Sprintf("%s backed by %s, not by %s", change.Subject, behind(new), behind(old))}}
		v.changes = append(v.changes, change)
	}
}

func backed(r *ir.FileRule) string { return fmt.Sprintf("%s (%s)", r, behind(r)) }

// behind says what stands behind a rule's path.
func behind(r *ir.FileRule) string {
	switch r.Backing {
	case ir.ProcFS:
		return "the sandbox's own /proc"
	case ir.DevFS:
		return "the minimal /dev"
	case ir.TmpFS:
		return fmt.Sprintf("memory of %d bytes", r.Size)
	}
	return "the host"
}

// optional notes rules that only one policy wants to be there: that decides
// whether a run starts, never what it may do.
func (c *comparison) optional(t trie) {
	for _, n := range t {
		was, is := n.wanted(before), n.wanted(after)
		f, r := n.file, n.run
		switch {
		case f[before] != nil && f[after] != nil && f[before].Optional != f[after].Optional:
			c.note(presence(f[after].Level.String(), n.path, f[after].Optional))
		case r[before] != nil && r[after] != nil && r[before].Optional != r[after].Optional:
			c.note(presence("execute", n.path, r[after].Optional))
		case (was == "") != (is == "") && !c.tells(n):
			c.note(newlyWanted(cmp.Or(is, was), n.path, is != ""))
		}
	}
}

// wanted is the word of a rule that refuses a run where the node is missing, "" when
// there is none.
func (n *node) wanted(side int) string {
	switch f, r := n.file[side], n.run[side]; {
	case f != nil && f.Level > ir.Deny && f.Backing == ir.HostFile && !f.Optional && f.Path.Root() != ir.Config:
		return f.Level.String()
	case r != nil && !r.Optional:
		return "execute"
	}
	return ""
}

// tells reports whether some change is decided by a rule of the node, or has words of
// its own there.
func (c *comparison) tells(n *node) bool {
	var origins [2][]ir.Origin
	for side := range origins {
		if n.file[side] != nil {
			origins[side] = append(origins[side], n.file[side].Origin)
		}
		if n.run[side] != nil {
			origins[side] = append(origins[side], n.run[side].Origin)
		}
	}
	return slices.ContainsFunc(c.changes, func(change Change) bool {
		if slices.ContainsFunc(change.spans, func(s span) bool { return s.node == n }) {
			return true
		}
		for side, s := range []*Statement{change.Old, change.New} {
			if s != nil && slices.Contains(origins[side], s.Origin) {
				return true
			}
		}
		return false
	})
}

func presence(word string, p ir.Path, optional bool) string {
	if optional {
		return fmt.Sprintf("%s %s is optional now: a run starts where it is missing", word, p)
	}
	return fmt.Sprintf("%s %s is no longer optional: a run is refused where it is missing", word, p)
}

func newlyWanted(word string, p ir.Path, now bool) string {
	if now {
		return fmt.Sprintf("%s %s is stated now and grants nothing more: a run is refused where it is missing", word, p)
	}
	return fmt.Sprintf("%s %s is no longer stated and granted nothing more: a run starts where it is missing", word, p)
}
