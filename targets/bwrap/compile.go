package bwrap

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// Compile is the argument set of p. The error is an *UnsupportedError or a
// *TooManyArgumentsError.
func Compile(p *ir.Policy) (*Set, error) {
	c := compilation{
		rules: map[ir.Path]*ir.FileRule{}, below: map[ir.Path]ir.Path{}, operations: map[ir.Path]Operation{},
	}
	for i := range p.Files {
		c.rules[p.Files[i].Path] = &p.Files[i]
		c.index(p.Files[i].Path)
	}
	for _, r := range p.Execute {
		c.index(r.Path)
	}
	for i := range p.Files {
		if err := c.file(&p.Files[i]); err != nil {
			return nil, err
		}
	}
	if err := c.devices(); err != nil {
		return nil, err
	}
	for i := range p.Execute {
		c.name(&p.Execute[i])
	}
	c.ancestors()
	s := &Set{Policy: p.Name, Namespaces: Namespaces()}
	for _, o := range c.operations {
		s.Operations = append(s.Operations, o)
	}
	slices.SortFunc(s.Operations, func(a, b Operation) int { return a.Path.Compare(b.Path) })
	return s, s.count()
}

type compilation struct {
	rules      map[ir.Path]*ir.FileRule
	below      map[ir.Path]ir.Path // a path that a rule names, strictly below
	operations map[ir.Path]Operation
	dev        []*ir.FileRule
}

func (c *compilation) index(p ir.Path) {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if _, known := c.below[q]; known {
			return
		}
		c.below[q] = p
	}
}

// around is the rule of p's own root that decides p apart from a rule of its own;
// nil when none does. What an earlier root says around a slot depends on the
// binding, so Table asks again.
func (c *compilation) around(p ir.Path) *ir.FileRule {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if r := c.rules[q]; r != nil && !r.Only {
			return r
		}
	}
	return nil
}

// written reports whether a write rule of p's own root lies above p: what is
// below it may have been put there by an earlier run.
func (c *compilation) written(p ir.Path) bool {
	for r := c.around(p); r != nil; r = c.around(r.Path) {
		if r.Level == ir.Write {
			return true
		}
	}
	return false
}

func levelOf(r *ir.FileRule) ir.Level {
	if r == nil {
		return ir.Deny
	}
	return r.Level
}

func (c *compilation) file(r *ir.FileRule) error {
	around := c.around(r.Path)
	if err := c.placeable(r, around); err != nil {
		return err
	}
	o := Operation{Path: r.Path, Only: r.Only, Optional: r.Optional, Origin: r.Origin}
	switch {
	case r.Backing == ir.DevFS:
		c.dev = append(c.dev, r)
		return nil
	case r.Backing == ir.ProcFS:
		o.Verb = Proc
	case r.Backing == ir.TmpFS:
		o.Verb, o.Size = Tmpfs, r.Size
	case r.Level == ir.Deny:
		o.Verb = Mask
	case r.Level == ir.Write:
		o.Verb, o.Level = Bind, ir.Write
	case r.Only && levelOf(around) != ir.Write:
		o.Verb, o.Listable, o.Only = Skeleton, true, false
	case c.written(r.Path):
		o.Verb, o.Level = Bind, ir.Read
	default:
		o.Verb = LinkOrBind
	}
	c.operations[r.Path] = o
	return nil
}

// placeable refuses what no mount of bwrap can express: the host has no source
// for a path inside memory, devices or the sandbox's own /proc.
func (c *compilation) placeable(r, around *ir.FileRule) error {
	if around != nil && r.Backing != ir.DevFS {
		switch around.Backing {
		case ir.TmpFS, ir.DevFS:
			return nothingBelow(r, around)
		case ir.ProcFS:
			if r.Level != ir.Deny || isProcess(r.Path) {
				return nothingOfProc(r)
			}
		}
	}
	switch {
	case r.Backing == ir.ProcFS && (r.Path != procPath || r.Level != ir.Read || r.Only || r.Optional):
		return procOnlyAtProc(r)
	case r.Backing == ir.TmpFS && (r.Level != ir.Write || r.Only || r.Optional):
		return tmpfsIsWritten(r)
	case r.Level == ir.Write && r.Path == (ir.Path{}):
		return writeOfRoot(r)
	case r.Only && r.Level != ir.Read:
		if err := c.leaf(r); err != nil {
			return err
		}
	}
	if r.Level == ir.Deny && (levelOf(around) > ir.Deny || around == nil && c.readsAll(r.Path)) {
		return c.unseen(r)
	}
	return nil
}

// readsAll reports whether p is in a slot and a rule reads all of "/", which lies
// around every slot.
func (c *compilation) readsAll(p ir.Path) bool {
	root := c.rules[ir.Path{}]
	return p.Root() != ir.Host && root != nil && !root.Only && root.Level == ir.Read
}

// unseen refuses a hole directly in a directory of which only() keeps the names
// from being seen: a mask can be seen.
func (c *compilation) unseen(r *ir.FileRule) error {
	parent, _ := r.Path.Parent()
	if over := c.rules[parent]; over != nil && over.Only {
		return seenInOnly(r, over)
	}
	return nil
}

// leaf refuses a name below a node that only() grants or denies beyond reading, and
// a slot itself: such a node is a file, since a mount of a directory carries all
// below it.
func (c *compilation) leaf(r *ir.FileRule) error {
	if r.Backing == ir.DevFS {
		return nil
	}
	if other, named := c.below[r.Path]; named {
		return onlyFile(r, fmt.Sprintf("%s lies below it", other))
	}
	if r.Path.IsRoot() {
		return onlyFile(r, "this is a directory")
	}
	return nil
}

// isProcess reports whether p lies in a directory of one process (proc(5)): its
// name on the host says nothing about the sandbox.
func isProcess(p ir.Path) bool {
	for p.Depth() > 2 {
		p, _ = p.Parent()
	}
	return p.Base() == "self" || p.Base() == "thread-self" || p.Base()[0] >= '0' && p.Base()[0] <= '9'
}

// name holds the name of an execute rule inside a write. Elsewhere nobody could
// move it; whether a slot lies inside a write of an earlier root, its binding
// tells.
func (c *compilation) name(r *ir.ExecuteRule) {
	if _, ok := c.operations[r.Path]; ok {
		return
	}
	around := c.around(r.Path)
	inSlot := around == nil && r.Path.Root() != ir.Host
	if inSlot || levelOf(around) == ir.Write && around.Backing == ir.HostFile {
		c.operations[r.Path] = Operation{Verb: Pin, Named: true, Path: r.Path, Optional: r.Optional, Origin: r.Origin}
	}
}

// ancestors adds what leads to each operation: directories to be made where
// nothing is granted, pins inside a write.
func (c *compilation) ancestors() {
	stated := make([]Operation, 0, len(c.operations))
	for _, o := range c.operations {
		stated = append(stated, o)
	}
	slices.SortFunc(stated, func(a, b Operation) int { return a.Path.Compare(b.Path) })
	for _, o := range stated {
		for q, ok := o.Path.Parent(); ok; q, ok = q.Parent() {
			verb, wanted := c.leads(q, o)
			if _, have := c.operations[q]; have || !wanted {
				continue
			}
			c.operations[q] = Operation{Verb: verb, Path: q, Origin: o.Origin}
		}
	}
}

// leads is what q, an ancestor of o without a rule, needs so that o can be
// reached or kept; false when it needs nothing. A mask or pin outside every write
// of its root needs a way only in a slot, which may lie inside an earlier one.
func (c *compilation) leads(q ir.Path, o Operation) (Verb, bool) {
	if q.Root() == ir.Host && q.IsRoot() {
		return "", false // the root is always there
	}
	around := c.around(q)
	protects := o.Verb == Mask || o.Verb == Pin
	if protects || o.Verb == Bind && o.Level == ir.Read {
		// Where the path of an optional read is missing, what is around it counts.
		for around != nil && around.Optional && around.Level == ir.Read {
			around = c.around(around.Path)
		}
	}
	switch levelOf(around) {
	case ir.Write:
		return Pin, around.Backing == ir.HostFile
	case ir.Read:
		return "", false
	}
	return Skeleton, !protects || around == nil && q.Root() != ir.Host
}

// nothingBelow reports a path inside memory or devices, which are made afresh.
func nothingBelow(r, around *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin,
		fmt.Sprintf("it lies below %s, which is made afresh for every run", around.Path),
		"name a path outside it"}
}

// nothingOfProc reports a grant inside /proc, or a process named before it runs.
func nothingOfProc(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin,
		"/proc is the sandbox's own: all of it can be read, nothing can be written, and no process is known beforehand",
		"leave the rule out"}
}

func procOnlyAtProc(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin, "the sandbox's own /proc is read, whole and at /proc", "leave the rule out"}
}

func writeOfRoot(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin, "nothing would be left to protect", "name the directories to write"}
}

func tmpfsIsWritten(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin, "private memory is fresh, so there is nothing in it but what is written", `state it under "write"`}
}

func seenInOnly(r, over *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin,
		fmt.Sprintf("a hole can be seen, and only() of %s (%s) says that nothing in it is", over.Path, over.Origin),
		"leave only() out: what is around it can be read already"}
}

// onlyFile reports only() of a directory where a mount cannot stop at the node.
func onlyFile(r *ir.FileRule, why string) error {
	return &UnsupportedError{r.Path, r.Origin,
		fmt.Sprintf("only() of a %s rule names a file, and %s", r.Level, why),
		"leave only() out, or name the files"}
}
