package ir

// Tree holds a value of T at paths and at all above them: a node for each. Finding
// a path costs a look-up for it and for each directory above it that has no node; the
// way up from there costs none.
type Tree[T any] struct {
	index map[Path]Node
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

// NewTree has room for that many nodes.
func NewTree[T any](room int) Tree[T] {
	return Tree[T]{index: make(map[Path]Node, room), nodes: make([]treeNode[T], 0, room)}
}

// Make is the node of p, made with all above it where there is none yet.
func (t *Tree[T]) Make(p Path) Node {
	if n, ok := t.index[p]; ok {
		return n
	}
	above := NoNode
	if parent, ok := p.Parent(); ok {
		above = t.Make(parent)
	}
	n := Node(len(t.nodes))
	t.index[p] = n
	t.nodes = append(t.nodes, treeNode[T]{path: p, above: above})
	return n
}

// Find is the node of p, NoNode where it has none, and the nearest one above it.
func (t *Tree[T]) Find(p Path) (self, above Node) {
	if n, ok := t.index[p]; ok {
		return n, t.nodes[n].above
	}
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if n, ok := t.index[q]; ok {
			return NoNode, n
		}
	}
	return NoNode, NoNode
}

// Len is the number of nodes.
func (t *Tree[T]) Len() int { return len(t.nodes) }

// At is what the node holds, until another is made.
func (t *Tree[T]) At(n Node) *T { return &t.nodes[n].value }

// Path is the node's path.
func (t *Tree[T]) Path(n Node) Path { return t.nodes[n].path }

// Above is the node of the directory that the node's path lies in, NoNode for a root.
func (t *Tree[T]) Above(n Node) Node { return t.nodes[n].above }
