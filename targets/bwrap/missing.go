package bwrap

import "github.com/obspc/obspc/compiler/ir"

// missing decides what becomes of an operation whose path does not exist.
func (p *plan) missing(o *placed) error {
	protects := o.Verb == Mask || o.Verb == Bind && o.Level == ir.Read || o.around.level() == ir.Write && o.Verb == LinkOrBind
	switch {
	case o.Optional:
		return nil // as if unsaid
	case !protects || len(o.hops) > 0 && o.Verb != Mask:
		p.lacks(o)
		return nil
	case len(o.hops) > 0:
		return p.linked(o)
	case o.around.level() != ir.Write:
		p.absent(o)
		return nil
	}
	// Inside a write: kept missing. Where nothing can be made there, its existing
	// ancestors must stay what they are.
	if p.facts[o.at].Sealed || p.blocked(o.at) {
		p.hold(o.at)
		return nil
	}
	p.wanted = append(p.wanted, Placeholder{Path: o.at})
	o.active, o.shown, o.kind = true, true, File
	p.mark(o.at).decides = o
	return nil
}

// absent is a protection outside every write: nobody inside can make the path. A
// read that is missing there is refused; a deny needs nothing.
func (p *plan) absent(o *placed) {
	if o.Verb != Mask {
		p.lacks(o)
	}
}

// lacks notes a path that the machine has to have. All of them are reported at
// once.
func (p *plan) lacks(o *placed) {
	m := &MissingError{Path: o.at, Stated: o.Path, Origin: o.Origin}
	if p.lacking == nil {
		p.lacking = m
	} else {
		p.lacking.Others = append(p.lacking.Others, m)
	}
}

// blocked reports whether an ancestor of p is no directory, so that p cannot come
// to be while that ancestor stays.
func (p *plan) blocked(at ir.Path) bool {
	for q, ok := at.Parent(); ok; q, ok = q.Parent() {
		if fact, known := p.facts[q]; known && fact.Kind != Missing {
			return fact.Kind != Directory
		}
	}
	return false
}

// hold keeps the existing ancestors of a path that cannot be made.
func (p *plan) hold(at ir.Path) {
	for q, ok := at.Parent(); ok; q, ok = q.Parent() {
		if fact, known := p.facts[q]; !known || fact.Kind != Missing {
			p.mark(q).needed = true
		}
	}
}

// want marks the ancestors of everything that has an entry, and completes the
// placeholders by the directories they lie in.
func (p *plan) want() {
	var files []Placeholder
	files, p.wanted = p.wanted, nil
	for _, o := range p.ops {
		if !o.active || !o.shown {
			continue
		}
		from := o.at
		if len(o.hops) > 0 {
			from = o.hops[0].link
		}
		for n := p.marks.Above(p.marks.Make(from)); n != ir.NoNode && !p.marks.At(n).needed; n = p.marks.Above(n) {
			p.marks.At(n).needed = true
		}
	}
	for _, o := range p.ops {
		// An optional rule for a missing path is as if unsaid: what leads over it to a
		// missing protected name has to be made all the same.
		if o.States() && !(o.Optional && !o.active) || !p.marked(o.at).needed || p.decider(o.at).level() != ir.Write {
			continue
		}
		if fact, known := p.facts[o.at]; known && fact.Kind == Missing {
			p.wanted = append(p.wanted, Placeholder{o.at, true})
		}
	}
	p.wanted = append(p.wanted, files...)
}
