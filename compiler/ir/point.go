package ir

import "net/netip"

// Decider answers requests for one policy. It is safe for concurrent use and
// does not allocate.
type Decider struct {
	tree      Tree[named]
	unix      UnixRule
	exact     map[string][]*Endpoint
	one, many map[string][]*Endpoint
	addrs     map[netip.Addr][]*Endpoint
	denied    map[HostPattern]*HostRule
	loopback  *LoopbackRule   // nil: the sandbox's own
	levels    [numRoots]uint8 // by root: the set of levels its rules give, as bits
	runs      [numRoots]bool  // by root: has an execute rule
	syscalls  map[string]*SyscallRule
}

// named is what the rules say about a path that one of them names, or that lies above
// one. Below: something named lies strictly below it (execute rules too); readable:
// something readable does.
type named struct {
	file            *FileRule
	execute         *ExecuteRule
	below, readable bool
}

// NewDecider indexes p; it keeps no reference to later changes of p's lists.
func NewDecider(p *Policy) *Decider {
	d := &Decider{tree: NewTree[named](len(p.Files) + len(p.Execute)), unix: p.Unix}
	if p.Loopback.Host {
		d.loopback = &p.Loopback
	}
	for i := range p.DeniedHosts {
		put(&d.denied, p.DeniedHosts[i].Host, &p.DeniedHosts[i])
	}
	for i := range p.Files {
		d.addFile(&p.Files[i])
	}
	for i := range p.Execute {
		d.addExecute(&p.Execute[i])
	}
	for i := range p.Endpoints {
		d.addEndpoint(&p.Endpoints[i])
	}
	for i := range p.Syscalls {
		put(&d.syscalls, p.Syscalls[i].Name, &p.Syscalls[i])
	}
	return d
}

// put makes the map when it is needed: most policies have no rule of most sorts.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (d *Decider) addFile(r *FileRule) {
	// The configuration's carve-out counts only once it is bound: left out, it is
	// as if unsaid.
	if r.Path.root == Config {
		return
	}
	n := d.tree.Make(r.Path)
	d.tree.At(n).file = r
	d.markAbove(n, r.Level >= Read)
	// A rule inside a system tree never covers what a slot is bound to.
	if !inSystemTree(r.Path) || r.Path.IsRoot() && !r.Only {
		d.levels[r.Path.root] |= 1 << r.Level
	}
}

func (d *Decider) addExecute(r *ExecuteRule) {
	n := d.tree.Make(r.Path)
	d.tree.At(n).execute = r
	d.markAbove(n, false)
	if !inSystemTree(r.Path) {
		d.runs[r.Path.root] = true
	}
}

// markAbove says of everything above a node that something is named below it, and
// whether that is readable.
func (d *Decider) markAbove(n Node, readable bool) {
	for n = d.tree.Above(n); n != NoNode; n = d.tree.Above(n) {
		at := d.tree.At(n)
		if at.below && (at.readable || !readable) {
			return // and so it is for all above
		}
		at.below, at.readable = true, at.readable || readable
	}
}

// Point is one path among the rules of a policy. Looking for what is around a path
// costs more than deciding by it: who asks several things of one path asks a Point.
type Point struct {
	d     *Decider
	path  Path
	self  *named // nil: no rule names it, nor anything below it
	above Node
}

// At is the point of p.
func (d *Decider) At(p Path) Point {
	self, above := d.tree.Find(p)
	if self == NoNode {
		return Point{d, p, nil, above}
	}
	return Point{d, p, d.tree.At(self), above}
}

// directory is the point of the directory that the path lies in; false for a root.
func (at Point) directory() (Point, bool) {
	parent, ok := at.path.Parent()
	return at.d.At(parent), ok
}

// rule is the longest rule of the path's own root that covers it.
func (at Point) rule() *FileRule {
	if at.self != nil && at.self.file != nil {
		return at.self.file
	}
	return at.d.covering(at.above)
}

// covering is the longest file rule that covers what lies below a node.
func (d *Decider) covering(n Node) *FileRule {
	for ; n != NoNode; n = d.tree.Above(n) {
		if r := d.tree.At(n).file; r != nil && !r.Only {
			return r
		}
	}
	return nil
}

// levelAt is the level the path has and the rule that gives it, nil for the default.
func (at Point) levelAt() (Level, *FileRule) {
	r := at.rule()
	if r == nil {
		r = at.d.fallback(at.path)
	}
	if r == nil {
		return Deny, nil
	}
	return r.Level, r
}

// executes is the rule that lets the path start, if it can be read.
func (at Point) executes() *ExecuteRule {
	if at.self != nil && at.self.execute != nil {
		return at.self.execute
	}
	for n := at.above; n != NoNode; n = at.d.tree.Above(n) {
		if r := at.d.tree.At(n).execute; r != nil && !r.Only {
			return r
		}
	}
	if at.path.root == Host {
		return nil
	}
	if all := at.d.At(Path{}).self; all != nil && all.execute != nil && !all.execute.Only {
		return all.execute
	}
	return nil
}

// fallback is what decides p when no rule of its own root does: a rule for all of
// "/", which covers whatever a slot is bound to.
func (d *Decider) fallback(p Path) *FileRule {
	if p.root == Host {
		return nil
	}
	if all := d.At(Path{}).self; all != nil && all.file != nil && !all.file.Only {
		return all.file
	}
	return nil
}
