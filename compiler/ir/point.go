package ir

import "net/netip"

// Decider answers requests for one policy. It is safe for concurrent use and
// does not allocate.
type Decider struct {
	index     map[Path]int32 // where in nodes the path has its node
	nodes     []node         // of every path that a rule names, and of all above it
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

// node is what the rules say about one path. Below: something named lies strictly
// below it (execute rules too); readable: something readable does. Above is the node
// of its directory.
type node struct {
	file            *FileRule
	execute         *ExecuteRule
	above           int32
	below, readable bool
}

// noNode stands where there is no node.
const noNode int32 = -1

// NewDecider indexes p; it keeps no reference to later changes of p's lists.
func NewDecider(p *Policy) *Decider {
	room := 2 * (len(p.Files) + len(p.Execute))
	d := &Decider{index: make(map[Path]int32, room), nodes: make([]node, 0, room), unix: p.Unix}
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
	i := d.named(r.Path)
	d.nodes[i].file = r
	d.markAbove(i, r.Level >= Read)
	// A rule inside a system tree never covers what a slot is bound to.
	if !inSystemTree(r.Path) || r.Path.IsRoot() && !r.Only {
		d.levels[r.Path.root] |= 1 << r.Level
	}
}

func (d *Decider) addExecute(r *ExecuteRule) {
	i := d.named(r.Path)
	d.nodes[i].execute = r
	d.markAbove(i, false)
	if !inSystemTree(r.Path) {
		d.runs[r.Path.root] = true
	}
}

// named is the node of p, made with those above it if there is none yet.
func (d *Decider) named(p Path) int32 {
	if i, ok := d.index[p]; ok {
		return i
	}
	above := noNode
	if parent, ok := p.Parent(); ok {
		above = d.named(parent)
	}
	i := int32(len(d.nodes))
	d.index[p] = i
	d.nodes = append(d.nodes, node{above: above})
	return i
}

// markAbove says of everything above a node that something is named below it, and
// whether that is readable.
func (d *Decider) markAbove(i int32, readable bool) {
	for i = d.nodes[i].above; i != noNode; i = d.nodes[i].above {
		n := &d.nodes[i]
		if n.below && (n.readable || !readable) {
			return // and so it is for all above
		}
		n.below, n.readable = true, n.readable || readable
	}
}

// Point is one path among the rules of a policy. Looking for what is around a path
// costs more than deciding by it: who asks several things of one path asks a Point.
type Point struct {
	d     *Decider
	path  Path
	self  int32 // the node of the path
	above int32 // the node that is nearest above it
}

// At is the point of p.
func (d *Decider) At(p Path) Point {
	if i, ok := d.index[p]; ok {
		return Point{d, p, i, d.nodes[i].above}
	}
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if i, named := d.index[q]; named {
			return Point{d, p, noNode, i}
		}
	}
	return Point{d, p, noNode, noNode}
}

// node is what the rules say about the path itself, nil when they do not name it nor
// anything below it.
func (at Point) node() *node {
	if at.self == noNode {
		return nil
	}
	return &at.d.nodes[at.self]
}

// directory is the point of the directory that the path lies in; false for a root.
func (at Point) directory() (Point, bool) {
	parent, ok := at.path.Parent()
	return at.d.At(parent), ok
}

// rule is the longest rule of the path's own root that covers it.
func (at Point) rule() *FileRule {
	if n := at.node(); n != nil && n.file != nil {
		return n.file
	}
	return at.d.covering(at.above)
}

// covering is the longest file rule that covers what lies below a node.
func (d *Decider) covering(i int32) *FileRule {
	for ; i != noNode; i = d.nodes[i].above {
		if r := d.nodes[i].file; r != nil && !r.Only {
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
	if n := at.node(); n != nil && n.execute != nil {
		return n.execute
	}
	for i := at.above; i != noNode; i = at.d.nodes[i].above {
		if r := at.d.nodes[i].execute; r != nil && !r.Only {
			return r
		}
	}
	if at.path.root == Host {
		return nil
	}
	if n := at.d.At(Path{}).node(); n != nil && n.execute != nil && !n.execute.Only {
		return n.execute
	}
	return nil
}

// fallback is what decides p when no rule of its own root does: a rule for all of
// "/", which covers whatever a slot is bound to.
func (d *Decider) fallback(p Path) *FileRule {
	if p.root == Host {
		return nil
	}
	if n := d.At(Path{}).node(); n != nil && n.file != nil && !n.file.Only {
		return n.file
	}
	return nil
}
