package bwrap

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// EntryKind is what stands at a path of the sandbox's file system.
type EntryKind string

// The kinds. All but MadeDirectory and SymbolicLink are mounts of their own.
const (
	Root            EntryKind = "root"             // the memory everything else stands on; of Mode, read-only
	MadeDirectory   EntryKind = "directory"        // made in memory, of Mode
	SymbolicLink    EntryKind = "link"             // made in memory, leads to Target
	HostNode        EntryKind = "bind"             // the host's node and all below it; its devices cannot be opened
	DeviceNode      EntryKind = "device"           // the host's device, can be opened
	HiddenDirectory EntryKind = "hidden-directory" // memory of mode 0111, read-only
	HiddenFile      EntryKind = "hidden-file"      // an empty file of mode 0000, read-only
	Memory          EntryKind = "tmpfs"            // memory of Size bytes and mode 1777
	ProcMount       EntryKind = "proc"             // the /proc of the sandbox's PID namespace
	DevMount        EntryKind = "dev"              // memory of mode 0755 that holds the minimal /dev
	Terminals       EntryKind = "devpts"           // the sandbox's own pseudo-terminals
)

// Entry is one thing that bwrap put into the sandbox's file system.
type Entry struct {
	Path     ir.Path
	Kind     EntryKind
	Writable bool
	Mode     uint32  // Root, MadeDirectory
	Size     int64   // HiddenDirectory, Memory; bytes
	Target   ir.Path // SymbolicLink
	ByDev    bool    // made by --dev, together with the DevMount
}

// Modes and sizes of what bwrap makes in memory. A directory that may be passed
// and not listed is 0111; one page is enough for directories and short links.
const (
	passMode = 0o111
	listMode = 0o755
	holeSize = 4096
)

// Isolation is what a run is cut off from, beside files.
type Isolation struct {
	Namespaces       []string
	DisableUserns    bool // no further user namespaces (user_namespaces(7))
	DieWithParent    bool
	NewSession       bool
	NoCapabilities   bool
	EmptyEnvironment bool
	Seccomp          bool
	Status           bool // a JSON status tells a failed set-up from the command's exit
	Hostname         string
	Directory        ir.Path // where the first process starts
}

// hostname is what the sandbox sees instead of the machine's name.
const hostname = "obspc"

// complete is the isolation of every run, with the given namespaces.
func complete(namespaces []string) Isolation {
	return Isolation{slices.Clone(namespaces), true, true, true, true, true, true, true, hostname, ir.Path{}}
}

func (i Isolation) equal(o Isolation) bool {
	same := slices.Equal(i.Namespaces, o.Namespaces)
	i.Namespaces, o.Namespaces = nil, nil
	return same && reflect.DeepEqual(i, o)
}

// Lacking names what of a complete isolation is missing.
func (i Isolation) Lacking() []string {
	var out []string
	for _, n := range Namespaces() {
		if !slices.Contains(i.Namespaces, n) {
			out = append(out, n+" namespace")
		}
	}
	for _, c := range []struct {
		have bool
		what string
	}{
		{i.DisableUserns, "disabled user namespaces"}, {i.DieWithParent, "death with the parent"}, {i.NewSession, "a new session"},
		{i.NoCapabilities, "dropped capabilities"}, {i.EmptyEnvironment, "an empty environment"}, {i.Seccomp, "a seccomp filter"},
		{i.Status, "a status descriptor"},
	} {
		if !c.have {
			out = append(out, c.what)
		}
	}
	return out
}

// Table is what a sandbox's file system and isolation are: entries in the order
// in which bwrap makes them, parents before children, one for each path. The
// deepest entry at or above a path decides it.
type Table struct {
	Entries   []Entry
	Isolation Isolation

	tree  ir.Tree[stand]
	links int
}

// stand is what stands at a path: the number of its entry, counted from 1, if it has
// one. Below: some entry lies strictly below.
type stand struct {
	entry int
	below bool
}

// newTable has room for that many mounts, and for the minimal /dev.
func newTable(mounts int) *Table {
	room := mounts + len(devNodes)
	return &Table{Entries: make([]Entry, 0, room), tree: ir.NewTree[stand](room)}
}

// put adds an entry. What was only made at its path gives way.
func (t *Table) put(e Entry) {
	n := t.tree.Make(e.Path)
	if i := t.tree.At(n).entry; i != 0 {
		t.Entries = slices.Delete(t.Entries, i-1, i)
		for j := i - 1; j < len(t.Entries); j++ {
			t.tree.At(t.tree.Make(t.Entries[j].Path)).entry = j + 1
		}
	}
	t.Entries = append(t.Entries, e)
	t.tree.At(n).entry = len(t.Entries)
	for a := t.tree.Above(n); a != ir.NoNode && !t.tree.At(a).below; a = t.tree.Above(a) {
		t.tree.At(a).below = true
	}
	if e.Kind == SymbolicLink {
		t.links++
	}
}

// at is the entry of exactly that path.
func (t *Table) at(p ir.Path) *Entry {
	n, _ := t.tree.Find(p)
	return t.entry(n)
}

// entry is that of the node, nil when it has none.
func (t *Table) entry(n ir.Node) *Entry {
	if n == ir.NoNode || t.tree.At(n).entry == 0 {
		return nil
	}
	return &t.Entries[t.tree.At(n).entry-1]
}

// covers reports whether some entry lies strictly below p.
func (t *Table) covers(p ir.Path) bool {
	n, _ := t.tree.Find(p)
	return n != ir.NoNode && t.tree.At(n).below
}

// mounted is the mount that p lies on: the deepest at or above it.
func (t *Table) mounted(p ir.Path) *Entry {
	for n := t.tree.Nearest(p); n != ir.NoNode; n = t.tree.Above(n) {
		if e := t.entry(n); e != nil && e.isMount() {
			return e
		}
	}
	return nil
}

func (e *Entry) isMount() bool { return e.Kind != MadeDirectory && e.Kind != SymbolicLink }

// Mount is one line that /proc/self/mountinfo (proc(5)) must show inside. Read
// only is a flag of the mount; what the host has mounted below a HostNode, and
// the read-only covers that bwrap puts below /proc for a root caller, appear
// beside these.
type Mount struct {
	Path     ir.Path
	Kind     EntryKind
	Writable bool
}

// Mounts lists the mounts in the order in which they are made.
func (t *Table) Mounts() []Mount {
	var out []Mount
	for i := range t.Entries {
		if e := &t.Entries[i]; e.isMount() {
			out = append(out, Mount{e.Path, e.Kind, e.Writable})
		}
	}
	return out
}

// Equal reports whether both say the same.
func (t *Table) Equal(o *Table) bool { return t.Diff(o) == "" }

// Diff is the first difference between t and o, for people; "" when there is none.
func (t *Table) Diff(o *Table) string {
	for i := range min(len(t.Entries), len(o.Entries)) {
		if t.Entries[i] != o.Entries[i] {
			return fmt.Sprintf("entry %d is %v in one, %v in the other", i, t.Entries[i], o.Entries[i])
		}
	}
	switch longer := t.Entries; {
	case len(t.Entries) != len(o.Entries):
		if len(o.Entries) > len(longer) {
			longer = o.Entries
		}
		return fmt.Sprintf("entry %v stands in one only", longer[min(len(t.Entries), len(o.Entries))])
	case !t.Isolation.equal(o.Isolation):
		return fmt.Sprintf("isolation is %v in one, %v in the other", t.Isolation, o.Isolation)
	}
	return ""
}
