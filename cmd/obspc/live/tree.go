package live

import (
	"io"
	"os"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// nodeKind is what an attempt needs at a path of its own.
type nodeKind uint8

const (
	directoryNode nodeKind = iota
	fileNode
	toolNode // a program that reports that it was started
)

// tree is what stands in the directories made for an attempt.
type tree map[ir.Path]nodeKind

// treeFor is the tree in which the placed request can be tried under p, whose slots
// lie where the binding says: what the request is about, unless it would make that;
// what the policy cannot do without; and all directories on the way.
func treeFor(p *ir.Policy, at ir.Binding, q ir.Request, fresh func(ir.Path) bool) tree {
	t, absent := tree{}, map[ir.Path]bool{}
	if q.Kind.Pairs() {
		absent[q.To] = true
	}
	if q.Kind == ir.CreateRequest {
		absent[q.Path] = true
	}
	var named []ir.Path
	need := func(path ir.Path, optional bool, kind nodeKind) {
		if path = at.Path(path); fresh(path) && !optional && !absent[path] {
			named = append(named, path)
			t[path] = kind
		}
	}
	for _, r := range p.Execute {
		need(r.Path, r.Optional, fileNode)
	}
	for _, r := range p.Files {
		if r.Level > ir.Deny {
			need(r.Path, r.Optional, directoryNode)
		}
	}
	if fresh(q.Path) && !absent[q.Path] {
		t[q.Path] = subjectKind(q, fresh, named)
	}
	for _, path := range append(named, q.Path, q.To) {
		for up, ok := path.Parent(); ok && fresh(up); up, ok = up.Parent() {
			t[up] = directoryNode
		}
	}
	return t
}

// subjectKind is what the request is about: a directory if something named must
// lie in it or it is made for the attempt itself.
func subjectKind(q ir.Request, fresh func(ir.Path) bool, named []ir.Path) nodeKind {
	parent, _ := q.Path.Parent()
	switch {
	case !fresh(parent) || slices.ContainsFunc(named, q.Path.Above) || q.Kind == ir.ListRequest:
		return directoryNode
	case q.Kind == ir.ExecuteRequest:
		return toolNode
	}
	return fileNode
}

// make makes the tree below its roots, which exist and are empty. tool is the
// program to copy.
func (t tree) make(tool string) error {
	paths := make([]ir.Path, 0, len(t))
	for path := range t {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, ir.Path.Compare) // a directory before what lies in it
	for _, path := range paths {
		var err error
		switch at := path.String(); t[path] {
		case directoryNode:
			err = os.MkdirAll(at, 0o755)
		case toolNode:
			err = copyTool(tool, at)
		default:
			err = os.WriteFile(at, []byte("made for one attempt\n"), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyTool(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
