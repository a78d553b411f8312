package targets

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// sandbox is what the Linux artifacts make of one class of machines, and what the
// policy means there.
type sandbox struct {
	*validator
	machine machine
	facts   bwrap.Facts
	files   bool // some fact is a file
	table   *bwrap.Table
	domain  domain // what Landlock grants
	sockets bool   // the filter lets sockets connect
	means   *ir.Decider
	bound   *ir.Policy
}

// sandbox is what the artifacts make of one class, and what the policy means there;
// nil when the runtime would refuse the class.
func (v *validator) sandbox(m machine, bound *ir.Policy) (*sandbox, error) {
	s := &sandbox{validator: v, machine: m, facts: v.facts(m), sockets: v.sockets()}
	s.bound = bound
	missing := func(ir.Path) bool { return false }
	if m.kinds == optionalMissing {
		missing = s.missing
		s.bound = bound.Without(missing)
	}
	for _, fact := range s.facts {
		s.files = s.files || fact.Kind == bwrap.File
	}
	s.means = ir.NewDecider(s.bound)
	var err error
	if s.table, err = v.read.Set.Table(m.binding, s.facts); err != nil {
		if m.moved != ir.Host && refuses(err) {
			return nil, nil
		}
		return nil, v.differs(bwrapFile, "%v (%s)", err, m)
	}
	s.domain = domainOf(v.read.Landlock, m.binding, missing)
	return s, nil
}

// missing reports whether the path is not there, or something above it is not.
func (s *sandbox) missing(p ir.Path) bool {
	for q := range p.Upward() {
		if fact, ok := s.facts[q]; ok && fact.Kind == bwrap.Missing {
			return true
		}
	}
	return false
}

// machine compares policy and artifacts on one class. Of several faults it reports
// that of the first path.
func (v *validator) machine(m machine, bound *ir.Policy) error {
	s, err := v.sandbox(m, bound)
	if s == nil || err != nil {
		return err
	}
	if err := s.printed(); err != nil {
		return err
	}
	var fault error
	var at ir.Path
	for _, p := range s.nodes() {
		if fault != nil && at.Compare(p) < 0 {
			continue
		}
		for _, q := range [...]ir.Path{p, p.Join(v.fresh)} {
			if err := s.compare(q); err != nil {
				fault, at = err, p
				break
			}
		}
	}
	if fault != nil {
		return fault
	}
	return s.backed()
}

// printed: the options that would be passed read back as the table (O6).
func (s *sandbox) printed() error {
	fds := bwrap.FDs{Seccomp: 3, Status: 4}
	for i := range s.table.Masks() {
		fds.Masks = append(fds.Masks, 5+i)
	}
	stream, err := s.table.Stream(fds)
	if err != nil {
		return err
	}
	read, err := bwrap.ReadStream(stream)
	if err != nil {
		return s.differs(bwrapFile, "its options cannot be read back: %v (%s)", err, s.machine)
	}
	if d := s.table.Diff(read); d != "" {
		return s.differs(bwrapFile, "its options read back otherwise: %s (%s)", d, s.machine)
	}
	if lacking := read.Isolation.Lacking(); len(lacking) > 0 {
		return s.differs(bwrapFile, "a run would lack %s", lacking[0])
	}
	return nil
}

// nodes is the joint trie (O2): every path that the policy or an artifact names, every
// ancestor, in no order; of a class that moves a slot, those at and below it and above
// it, as all other paths are what they are with slots apart. What lies below a node and
// below no child of it is one class; a fresh name stands for it.
func (s *sandbox) nodes() []ir.Path {
	slot, _ := s.machine.binding.At(s.machine.moved)
	nodes := ir.NewTree[struct{}](len(s.table.Entries))
	add := func(p ir.Path) {
		// A slot of the configuration that is left out stays a slot.
		if p.Root() == ir.Host && slot.Covers(p) {
			nodes.Make(p)
		}
	}
	nodes.Make(slot)
	for _, r := range s.bound.Files {
		add(r.Path)
	}
	for _, r := range s.bound.Execute {
		add(r.Path)
	}
	for _, e := range s.table.Entries {
		add(e.Path)
		add(e.Target)
	}
	for p := range s.facts {
		add(p)
	}
	for n := range ir.Node(s.domain.tree.Len()) {
		add(s.domain.tree.Path(n))
	}
	out := make([]ir.Path, nodes.Len())
	for n := range out {
		out[n] = nodes.Path(ir.Node(n))
	}
	return out
}

// compare holds every request word about q to the policy's answer.
func (s *sandbox) compare(q ir.Path) error {
	if s.impossible(q) {
		return nil
	}
	at := s.table.Resolve(q)
	linked := at != q
	a, landlock, means := s.table.Access(at), s.domain.at(at), s.means.At(at)
	for _, c := range [...]struct {
		kind            ir.RequestKind
		allowed, passes bool // by the mounts and what else decides; by Landlock
	}{
		{ir.ReadRequest, a.Read, landlock.read()}, {ir.ListRequest, a.Read, landlock.read()}, {ir.StatRequest, a.Stat, true},
		{ir.WriteRequest, a.Write, landlock.write()}, {ir.ExecuteRequest, a.Read && landlock&starts != 0, landlock.start()},
		{ir.ConnectUnixRequest, a.Read && s.sockets, true},
	} {
		d := means.Decide(c.kind)
		if d.Allow != c.allowed && (c.allowed || !linked && !s.tighter(q)) {
			return s.mismatch(ir.Request{Kind: c.kind, Path: at}, d)
		}
		if d.Allow && c.allowed && !c.passes {
			return s.withheld(ir.Request{Kind: c.kind, Path: at}, d)
		}
	}
	if linked {
		a, means = s.table.Access(q), s.means.At(q)
	}
	return s.compareName(q, a, means)
}

// compareName holds the words about names, which follow no link at q itself.
func (s *sandbox) compareName(q ir.Path, a bwrap.Access, means ir.Point) error {
	parent, ok := q.Parent()
	if !ok || s.table.Resolve(parent) != parent {
		return nil // the same directory's other name answers
	}
	passes := !a.Name || s.domain.at(parent).write()
	for _, kind := range [...]ir.RequestKind{ir.CreateRequest, ir.RemoveRequest} {
		d := means.Decide(kind)
		if d.Allow != a.Name && (a.Name || !s.tighter(q)) {
			return s.mismatch(ir.Request{Kind: kind, Path: q}, d)
		}
		// A rename or link is allowed where both names are, so these answers are the
		// answers about pairs; across mounts it fails, which is declared.
		if d.Allow && a.Name && !passes {
			return s.withheld(ir.Request{Kind: kind, Path: q}, d)
		}
	}
	return nil
}

// impossible reports whether q lies below something that is no directory.
func (s *sandbox) impossible(q ir.Path) bool {
	if !s.files {
		return false
	}
	for p, ok := q.Parent(); ok; p, ok = p.Parent() {
		if fact, known := s.facts[p]; known && fact.Kind == bwrap.File {
			return true
		}
	}
	return false
}

// tighter reports whether the artifact may deny what the policy allows about q:
// what the private /dev does not have, and what a waiver gave up.
func (s *sandbox) tighter(q ir.Path) bool {
	if s.table.AbsentDevice(q) {
		return true
	}
	if !s.waived(ir.Bwrap, ir.FeatureOnlyCarveOut) {
		return false
	}
	return slices.ContainsFunc(s.bound.Files, func(r ir.FileRule) bool { return r.Only && r.Level == ir.Read && r.Path.Above(q) })
}

// backed: what the policy takes from elsewhere than the host is taken from there.
func (s *sandbox) backed() error {
	kinds := map[ir.Backing]bwrap.EntryKind{ir.ProcFS: bwrap.ProcMount, ir.TmpFS: bwrap.Memory}
	for _, r := range s.bound.Files {
		kind, ok := kinds[r.Backing]
		if !ok {
			continue
		}
		shown := slices.ContainsFunc(s.table.Entries, func(e bwrap.Entry) bool {
			return e.Path == r.Path && e.Kind == kind && e.Size == r.Size
		})
		if !shown {
			return s.lacks(bwrapFile, r.Origin, "%s is no %s of %d bytes (%s)", r.Path, kind, r.Size, s.machine)
		}
	}
	return nil
}
