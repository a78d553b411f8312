// Package bwrap turns a policy's files into an argument set for bubblewrap: an
// ordered list of typed operations whose slots stay symbolic (bwrap.json), and,
// once a machine's binding and facts are known, into the options stream that
// bwrap reads from a descriptor. Its one rule: signed operations, binding and
// facts together decide everything, so Table says what the three mean,
// Materialise prints it, and ReadStream reads the printed bytes back. Programs,
// sockets and system calls are other layers' work (landlock, seccomp); opening
// paths and starting bwrap is the runtime's.
//
// Facts about bubblewrap are from bwrap(1) of version 0.8.0, and measured with
// it.
package bwrap

import "github.com/obspc/obspc/compiler/ir"

// Verb names what an operation asks for. The set is closed.
type Verb string

const (
	// Skeleton is a directory that only leads somewhere: it can be passed and seen,
	// not listed. Listable, it is a rule of its own, only(path): a directory that
	// shows the names made in it, or, when path is no directory, that one node,
	// read-only.
	Skeleton Verb = "skeleton"
	// Bind shows the host's node and all below it, at Level. Read inside a write is
	// a carve-out: a missing path is kept missing by a placeholder.
	Bind Verb = "bind"
	// LinkOrBind is Bind for reading, or the link itself when the path is one that
	// only root could have made and its target is granted as well.
	LinkOrBind Verb = "link-or-bind"
	// Mask hides the path and all below it, when something around it is granted.
	Mask Verb = "mask"
	// Pin mounts a node on itself, so that its name cannot be moved or removed: an
	// ancestor, inside a write, of a path that a rule names, or (Named) the path of
	// an execute rule inside a write.
	Pin Verb = "pin"
	// Tmpfs is private memory of Size bytes, writable, gone after the run.
	Tmpfs Verb = "tmpfs"
	// Dev is the minimal /dev, Proc the /proc of the sandbox's own PID namespace.
	Dev  Verb = "dev"
	Proc Verb = "proc"
)

// Operation is one step of the argument set. Only limits a Bind or Mask to the
// node itself; Optional lets the path be missing; Size, in bytes, is a Tmpfs's.
// Origin is the statement that asked for it; for ancestors, the first that did.
type Operation struct {
	Verb     Verb
	Path     ir.Path
	Level    ir.Level // Bind only: Read or Write
	Listable bool     // Skeleton only
	Named    bool     // Pin only
	Only     bool
	Optional bool
	Size     int64
	Origin   ir.Origin
}

// States reports whether a rule names the operation's path; otherwise it stands
// for an ancestor.
func (o Operation) States() bool {
	switch o.Verb {
	case Skeleton:
		return o.Listable
	case Pin:
		return o.Named
	}
	return true
}

// onHost reports whether the operation concerns a node of the host, of which
// facts must be known.
func (o Operation) onHost() bool {
	switch o.Verb {
	case Tmpfs, Dev, Proc:
		return false
	case Skeleton:
		return o.Listable && !(o.Path.Root() == ir.Host && o.Path.IsRoot())
	case Bind, LinkOrBind:
		return !(o.Path.Root() == ir.Host && o.Path.IsRoot())
	}
	return true
}

// Namespaces lists the namespaces of every sandbox, in the order of their
// options. "cgroup-try" is best effort: not every kernel has it.
func Namespaces() []string {
	return []string{"user", "pid", "ipc", "uts", "net", "cgroup-try"}
}

// Set is one policy's argument set. Operations are sorted by ir.Path.Compare, one
// for each path: parents before children, as bwrap applies mounts in order and a
// later mount of a parent would hide the child.
type Set struct {
	Policy     string
	Namespaces []string
	Operations []Operation
}
