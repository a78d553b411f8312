package bwrap

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// build makes the table: one final intent for each path, parents first.
func (p *plan) build() error {
	p.root()
	for _, o := range p.ops {
		shows := o.active && o.shown
		if o.at.IsRoot() || !shows && !p.marked(o.at).needed {
			continue
		}
		if err := p.leadToSlot(o); err != nil {
			return err
		}
		if shows {
			p.show(o)
		} else if err := p.lead(o.at); err != nil {
			return err
		}
	}
	return nil
}

// root is "/": the host's, when a rule reads all of it, else memory.
func (p *plan) root() {
	e := Entry{Kind: Root, Mode: passMode}
	for _, o := range p.ops {
		switch {
		case !o.at.IsRoot() || !o.active:
		case o.Verb == Skeleton:
			e.Mode = listMode
		case o.Verb == LinkOrBind || o.Verb == Bind:
			e = Entry{Kind: HostNode}
		}
	}
	p.table.put(e)
}

// leadToSlot makes the way to what the operation's slot is bound to. The way
// below that stands in the operations themselves.
func (p *plan) leadToSlot(o *placed) error {
	if o.Path.Root() == ir.Host {
		return nil
	}
	slot, _ := p.binding.At(o.Path.Root())
	var way []ir.Path
	for q := range slot.Upward() {
		if !q.IsRoot() && q != o.at {
			way = append(way, q)
		}
	}
	for i := len(way) - 1; i >= 0; i-- {
		if err := p.lead(way[i]); err != nil {
			return err
		}
	}
	return nil
}

// lead makes at a way to what lies below it: a directory where nothing is
// granted, a mount of its own inside a write, so that it cannot be moved away.
func (p *plan) lead(at ir.Path) error {
	if p.table.at(at) != nil {
		return nil
	}
	around := p.decider(at)
	switch {
	case around.level() == ir.Deny:
		p.table.put(Entry{Path: at, Kind: MadeDirectory, Mode: passMode})
	case around.level() == ir.Read:
	case around.Verb == Tmpfs:
		// Fresh memory has no node of the host to mount on itself.
		p.table.put(Entry{Path: at, Kind: Memory, Size: around.Size, Writable: true})
	default:
		if fact, known := p.facts[at]; known && fact.Kind == Link {
			return &LinkError{at, at, fact.Target, around.Origin, "it lies inside a write, where an earlier run could have planted it"}
		} else if known && fact.Kind == Missing {
			return fmt.Errorf("%s is missing inside a write, and no placeholder was made", at)
		}
		p.table.put(Entry{Path: at, Kind: HostNode, Writable: true})
	}
	return nil
}

// show adds the operation's own entry.
func (p *plan) show(o *placed) {
	e := Entry{Path: o.at, Kind: HostNode, Writable: o.level() == ir.Write}
	switch {
	case len(o.hops) > 0:
		h := o.hops[0]
		if p.table.at(h.link) != nil {
			return // another rule's path leads over the same link
		}
		e = Entry{Path: h.link, Kind: SymbolicLink, Target: h.target}
	case o.Verb == Mask && o.kind == Directory:
		e = Entry{Path: o.at, Kind: HiddenDirectory, Size: holeSize}
	case o.Verb == Mask:
		e = Entry{Path: o.at, Kind: HiddenFile}
	case o.Verb == Skeleton && o.kind == Directory:
		e = Entry{Path: o.at, Kind: MadeDirectory, Mode: listMode}
	case o.kind == Device:
		e.Kind = DeviceNode
	case o.Verb == Tmpfs:
		e = Entry{Path: o.at, Kind: Memory, Size: o.Size, Writable: true}
	case o.Verb == Proc:
		e = Entry{Path: o.at, Kind: ProcMount}
	case o.Verb == Dev:
		p.table.putDev(o.at)
		return
	}
	p.table.put(e)
}

// putDev adds what `bwrap --dev` makes.
func (t *Table) putDev(at ir.Path) {
	t.put(Entry{Path: at, Kind: DevMount})
	for _, n := range devNodes {
		e := Entry{Path: n.path, Kind: n.kind, Target: n.target, ByDev: true, Writable: n.kind == DeviceNode || n.kind == Terminals}
		if n.kind == MadeDirectory {
			e.Mode = listMode
		}
		t.put(e)
	}
}
