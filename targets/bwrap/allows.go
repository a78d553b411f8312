package bwrap

import "github.com/obspc/obspc/compiler/ir"

// Access is what the table lets a process do at one path: the contents and the
// names in it (Read, which includes listing), its node (Stat), its contents, mode
// and times (Write), and its name (Name: make, remove, move). Mount and Kind are
// the mount it lies on: no rename or link connects two of them (EXDEV).
type Access struct {
	Read, Stat, Write, Name bool
	Mount                   ir.Path
	Kind                    EntryKind
}

// Access answers for a bound path without following a link at it. What a HostNode
// shows is taken to exist and to be permitted by the host.
func (t *Table) Access(p ir.Path) Access {
	m := t.mounted(p)
	if m == nil {
		return Access{}
	}
	a := Access{Mount: m.Path, Kind: m.Kind}
	switch m.Kind {
	case HostNode, Memory, Terminals:
		a.Read, a.Stat, a.Write = true, true, m.Writable
		a.Name = m.Writable && p != m.Path
	case DeviceNode:
		a.Read, a.Stat, a.Write = p == m.Path, p == m.Path, p == m.Path && m.Writable
	case HiddenFile:
		a.Stat = p == m.Path
	case ProcMount:
		a.Read, a.Stat, a.Write = true, true, m.Writable
		a.Name = m.Writable && p != m.Path
	default:
		t.inMemory(p, m, &a)
	}
	return a
}

// Decides is the entry that decides p: the mount it lies on, or what was made in
// memory at p itself.
func (t *Table) Decides(p ir.Path) Entry {
	if e := t.at(p); e != nil {
		return *e
	}
	if m := t.mounted(p); m != nil {
		return *m
	}
	return Entry{}
}

// inMemory answers for what bwrap made in memory: only what it put there exists,
// unless the memory was left writable.
func (t *Table) inMemory(p ir.Path, m *Entry, a *Access) {
	mode := uint32(passMode)
	switch e := t.at(p); {
	case e == nil:
		a.Read, a.Stat, a.Write, a.Name = m.Writable, m.Writable, m.Writable, m.Writable
		return
	case e.Kind == DevMount:
		mode = listMode
	case e.Kind == MadeDirectory || e.Kind == Root:
		mode = e.Mode
	}
	a.Stat = true
	a.Read = mode&0o444 != 0 || m.Writable
	a.Write = m.Writable
	a.Name = m.Writable && p != m.Path
}

// AbsentDevice reports whether p lies in the private /dev and is not there: bwrap
// makes the minimal devices and nothing else.
func (t *Table) AbsentDevice(p ir.Path) bool {
	m := t.mounted(p)
	return m != nil && t.at(p) == nil && (m.Kind == DevMount || m.Kind == DeviceNode && m.ByDev)
}

// Resolve follows the links that bwrap made on the way to p, the last component
// included, as opening p does.
func (t *Table) Resolve(p ir.Path) ir.Path {
	if t.links == 0 {
		return p
	}
	for range maxLinks {
		var link *Entry
		for n := t.tree.Nearest(p); n != ir.NoNode; n = t.tree.Above(n) {
			if e := t.entry(n); e != nil && e.Kind == SymbolicLink {
				link = e
			}
		}
		if link == nil {
			return p
		}
		next, err := throughLink(p, link.Path, link.Target)
		if err != nil {
			return p
		}
		p = next
	}
	return p
}

// resolveName follows links on the way to p, but not at p: names are made,
// removed and moved without following them (rename(2), unlink(2)).
func (t *Table) resolveName(p ir.Path) ir.Path {
	parent, ok := p.Parent()
	if !ok {
		return p
	}
	return t.Resolve(parent).Join(p.Base())
}

// Allows reports whether the mounts let the request through. Paths are bound.
// execute and connect-unix need other layers as well: here they ask whether the
// path can be opened. connect is never allowed: the network namespace has no
// route.
func (t *Table) Allows(r ir.Request) bool {
	at := func(p ir.Path) Access { return t.Access(t.Resolve(p)) }
	name := func(p ir.Path) Access { return t.Access(t.resolveName(p)) }
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest, ir.ExecuteRequest, ir.ConnectUnixRequest:
		return at(r.Path).Read
	case ir.StatRequest:
		return at(r.Path).Stat
	case ir.WriteRequest:
		return at(r.Path).Write
	case ir.CreateRequest, ir.RemoveRequest:
		return name(r.Path).Name
	case ir.RenameRequest:
		from, to := name(r.Path), name(r.To)
		return from.Name && to.Name && from.Mount == to.Mount
	case ir.LinkRequest:
		from, to := name(r.Path), name(r.To)
		return from.Write && to.Name && from.Mount == to.Mount
	}
	return false
}

// Writable reports whether the mount that p lies on can be written through.
func (t *Table) Writable(p ir.Path) bool {
	m := t.mounted(p)
	return m != nil && m.Writable
}
