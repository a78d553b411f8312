package bwrap

import (
	"errors"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// placed is an operation under a binding, and what its facts make of it.
type placed struct {
	*Operation
	at     ir.Path
	around *placed // the active operation that decides at, apart from this one
	kind   Kind
	hops   []hop
	end    ir.Path // where at leads; at itself without links
	active bool    // it stands for something in this run
	shown  bool    // it needs an entry of its own
}

// level is what the operation gives to the paths below it.
func (o *placed) level() ir.Level {
	switch {
	case o == nil || o.Verb == Mask || o.Verb == Dev || o.Verb == Skeleton:
		return ir.Deny
	case o.Verb == Bind && o.Level == ir.Write || o.Verb == Tmpfs || o.Verb == Pin:
		return ir.Write
	}
	return ir.Read
}

// plan is one materialisation on its way from operations to a table.
type plan struct {
	binding ir.Binding
	facts   Facts
	links   bool // some fact is a link
	ops     []*placed
	marks   ir.Tree[mark]
	wanted  []Placeholder
	lacking *MissingError // nil when nothing is
	table   *Table
}

// mark is what a plan notes at a path.
type mark struct {
	named   *placed // the first that a rule names there or below
	decides *placed // active, and decides the paths below it
	node    *placed // active, and about one node, or a link
	needed  bool    // something with an entry, or a held name, lies below
}

// mark is the path's, to be written to.
func (p *plan) mark(at ir.Path) *mark { return p.marks.At(p.marks.Make(at)) }

// marked is what the path's mark says.
func (p *plan) marked(at ir.Path) mark {
	if n, _ := p.marks.Find(at); n != ir.NoNode {
		return *p.marks.At(n)
	}
	return mark{}
}

// Placeholder is a node that the runtime makes on the host before a run, so that
// a missing path can be kept missing: a directory, or an empty file.
type Placeholder struct {
	Path      ir.Path
	Directory bool
}

// Fact is what stands there once the placeholder is made.
func (p Placeholder) Fact() Fact {
	if p.Directory {
		return Fact{Kind: Directory, Placeholder: true}
	}
	return Fact{Kind: File, Placeholder: true}
}

// Table is what the operations mean under the binding and the facts. Errors are
// *BindingError, *MissingError, *LinkError, *NodeError, several of these joined, or
// say which fact or placeholder the runtime left out.
func (s *Set) Table(b ir.Binding, f Facts) (*Table, error) {
	p, err := s.plan(b, f)
	if err != nil {
		return nil, err
	}
	if len(p.wanted) > 0 {
		return nil, fmt.Errorf("%s is missing inside a write, and no placeholder was made", p.wanted[0].Path)
	}
	if err := p.build(); err != nil {
		return nil, err
	}
	p.table.Isolation = complete(s.Namespaces)
	return p.table, nil
}

// Placeholders lists what the runtime must make on the host first, parents before
// children; after that the facts are taken again. Errors are those of Table, so
// that nothing is made for a run that is refused.
func (s *Set) Placeholders(b ir.Binding, f Facts) ([]Placeholder, error) {
	p, err := s.plan(b, f)
	if err != nil {
		return nil, err
	}
	return p.wanted, nil
}

// NamedPaths lists every bound path whose fact Table, Placeholders and
// Materialise need.
func (s *Set) NamedPaths(b ir.Binding) []ir.Path {
	var out []ir.Path
	for _, o := range s.Operations {
		if _, bound := b.At(o.Path.Root()); !bound {
			continue
		}
		// An ancestor in a slot may lie inside a write of an earlier root.
		if o.onHost() || o.Verb == Skeleton && o.Path.Root() != ir.Host && !o.Path.IsRoot() {
			out = append(out, b.Path(o.Path))
		}
	}
	return out
}

func (s *Set) plan(b ir.Binding, f Facts) (*plan, error) {
	room := len(s.Operations)
	p := &plan{
		binding: b, facts: f, marks: ir.NewTree[mark](room), table: newTable(room), ops: make([]*placed, 0, room),
	}
	for _, fact := range f {
		p.links = p.links || fact.Kind == Link
	}
	if err := p.place(s); err != nil {
		return nil, err
	}
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	for _, o := range p.ops {
		note(p.activate(o))
	}
	if p.lacking != nil {
		faults = append(faults, p.lacking)
	}
	for _, o := range p.ops {
		note(p.followed(o))
	}
	if err := together(faults); err != nil {
		return nil, err
	}
	p.want()
	return p, nil
}

// together is all faults that are some; a single one stays itself.
func together(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

// place binds every operation and holds the binding to the order of roots: no
// rule of a later root at or above one of an earlier root.
func (p *plan) place(s *Set) error {
	ops := make([]placed, len(s.Operations))
	for i := range s.Operations {
		o := &s.Operations[i]
		at, bound := p.binding.At(o.Path.Root())
		if !bound && o.Path.Root() == ir.Config {
			continue
		}
		if !bound || at.Root() != ir.Host || at.IsRoot() && o.Path.Root() != ir.Host {
			return &BindingError{Slot: o.Path.Root(), Reason: "it has no directory of its own"}
		}
		q := &ops[i]
		q.Operation, q.at = o, p.binding.Path(o.Path)
		q.end = q.at
		p.ops = append(p.ops, q)
		if !o.States() {
			continue
		}
		n := p.marks.Make(q.at)
		if other := p.marks.At(n).named; other != nil && (other.Path.Root() < o.Path.Root() || other.at == q.at) {
			return &BindingError{o.Path.Root(), "its rule would stand at or above one of an earlier root", q.at, other.at, o.Origin, other.Origin}
		}
		for ; n != ir.NoNode && p.marks.At(n).named == nil; n = p.marks.Above(n) {
			p.marks.At(n).named = q
		}
	}
	return nil
}

// decider is the active operation that decides p by covering it.
func (p *plan) decider(at ir.Path) *placed {
	for n := p.marks.Nearest(at); n != ir.NoNode; n = p.marks.Above(n) {
		if o := p.marks.At(n).decides; o != nil {
			return o
		}
	}
	return nil
}

func (p *plan) aroundOf(at ir.Path) *placed {
	if parent, ok := at.Parent(); ok {
		return p.decider(parent)
	}
	return nil
}

// activate finds out what an operation stands for in this run. Parents come
// first, so what is around it is known.
func (p *plan) activate(o *placed) error {
	if !o.States() {
		return nil
	}
	o.around = p.aroundOf(o.at)
	if !o.onHost() {
		o.kind = Directory
	} else if err := p.look(o); err != nil {
		return err
	}
	if o.kind == Missing || o.Optional && p.facts[o.at].Placeholder {
		return p.missing(o)
	}
	o.active = true
	switch {
	case len(o.hops) > 0:
		p.mark(o.at).node = o
		return p.linked(o)
	case o.Verb == Pin: // decides nothing below
	case o.Only || o.Verb == Skeleton:
		p.mark(o.at).node = o
	default:
		p.mark(o.at).decides = o
	}
	o.shown = o.holds()
	if parent, ok := o.at.Parent(); ok && o.Verb == Mask && o.shown && p.marked(parent).node != nil {
		return &NodeError{o.at, o.kind, o.Origin, "a hole can be seen, and only() of the directory it lies in says that nothing there is"}
	}
	return o.keepable()
}

func (p *plan) look(o *placed) error {
	if !p.links {
		fact, ok := p.facts[o.at]
		if !ok {
			return fmt.Errorf("no fact about %s was taken", o.at)
		}
		o.kind = fact.Kind
		return nil
	}
	hops, end, fact, err := p.facts.find(o.at)
	o.hops, o.end, o.kind = hops, end, fact.Kind
	if err == nil && len(hops) > 0 && fact.Kind == Link {
		return fmt.Errorf("the fact of %s is a link that leads nowhere", end)
	}
	return err
}

// holds reports whether the operation changes anything where it stands: reading
// inside what can be read, and hiding what nothing shows, do not.
func (o *placed) holds() bool {
	switch o.Verb {
	case Mask:
		return o.around.level() > ir.Deny
	case Pin:
		return o.around.level() == ir.Write
	case LinkOrBind, Skeleton:
		return o.around.level() != ir.Read
	case Bind:
		return o.Level == ir.Write || o.around.level() != ir.Read
	}
	return true
}

// keepable refuses kinds for which a mount would mean something else.
func (o *placed) keepable() error {
	if !o.shown {
		return nil
	}
	reads := o.Verb == LinkOrBind || o.Verb == Skeleton || o.Verb == Bind && o.Level == ir.Read
	switch {
	case o.kind == Device && reads:
		return &NodeError{o.at, o.kind, o.Origin, "a device that can be opened can be written; state it under write"}
	case o.kind == Directory && o.Only && (o.Verb == Mask || o.Level == ir.Write):
		return &NodeError{o.at, o.kind, o.Origin, "only() of this rule can be kept for a file; a mount carries all below it"}
	case o.Verb == Skeleton && o.kind == Directory && o.around.level() == ir.Write:
		return &NodeError{o.at, o.kind, o.Origin, "only() would leave all below it writable"}
	}
	return nil
}

// linked judges a link on the way to a path: nobody but root may have made it.
func (p *plan) linked(o *placed) error {
	first := o.hops[0]
	fault := &LinkError{o.at, first.link, first.target, o.Origin, ""}
	switch {
	case o.Verb != LinkOrBind && o.Verb != Skeleton:
		fault.Reason = "what it leads to could be changed under a rule that protects or writes"
	case o.written():
		fault.Reason = "it lies inside a write, where an earlier run could have planted it"
	default:
		o.shown = p.aroundOf(first.link).level() == ir.Deny
		return nil
	}
	return fault
}

// followed holds a kept link to a target that the policy grants by itself.
func (p *plan) followed(o *placed) error {
	if len(o.hops) == 0 || !o.active {
		return nil
	}
	for i, h := range o.hops {
		next := o.end
		if i+1 < len(o.hops) {
			next = o.hops[i+1].link
		}
		if !p.readable(next) {
			return &LinkError{o.at, h.link, h.target, o.Origin, "no rule grants what it leads to"}
		}
	}
	return nil
}

func (p *plan) readable(at ir.Path) bool {
	if o := p.marked(at).node; o != nil {
		return o.Verb != Mask
	}
	return p.decider(at).level() >= ir.Read
}

// written reports whether the operation lies below a write.
func (o *placed) written() bool {
	for a := o.around; a != nil; a = a.around {
		if a.level() == ir.Write {
			return true
		}
	}
	return false
}
