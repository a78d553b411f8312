package proof

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// A program may start where it can be read and an execute rule names it, whichever
// root the two rules start in. A profile says so in two parts: the rules about
// starting follow those about reading, and each that allows asks for what the
// execute rules name besides. So each part is proven by itself, for all places of
// the slots: what the execute rules name, which is a union in which the order of
// roots means nothing; and what can be read, whose order is that of roots.

// cover is a set of paths: each one, and all below where it is true.
type cover map[ir.Path]bool

func covers(rules []ir.ExecuteRule) cover {
	c := make(cover, len(rules))
	for _, r := range rules {
		c[r.Path] = c[r.Path] || !r.Only
	}
	return c
}

func (c cover) has(p ir.Path) bool {
	for q := range p.Upward() {
		if below, ok := c[q]; ok && (below || q == p) {
			return true
		}
	}
	return false
}

// lets reports whether the profile's Starts hold the path.
func (b *trial) lets(at fragment.Place) bool {
	allow, _ := b.starts.Decide(at)
	return allow
}

// readable holds both parts to the policy: the profile's Starts to its execute
// rules, and a list's answer without them, which is allow, to what can be read.
// Rules about what no execute rule can name may be left out.
func (b *trial) readable(a asked, q ir.Path, unnamed, allow bool, rule *fragment.Rule) error {
	if b.lets(fragment.At(q.String())) != b.runs.has(q) {
		r := ir.Request{Kind: ir.ExecuteRequest, Path: q}
		return b.fault(a, r, b.means.Decide(r), nil, ", by what obspc-execute names")
	}
	request := ir.Request{Kind: ir.ReadRequest, Path: q}
	means := b.means.Decide(request)
	if allow && !means.Allow || !allow && means.Allow && b.mayRun(q, unnamed, means.Rule) {
		return b.fault(a, request, means, rule, ", if an execute rule names it")
	}
	return nil
}

// mayRun reports whether an execute rule names q, or may under another binding that
// leaves it to the same file rule: a rule of a later root, whose slot may lie where
// nothing is named, or one of an earlier root, in which the file rule's slot may lie.
// The configuration is left to the write around it.
func (b *trial) mayRun(q ir.Path, unnamed bool, rule ir.Rule) bool {
	file, ok := rule.(*ir.FileRule)
	if b.runs.has(q) || !ok || b.roots[file.Path] == ir.Config {
		return b.runs.has(q)
	}
	e := b.elsewhere[b.roots[file.Path]]
	return e.earlier || e.later && unnamed && !q.InSystemTree()
}

// elsewhere tells, by root, whether execute rules of a later root are there, and of
// an earlier root ones in which a slot may lie.
func elsewhere(rules []ir.ExecuteRule) map[ir.Root]struct{ earlier, later bool } {
	out := map[ir.Root]struct{ earlier, later bool }{}
	for own := ir.Host; own <= ir.Config; own++ {
		e := out[own]
		for _, r := range rules {
			root := r.Path.Root()
			e.later = e.later || root > own
			e.earlier = e.earlier || root < own && !r.Only && (r.Path.IsRoot() || !r.Path.InSystemTree())
		}
		out[own] = e
	}
	return out
}
