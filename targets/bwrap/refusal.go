package bwrap

import "github.com/obspc/obspc/compiler/ir"

// Refusal lists the errors with which the kernel refuses a request that Allows
// refuses, where the same attempt succeeds outside the sandbox. Several are there
// where it depends on how the attempt is made: opening a masked file for writing
// fails otherwise than changing its mode. The order of the kernel's checks is that
// of fs/namei.c: the way, what is there already, the two mounts, a read-only one,
// and last a mount on the name itself.
func (t *Table) Refusal(r ir.Request) []string {
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest, ir.ExecuteRequest, ir.ConnectUnixRequest:
		return t.refusedNode(t.Resolve(r.Path), "EACCES")
	case ir.StatRequest:
		return t.refusedNode(t.Resolve(r.Path), "")
	case ir.WriteRequest:
		return t.refusedNode(t.Resolve(r.Path), "EROFS")
	case ir.CreateRequest, ir.RemoveRequest:
		return t.refusedName(t.resolveName(r.Path), r.Kind == ir.CreateRequest)
	case ir.RenameRequest:
		return t.refusedRename(t.resolveName(r.Path), t.resolveName(r.To))
	case ir.LinkRequest:
		return t.refusedLink(t.resolveName(r.Path), t.resolveName(r.To))
	}
	return nil
}

// absent reports whether p is nowhere in the sandbox: bwrap's memory holds only
// what was put there. What a HostNode shows is taken to exist.
func (t *Table) absent(p ir.Path) bool {
	if t.at(p) != nil {
		return false
	}
	m := t.mounted(p)
	switch m.Kind {
	case HostNode, Memory, Terminals, ProcMount:
		return false
	}
	return true
}

// refusedNode is about a node and not its name. A masked file is refused by its
// mode where that is asked first, and as read-only where the mount is.
func (t *Table) refusedNode(p ir.Path, present string) []string {
	switch {
	case t.absent(p):
		return []string{"ENOENT"}
	case present == "EROFS" && t.mounted(p).Kind == HiddenFile:
		return []string{"EACCES", "EROFS"}
	}
	return []string{present}
}

// directory is the mount that the directory of p lies on; nil without one.
func (t *Table) directory(p ir.Path) *Entry {
	parent, ok := p.Parent()
	if !ok || t.absent(parent) {
		return nil
	}
	return t.mounted(parent)
}

func (t *Table) refusedName(p ir.Path, create bool) []string {
	dir := t.directory(p)
	switch {
	case dir == nil:
		return []string{"ENOENT"}
	case create && t.at(p) != nil:
		return []string{"EEXIST"} // a placeholder, or what leads somewhere
	case !dir.Writable:
		return []string{"EROFS"}
	}
	return []string{"EBUSY"}
}

func (t *Table) refusedRename(from, to ir.Path) []string {
	a, b := t.directory(from), t.directory(to)
	switch {
	case a == nil || b == nil:
		return []string{"ENOENT"}
	case a != b:
		return []string{"EXDEV"}
	case !a.Writable:
		return []string{"EROFS"}
	}
	if t.at(to) != nil {
		// The others where nothing is to be replaced, and where one is a directory and
		// the other is not.
		return []string{"EBUSY", "EEXIST", "EISDIR", "ENOTDIR"}
	}
	return []string{"EBUSY"}
}

func (t *Table) refusedLink(from, to ir.Path) []string {
	dir := t.directory(to)
	switch {
	case t.absent(from) || dir == nil:
		return []string{"ENOENT"}
	case t.at(to) != nil:
		return []string{"EEXIST"}
	case !dir.Writable:
		return []string{"EROFS"}
	}
	return []string{"EXDEV"}
}
