package targets

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// domain is what a Landlock domain of the rules grants on one machine, where the
// kernel has every right that they ask for.
type domain struct {
	everything bool // starts
	tree       ir.Tree[granted]
}

// rights are those of the lists of rules that grant at a path.
type rights uint8

const (
	starts rights = 1 << iota
	reads
	writes
)

// granted is what the rules for one path grant at it, and at it and all below.
type granted struct{ node, below rights }

// domainOf indexes the rules; those that are optional and missing grant nothing.
func domainOf(r *landlock.Rules, b ir.Binding, missing func(ir.Path) bool) domain {
	bound := r.Bind(b)
	d := domain{everything: !r.Programs, tree: ir.NewTree[granted](len(bound.Execute) + len(bound.Read) + len(bound.Write))}
	d.add(bound.Execute, starts, missing)
	d.add(bound.Read, reads, missing)
	d.add(bound.Write, writes, missing)
	return d
}

func (d *domain) add(rules []landlock.Rule, right rights, missing func(ir.Path) bool) {
	for _, r := range rules {
		switch {
		case r.Optional && missing(r.Path):
		case r.Only:
			d.tree.At(d.tree.Make(r.Path)).node |= right
		default:
			d.tree.At(d.tree.Make(r.Path)).below |= right
		}
	}
}

// at is everything that is granted at a path.
func (d *domain) at(p ir.Path) rights {
	var out rights
	if d.everything {
		out = starts
	}
	self, above := d.tree.Find(p)
	if self != ir.NoNode {
		g := d.tree.At(self)
		out |= g.node | g.below
	}
	for ; above != ir.NoNode; above = d.tree.Above(above) {
		out |= d.tree.At(above).below
	}
	return out
}

// start, read and write report whether what the mounts let through at the path goes
// through. Writing includes reading.
func (r rights) start() bool { return r.read() && r&starts != 0 }
func (r rights) read() bool  { return r&(reads|writes) != 0 }
func (r rights) write() bool { return r&writes != 0 }

// allows reports whether the domain lets a bound request through that the mounts
// let through. Seeing a node, connecting to one and the network are not its to
// refuse. A rename or link needs the rights of both names, those to make and to
// remove among them, and moves nothing to where more is granted: that, and a move
// between directories with different rights, is refused; it happens across mounts
// only, where each such path is one.
func (d *domain) allows(t *bwrap.Table, r ir.Request) bool {
	at := t.Resolve(r.Path)
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest:
		return d.at(at).read()
	case ir.ExecuteRequest:
		return d.at(at).start()
	case ir.WriteRequest:
		return d.at(at).write()
	case ir.CreateRequest, ir.RemoveRequest:
		return d.names(t, r.Path)
	case ir.RenameRequest, ir.LinkRequest:
		return d.names(t, r.Path) && d.names(t, r.To)
	}
	return true
}

// names reports whether names can be made, removed and moved in the directory that
// p lies in.
func (d *domain) names(t *bwrap.Table, p ir.Path) bool {
	parent, ok := p.Parent()
	return ok && d.at(t.Resolve(parent)).write()
}
