package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// nodeKind is what a request needs at a path of the workspace.
type nodeKind uint8

const (
	directoryNode nodeKind = iota
	fileNode
	toolNode // a program that reports that it was started
)

// tree is what stands in a workspace before an attempt, by path below it.
type tree map[string]nodeKind

// treeFor is the tree in which the request can be tried: what it is about, unless
// it would make that; what the policy cannot do without; and all directories on
// the way.
func treeFor(p *ir.Policy, q ir.Request) tree {
	t, absent := tree{}, map[ir.Path]bool{q.To: pairs(q)}
	if q.Kind == ir.CreateRequest {
		absent[q.Path] = true
	}
	var named []ir.Path
	need := func(path ir.Path, optional bool, kind nodeKind) {
		if path.Root() == ir.Workspace && !optional && !absent[path] {
			named = append(named, path)
			t[path.Rel()] = kind
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
	if q.Path.Root() == ir.Workspace && !absent[q.Path] {
		kind := map[ir.RequestKind]nodeKind{ir.ListRequest: directoryNode, ir.ExecuteRequest: toolNode}
		have, ok := kind[q.Kind]
		if !ok {
			have = fileNode
		}
		if q.Path.IsRoot() || slices.ContainsFunc(named, q.Path.Above) {
			have = directoryNode
		}
		t[q.Path.Rel()] = have
	}
	for _, path := range append(named, q.Path, q.To) {
		for up, ok := path.Parent(); ok && path.Root() == ir.Workspace; up, ok = up.Parent() {
			t[up.Rel()] = directoryNode
		}
	}
	return t
}

// pairs reports whether the request has two paths.
func pairs(q ir.Request) bool { return q.Kind == ir.RenameRequest || q.Kind == ir.LinkRequest }

// make makes the tree in an empty directory. tool is the program to copy.
func (t tree) make(dir, tool string) error {
	paths := make([]string, 0, len(t))
	for rel := range t {
		paths = append(paths, rel)
	}
	slices.Sort(paths) // a directory before what lies in it
	for _, rel := range paths {
		at := filepath.Join(dir, rel)
		var err error
		switch t[rel] {
		case directoryNode:
			err = os.MkdirAll(at, 0o755)
		case toolNode:
			err = copyTool(tool, at)
		default:
			err = os.WriteFile(at, []byte("made by obspc test --live\n"), 0o644)
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
