package targets

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// domain is what a Landlock domain of the rules grants on one machine, where the
// kernel has every right that they ask for.
type domain struct{ starts, reads, writes cover }

// domainOf indexes the rules; those that are optional and missing grant nothing.
func domainOf(r *landlock.Rules, b ir.Binding, missing func(ir.Path) bool) domain {
	bound := r.Bind(b)
	d := domain{covered(bound.Execute, missing), covered(bound.Read, missing), covered(bound.Write, missing)}
	d.starts.everything = !r.Programs
	return d
}

// allows reports whether the domain lets a bound request through that the mounts
// let through. Seeing a node, connecting to one and the network are not its to
// refuse. A rename or link needs the rights of both names, those to make and to
// remove among them, and moves nothing to where more is granted: that, and a move
// between directories with different rights, is refused; it happens across mounts
// only, where each such path is one.
func (d domain) allows(t *bwrap.Table, r ir.Request) bool {
	at := t.Resolve(r.Path)
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest:
		return d.readable(at)
	case ir.ExecuteRequest:
		return d.readable(at) && d.starts.has(at)
	case ir.WriteRequest:
		return d.writes.has(at)
	case ir.CreateRequest, ir.RemoveRequest:
		return d.names(t, r.Path)
	case ir.RenameRequest, ir.LinkRequest:
		return d.names(t, r.Path) && d.names(t, r.To)
	}
	return true
}

func (d domain) readable(at ir.Path) bool { return d.reads.has(at) || d.writes.has(at) }

// names reports whether names can be made, removed and moved in the directory that
// p lies in.
func (d domain) names(t *bwrap.Table, p ir.Path) bool {
	parent, ok := p.Parent()
	return ok && d.writes.has(t.Resolve(parent))
}

// cover is what bound rules of one list grant.
type cover struct {
	everything bool
	paths      map[ir.Path]bool // true: and all below
}

func covered(rules []landlock.BoundRule, missing func(ir.Path) bool) cover {
	c := cover{paths: make(map[ir.Path]bool, len(rules))}
	for _, r := range rules {
		p, err := ir.NewPath(ir.Host, r.Path)
		if err == nil && !(r.Optional && missing(p)) {
			c.paths[p] = c.paths[p] || !r.Only
		}
	}
	return c
}

func (c cover) has(p ir.Path) bool {
	if c.everything {
		return true
	}
	for q := range p.Upward() {
		if below, ok := c.paths[q]; ok && (below || q == p) {
			return true
		}
	}
	return false
}
