package cmdline

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// Kind is what stands at a path of the sandbox's file system.
type Kind string

// The kinds. All but Directory, File, Link and mode are mounts of their own.
const (
	Root       Kind = "root"      // the memory that everything stands on
	Bind       Kind = "bind"      // a host's tree; devices in it cannot be opened
	DeviceBind Kind = "dev-bind"  // a host's tree with its devices
	Overlay    Kind = "overlay"   // layers of host's trees
	Tmpfs      Kind = "tmpfs"     // memory
	Dev        Kind = "dev"       // memory with the minimal devices
	Device     Kind = "device"    // one device of the host
	Terminals  Kind = "devpts"    // the sandbox's own terminals
	Proc       Kind = "proc"      // /proc of the sandbox's PID namespace, or the host's
	Queues     Kind = "mqueue"    // message queues of the sandbox's IPC namespace
	Data       Kind = "data"      // a file that bwrap fills
	Directory  Kind = "directory" // made by bwrap
	File       Kind = "file"      // made by bwrap
	Link       Kind = "link"      // made by bwrap
	Unread     Kind = "args"      // whatever the words of another descriptor make

	mode Kind = "mode" // another mode of what stands there
)

// layer is one thing that an operation puts into the file system.
type layer struct {
	op       *Operation // nil for Root
	dest     string
	kind     Kind
	writable bool
	mode     uint32
	source   string // the host's path behind dest; "" when there is none, or many
	target   string // of a link
	point    string // the host's path that it is mounted on, "" for memory's
}

func (l *layer) mounted() bool {
	switch l.kind {
	case Directory, File, Link, mode:
		return false
	}
	return true
}

func (l *layer) try() bool { return l.op != nil && l.op.Try() }

// memory reports whether only what bwrap and the sandbox put there is there.
func (l *layer) memory() bool { return l.kind == Root || l.kind == Tmpfs || l.kind == Dev }

// build does the operations in order.
func (c *Command) build() {
	c.layers = []layer{{dest: "/", kind: Root, writable: true, mode: 0o755}}
	c.links = map[string]int{}
	for i := range c.Operations {
		op := &c.Operations[i]
		switch op.Option {
		case "--remount-ro":
			c.remount(op)
		case "--chmod":
			c.chmod(op)
		case "--dev":
			c.minimalDev(op)
		default:
			c.add(made(op))
		}
	}
}

// add puts a layer. A destination that leads over a link of bwrap's own ends where
// the link leads: at least, up to 0.11.
func (c *Command) add(l layer) {
	if l.dest == l.op.Dest {
		if c.reach(l.op, l.kind != Link); l.kind == Directory && l.op.dangles {
			return // mkdir(2) finds the link, and bwrap takes that for a directory
		}
	}
	l.dest = c.resolve(l.dest, l.kind != Link)
	if l.mounted() && l.kind != Unread {
		l.point = c.stands(l.dest)[0].host
	}
	if l.kind == Link {
		if at, twice := c.links[l.dest]; twice && l.op.Option == "--symlink" && c.visible(at) == Yes {
			c.findings.Add(linkTwice(l.op, c.layers[at].target == l.target))
		}
		c.links[l.dest] = len(c.layers)
	}
	c.layers = append(c.layers, l)
}

// made is what an operation puts at its destination.
func made(op *Operation) layer {
	l := layer{op: op, dest: op.Dest, mode: op.Mode}
	switch strings.TrimSuffix(op.Option, "-try") {
	case "--bind", "--bind-fd":
		l.kind, l.writable = Bind, true
	case "--ro-bind", "--ro-bind-fd":
		l.kind = Bind
	case "--dev-bind":
		l.kind, l.writable = DeviceBind, true
	case "--overlay", "--tmp-overlay":
		l.kind, l.writable = Overlay, true
	case "--ro-overlay":
		l.kind = Overlay
	case "--tmpfs":
		l.kind, l.writable = Tmpfs, true
	case "--proc":
		l.kind, l.writable = Proc, true
	case "--mqueue":
		l.kind, l.writable = Queues, true
	case "--bind-data":
		l.kind, l.writable = Data, true
	case "--ro-bind-data":
		l.kind = Data
	case "--dir":
		l.kind = Directory
	case "--file":
		l.kind = File
	case "--symlink":
		l.kind, l.target = Link, op.Source
	case "--args":
		l.kind = Unread
	default:
		diag.Bug("operation %s puts nothing into the file system", op.Option)
	}
	if l.kind == Bind || l.kind == DeviceBind {
		l.source = op.Source
		if strings.HasSuffix(op.Option, "-fd") {
			l.source = "${descriptor " + op.Source + "}"
		}
	}
	return l
}

// minimalDev puts what --dev makes (bwrap(1), checked with 0.8.0). A terminal on
// standard output also gives a console, which is the terminal again.
func (c *Command) minimalDev(op *Operation) {
	c.add(layer{op: op, dest: op.Dest, kind: Dev, writable: true, mode: 0o755})
	for _, name := range []string{"full", "null", "random", "tty", "urandom", "zero"} {
		c.add(layer{op: op, dest: join(op.Dest, name), kind: Device, writable: true, source: "/dev/" + name})
	}
	for _, l := range [][2]string{
		{"core", "/proc/kcore"}, {"fd", "/proc/self/fd"}, {"ptmx", "pts/ptmx"},
		{"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
	} {
		c.add(layer{op: op, dest: join(op.Dest, l[0]), kind: Link, target: l[1]})
	}
	c.add(layer{op: op, dest: join(op.Dest, "shm"), kind: Directory, mode: 0o755})
	c.add(layer{op: op, dest: join(op.Dest, "pts"), kind: Terminals, writable: true, mode: 0o755})
}

// remount makes the mount at exactly that path read-only, and nothing below it.
func (c *Command) remount(op *Operation) {
	c.reach(op, true)
	at, unsure := c.resolve(op.Dest, true), false
	for i := len(c.layers) - 1; i >= 0; i-- {
		l := &c.layers[i]
		switch covered := covers(l.dest, at); {
		case !l.mounted() || covered == No:
			continue
		case l.dest == at:
			if l.writable = false; l.try() {
				unsure = true // without it, the one below is remounted
				continue
			}
		case unsure:
		case covered == Maybe:
			continue
		case l.memory() || l.kind == Data || l.kind == Device:
			c.findings.Add(remountNoMount(op))
		default:
			c.findings.Add(remountOfHost(op, l))
		}
		return
	}
}

// chmod changes the mode of what is there.
func (c *Command) chmod(op *Operation) {
	at := c.resolve(op.Dest, true)
	s := c.stands(at)
	switch l := &c.layers[s[0].layer]; {
	case len(s) > 1 || l.kind == Unread:
	case l.memory() && c.node(s[0].layer, at).exists == No:
		c.findings.Add(chmodNothing(op))
	case !l.writable:
		c.findings.Add(chmodReadOnly(op, l))
	case l.isHost():
		c.findings.Add(chmodOnHost(op, l))
	}
	c.add(layer{op: op, dest: op.Dest, kind: mode, mode: op.Mode})
}

// node is what stands at a path of a memory file system.
type node struct {
	exists State
	kind   Kind
	mode   uint32
}

// node looks for p in the memory of layer k: what was made there after k.
func (c *Command) node(k int, p string) node {
	var n node
	found := func(kind Kind, mode uint32, how State) {
		if n.exists == No {
			n = node{how, kind, mode}
		}
		n.exists = stronger(n.exists, how)
	}
	if c.layers[k].dest == p {
		found(c.layers[k].kind, c.layers[k].mode, Yes)
	}
	for i := k + 1; i < len(c.layers); i++ {
		l := &c.layers[i]
		how := Yes
		if l.try() {
			how = Maybe
		}
		switch {
		case l.kind == Unread:
			n.exists = stronger(n.exists, Maybe)
		case l.dest == p && l.kind == mode:
			n.mode = l.mode
		case l.dest == p && !l.mounted():
			found(l.kind, l.mode, how)
		case l.dest == p || l.kind == mode:
		case covers(p, l.dest) == Yes:
			found(Directory, parentMode(l), how)
		case covers(p, l.dest) == Maybe:
			found(Directory, parentMode(l), Maybe)
		}
	}
	return n
}

func stronger(a, b State) State {
	if a == Yes || b == Yes {
		return Yes
	}
	return max(a, b)
}

// parentMode is the mode of directories made on the way to a destination: 0755, less
// what --perms keeps from the group and from others (bwrap(1)).
func parentMode(l *layer) uint32 {
	mode := uint32(0o755)
	if l.op == nil || defaultModes[l.op.Option] == 0 {
		return mode
	}
	if l.mode&0o070 == 0 {
		mode &^= 0o050
	}
	if l.mode&0o007 == 0 {
		mode &^= 0o005
	}
	return mode
}

// linkTwice reports a link that is there already.
func linkTwice(op *Operation, same bool) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Error, Code: "link-exists", At: op.At,
		Message: fmt.Sprintf("%s is another link already, so the set-up fails", op.Dest),
		Help:    "leave one of them out",
	}
	if same {
		d.Severity = diag.Warning
		d.Message = fmt.Sprintf("%s is this link already, which bubblewrap before 0.9.0 refuses", op.Dest)
	}
	return d
}

// remountNoMount reports a remount of what is no mount.
func remountNoMount(op *Operation) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "remount-no-mount", At: op.At,
		Message: fmt.Sprintf("%s is no mount, so the set-up fails", op.Dest),
		Help:    "name the destination of a mount, exactly",
	}
}

// remountOfHost reports a remount that needs a mount of the host.
func remountOfHost(op *Operation, l *layer) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "remount-of-host", At: op.At,
		Message: fmt.Sprintf("the set-up fails unless the host has a mount of its own at %s", op.Dest),
		Help:    "to make a part read-only, bind it: --ro-bind SRC DEST",
		Related: []diag.Related{{At: l.op.At, Message: "it lies in this"}},
	}
}

// chmodReadOnly reports a change of mode where nothing can be changed.
func chmodReadOnly(op *Operation, l *layer) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Error, Code: "chmod-read-only", At: op.At,
		Message: fmt.Sprintf("%s lies in a read-only mount, so the set-up fails", op.Dest),
		Help:    "change modes before --remount-ro, and those of the host on the host",
	}
	if l.op != nil {
		d.Related = related(l.op, "read-only by this")
	}
	return d
}

// chmodOnHost reports a change of mode that stays.
func chmodOnHost(op *Operation, l *layer) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "chmod-on-host", At: op.At,
		Message: fmt.Sprintf("this changes the mode of the host's %s, for good", orElse(l.hostPath(op.Dest), op.Dest)),
		Help:    "the set-up fails where the host lacks it; change its mode on the host",
		Related: related(l.op, "in this writable mount"),
	}
}

// chmodNothing reports a change of mode of what is not there.
func chmodNothing(op *Operation) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "chmod-nothing", At: op.At,
		Message: fmt.Sprintf("nothing is at %s yet, so the set-up fails", op.Dest),
		Help:    "--chmod is for what exists; --perms gives new files a mode",
	}
}
