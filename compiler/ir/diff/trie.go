package diff

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// words is a set of request words about one path, a bit for each of fileWords.
type words uint16

var fileWords = ir.FileRequests()

// The words that grouping tells apart.
var (
	readWord    = wordOf(ir.ReadRequest)
	listWord    = wordOf(ir.ListRequest)
	statWord    = wordOf(ir.StatRequest)
	writeWord   = wordOf(ir.WriteRequest)
	nameWords   = wordOf(ir.CreateRequest) | wordOf(ir.RemoveRequest)
	executeWord = wordOf(ir.ExecuteRequest)
	socketWord  = wordOf(ir.ConnectUnixRequest)
	echoWords   = statWord | nameWords
	every       = ^words(0)
)

func wordOf(k ir.RequestKind) words { return 1 << slices.Index(fileWords, k) }

// list is the set in the order of fileWords.
func (w words) list() []ir.RequestKind {
	var out []ir.RequestKind
	for i, k := range fileWords {
		if w&(1<<i) != 0 {
			out = append(out, k)
		}
	}
	return out
}

func (w words) String() string {
	list := make([]string, 0, len(fileWords))
	for _, k := range w.list() {
		list = append(list, string(k))
	}
	return strings.Join(list, ", ")
}

// node is one path of a root's joint trie: a path that a rule of either policy
// names, or an ancestor of one. Stands are the rules at it; below are those that
// decide what lies below it and below no child.
type node struct {
	path     ir.Path
	index    int   // in the trie
	parent   *node // nil for the root
	children []*node
	file     [2]*ir.FileRule
	run      [2]*ir.ExecuteRule
	below    around
	told     [2][2]words // by depth and side: what changes comprise already
}

// The two classes of a node, as indices: the node itself, and everything below it
// that is at or below no child of it.
const (
	itself = iota
	beneath
)

// place is one class.
type place struct {
	node  *node
	depth int // itself or beneath
}

// path represents the class; beneath, it is a name that neither policy has.
func (p place) path(fresh string) ir.Path {
	if p.depth == beneath {
		return p.node.path.Join(fresh)
	}
	return p.node.path
}

// around is what the rules of some roots say about places of one class, by side:
// the longest covering rule's level (silent: none covers it), and whether
// something may be started there.
type around struct {
	level [2]stated
	runs  [2]bool
}

// stated is a level, or silence.
type stated uint8

const silent stated = 0

func states(l ir.Level) stated { return 1 + stated(l) }

const (
	denied   = stated(1 + ir.Deny)
	readable = stated(1 + ir.Read)
	writable = stated(1 + ir.Write)
)

// over is what holds where rules of a later root say later inside a place of a.
func (a around) over(later around) around {
	for side := range a.level {
		if later.level[side] != silent {
			a.level[side] = later.level[side]
		}
		a.runs[side] = a.runs[side] || later.runs[side]
	}
	return a
}

// alike reports whether both policies say the same.
func (a around) alike() bool {
	return a.level[before] == a.level[after] && a.runs[before] == a.runs[after]
}

// trie is the joint trie of one root: its nodes, parents before children, and
// siblings by name.
type trie []*node

// tries are the joint tries of both policies by root. Only roots that some rule
// starts in have one; Host always has. The slot of the configuration has none: it
// is bound by the runtime (see configuration).
func tries(policies [2]*ir.Policy) map[ir.Root]trie {
	nodes := map[ir.Path]*node{}
	at := func(p ir.Path) *node { return nodeAt(nodes, p) }
	at(ir.RootPath(ir.Host))
	for side, p := range policies {
		for i := range p.Files {
			if r := &p.Files[i]; r.Path.Root() != ir.Config {
				at(r.Path).file[side] = r
			}
		}
		for i := range p.Execute {
			at(p.Execute[i].Path).run[side] = &p.Execute[i]
		}
	}
	out := map[ir.Root]trie{}
	for root := ir.Host; root <= ir.Workspace; root++ {
		if n := nodes[ir.RootPath(root)]; n != nil {
			out[root] = n.collect(nil)
		}
	}
	return out
}

// nodeAt is the node of p, made with its ancestors if need be.
func nodeAt(nodes map[ir.Path]*node, p ir.Path) *node {
	if n := nodes[p]; n != nil {
		return n
	}
	n := &node{path: p}
	nodes[p] = n
	if up, ok := p.Parent(); ok {
		n.parent = nodeAt(nodes, up)
		n.parent.children = append(n.parent.children, n)
	}
	return n
}

// collect appends n and all below it, and settles what they say.
func (n *node) collect(list trie) trie {
	if n.parent != nil {
		n.below = n.parent.below
	}
	for side := range n.file {
		if r := n.file[side]; r != nil && !r.Only {
			n.below.level[side] = states(r.Level)
		}
		if r := n.run[side]; r != nil && !r.Only {
			n.below.runs[side] = true
		}
	}
	list = append(list, n)
	slices.SortFunc(n.children, func(x, y *node) int { return strings.Compare(x.path.Base(), y.path.Base()) })
	for _, child := range n.children {
		list = child.collect(list)
	}
	return list
}

// named reports whether a policy's rules start in the root of the trie.
func (t trie) named(side int) bool {
	return slices.ContainsFunc(t, func(n *node) bool { return n.named(side) })
}
