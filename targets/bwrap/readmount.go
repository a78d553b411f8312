package bwrap

import (
	"fmt"
	"strconv"

	"github.com/obspc/obspc/compiler/ir"
)

// mount applies one option that puts something into the file system.
func (r *reader) mount(option string, args []string) error {
	mode, size := r.mode, r.size
	r.mode, r.size = "", ""
	p, err := readPath(args[len(args)-1])
	if err != nil {
		return err
	}
	e, err := r.made(option, args, p, mode, size)
	if err != nil {
		return err
	}
	if p.IsRoot() {
		if e.Kind != HostNode || e.Writable || len(r.table.Entries) != 1 {
			return fmt.Errorf("%w: %s on /", ErrFragment, option)
		}
		r.table.put(e)
		return nil
	}
	if err := r.parents(p); err != nil {
		return err
	}
	if old := r.table.at(p); old != nil && !(old.ByDev && (old.Kind == MadeDirectory || old.Kind == DeviceNode)) {
		return fmt.Errorf("%w: %s over %s, which already is a %s", ErrFragment, option, p, old.Kind)
	}
	r.table.put(e)
	if e.Kind == DevMount {
		r.minimalDev(p)
	}
	return nil
}

// made is what the option leaves at p.
func (r *reader) made(option string, args []string, p ir.Path, mode, size string) (Entry, error) {
	e := Entry{Path: p}
	bare := mode == "" && size == ""
	switch {
	case option == "--dir" && size == "" && (mode == "0111" || mode == "0755"):
		e.Kind, e.Mode = MadeDirectory, passMode
		if mode == "0755" {
			e.Mode = listMode
		}
		return e, nil
	case option == "--tmpfs" && (mode == "0111" || mode == "1777"):
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n <= 0 || strconv.FormatInt(n, 10) != size {
			return e, fmt.Errorf("%w: size %q of %s", ErrFragment, size, p)
		}
		e.Kind, e.Writable, e.Size = Memory, true, n
		if mode == "0111" {
			e.Kind = HiddenDirectory // and writable until it is remounted
		}
		return e, nil
	case option == "--ro-bind-data" && mode == "0000" && size == "":
		e.Kind = HiddenFile
		return e, r.descriptor(args[0])
	case option == "--symlink" && bare:
		target, err := readPath(args[0])
		e.Kind, e.Target = SymbolicLink, target
		return e, err
	case option == "--proc" && bare && p == procPath:
		e.Kind, e.Writable = ProcMount, true
		return e, nil
	case option == "--dev" && bare && p == devPath:
		e.Kind, e.Writable = DevMount, true
		return e, nil
	case (option == "--bind" || option == "--ro-bind" || option == "--dev-bind") && bare:
		if args[0] != args[1] {
			return e, fmt.Errorf("%w: %s of %s on another path", ErrFragment, args[0], p)
		}
		e.Kind, e.Writable = HostNode, option != "--ro-bind"
		if option == "--dev-bind" {
			e.Kind = DeviceNode
		}
		return e, nil
	}
	return e, fmt.Errorf("%w: %s of %s with mode %q and size %q", ErrFragment, option, p, mode, size)
}

// parents makes what bwrap makes on the way to a mount point: directories of mode
// 0755, in memory or on the host. A mount under something that is no directory,
// or above one that exists, is refused.
func (r *reader) parents(p ir.Path) error {
	if r.table.covers(p) {
		return fmt.Errorf("%w: %s would hide what lies below it", ErrFragment, p)
	}
	var missing []ir.Path
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		e := r.table.at(q)
		if e == nil {
			missing = append(missing, q)
			continue
		}
		switch e.Kind {
		case HostNode, Memory, ProcMount, Terminals:
			missing = nil // the host's own, or made and writable there
		case SymbolicLink, HiddenFile, DeviceNode:
			return fmt.Errorf("%w: %s lies below %s, a %s", ErrFragment, p, q, e.Kind)
		}
		break
	}
	for i := len(missing) - 1; i >= 0; i-- {
		r.table.put(Entry{Path: missing[i], Kind: MadeDirectory, Mode: listMode})
	}
	return nil
}

// minimalDev puts what `--dev` makes (bwrap(1)): six devices of the host, their
// links, a pseudo-terminal file system and an empty directory for shared memory.
func (r *reader) minimalDev(p ir.Path) {
	put := func(name string, e Entry) {
		e.Path, e.ByDev = p.Join(name), true
		r.table.put(e)
	}
	link := func(name, target string) {
		put(name, Entry{Kind: SymbolicLink, Target: ir.MustPath(target)})
	}
	device := func(name string) { put(name, Entry{Kind: DeviceNode, Writable: true}) }
	link("core", "/proc/kcore")
	link("fd", "/proc/self/fd")
	device("full")
	device("null")
	link("ptmx", p.String()+"/pts/ptmx")
	put("pts", Entry{Kind: Terminals, Writable: true})
	device("random")
	put("shm", Entry{Kind: MadeDirectory, Mode: listMode})
	link("stderr", "/proc/self/fd/2")
	link("stdin", "/proc/self/fd/0")
	link("stdout", "/proc/self/fd/1")
	device("tty")
	device("urandom")
	device("zero")
}

// sealed applies --remount-ro, and --chmod of the root.
func (r *reader) sealed(option string, args []string) error {
	p, err := readPath(args[len(args)-1])
	if err != nil {
		return err
	}
	e := r.table.at(p)
	switch {
	case e == nil || !e.isMount():
		return fmt.Errorf("%w: %s of %s, which is no mount", ErrFragment, option, p)
	case option == "--chmod" && e.Kind == Root && e.Writable && (args[0] == "0111" || args[0] == "0755"):
		e.Mode = passMode
		if args[0] == "0755" {
			e.Mode = listMode
		}
		return r.once(option)
	case option == "--remount-ro" && e.Writable && (e.Kind == Root || e.Kind == HiddenDirectory || e.Kind == ProcMount || e.Kind == DevMount):
		e.Writable = false
		return nil
	}
	return fmt.Errorf("%w: %s of %s", ErrFragment, option, p)
}
