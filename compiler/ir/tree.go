package ir

import "hash/maphash"

// Tree holds a value of T at paths and at all above them: a node for each. Finding
// a path costs a look-up for it and for each directory above it that has no node; the
// way up from there costs none.
type Tree[T any] struct {
	slots []Node // by hash of the path, open addressing: a node counted from 1, or 0
	nodes []treeNode[T]
}

// Node names a node of a tree. Nodes are numbered from 0 as they are made, each after
// the one above it.
type Node int32

// NoNode stands where there is none.
const NoNode Node = -1

type treeNode[T any] struct {
	value T
	path  Path
	above Node
}

// NewTree has room for that many paths, and for what mostly lies above so many.
func NewTree[T any](paths int) Tree[T] {
	room := paths + paths/4 + 8
	t := Tree[T]{nodes: make([]treeNode[T], 0, room)}
	t.spread(room)
	return t
}

// spread makes at least twice as many slots as nodes.
func (t *Tree[T]) spread(nodes int) {
	size := 8
	for size < 2*nodes {
		size *= 2
	}
	t.slots = make([]Node, size)
	for n := range t.nodes {
		*t.slot(t.nodes[n].path) = Node(n) + 1
	}
}

// seed makes it impossible to write a policy whose paths fall into the same slots.
var seed = maphash.MakeSeed()

// slot is where p stands, or would.
func (t *Tree[T]) slot(p Path) *Node {
	last := uint64(len(t.slots) - 1)
	for i := maphash.String(seed, p.rel) + uint64(p.root); ; i++ {
		slot := &t.slots[i&last]
		if *slot == 0 || t.nodes[*slot-1].path == p {
			return slot
		}
	}
}

// Make is the node of p, made with all above it where there is none yet.
func (t *Tree[T]) Make(p Path) Node {
	if n := *t.slot(p); n != 0 {
		return n - 1
	}
	above := NoNode
	if parent, ok := p.Parent(); ok {
		above = t.Make(parent)
	}
	if 2*len(t.nodes) >= len(t.slots) {
		t.spread(2 * len(t.nodes))
	}
	t.nodes = append(t.nodes, treeNode[T]{path: p, above: above})
	*t.slot(p) = Node(len(t.nodes))
	return Node(len(t.nodes) - 1)
}

// Find is the node of p, NoNode where it has none, and the nearest one above it.
func (t *Tree[T]) Find(p Path) (self, above Node) {
	if n := *t.slot(p); n != 0 {
		return n - 1, t.nodes[n-1].above
	}
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if n := *t.slot(q); n != 0 {
			return NoNode, n - 1
		}
	}
	return NoNode, NoNode
}

// Nearest is the node of p, or the nearest one above it.
func (t *Tree[T]) Nearest(p Path) Node {
	self, above := t.Find(p)
	if self != NoNode {
		return self
	}
	return above
}

// Len is the number of nodes.
func (t *Tree[T]) Len() int { return len(t.nodes) }

// At is what the node holds, until another is made.
func (t *Tree[T]) At(n Node) *T { return &t.nodes[n].value }

// Path is the node's path.
func (t *Tree[T]) Path(n Node) Path { return t.nodes[n].path }

// Above is the node of the directory that the node's path lies in, NoNode for a root.
func (t *Tree[T]) Above(n Node) Node { return t.nodes[n].above }
