package cmdline

import (
	"fmt"
	"strings"
)

// Decision is the answer to a request.
type Decision uint8

// The decisions. Undecided: what is not known could turn the answer.
const (
	Deny Decision = iota
	Allow
	Undecided
)

func (d Decision) String() string { return [...]string{"deny", "allow", "undecided"}[d] }

// verdict is a decision about one path on one layer.
type verdict struct {
	decision Decision
	because  string
	assumes  []string
	unknown  []string
}

func allow(because string, assumes ...string) verdict { return verdict{Allow, because, assumes, nil} }
func deny(format string, args ...any) verdict {
	return verdict{Deny, fmt.Sprintf(format, args...), nil, nil}
}
func open(because string, unknown ...string) verdict {
	return verdict{Undecided, because, nil, unknown}
}

// act is what is done with a path.
type act uint8

const (
	reads act = iota
	lists
	stats
	writes
	names // makes, removes or moves it
	executes
	connects
)

// access judges an act on p, which lies on a layer.
func (c *Command) access(a act, p string, s standing) verdict {
	l := &c.layers[s.layer]
	switch {
	case s.ended:
		return deny("more than %d links of bwrap's own are on the way, or they lead in a circle (ELOOP)", maxLinks)
	case s.unsure:
		return open("links lead there that may be hidden, more than are told apart", "which of these links are hidden")
	case l.kind == Unread:
		return open("the words of a descriptor decide", "what descriptor "+l.op.Source+" holds")
	case a == names && (p == l.dest || p == "/"):
		return deny("it is a mount point, which cannot be made, moved or removed (EBUSY)")
	case a == names && !l.writable && l.kind != Proc:
		return deny("%s", readOnly(l))
	}
	if busy := c.mountedOn(s.host); a == names && busy != nil {
		if busy.try() {
			return open("it may be a mount point under another name", "whether the host has "+busy.source)
		}
		return deny("it is the mount point of %s under another name (EBUSY)", busy.dest)
	}
	switch l.kind {
	case Bind, DeviceBind, Overlay:
		return c.onHost(a, l, s.host)
	case Proc:
		return c.onProc(a, l)
	case Device, Data:
		return onFile(a, p, l)
	case Terminals:
		if a == names || a == executes {
			return deny("a file system of terminals has no other files")
		}
		return allow("these are the sandbox's own terminals")
	case Queues:
		if a == executes {
			return deny("a message queue cannot be started")
		}
		return allow("message queues, of the sandbox's IPC namespace")
	}
	return c.inMemory(a, p, s.layer)
}

// mountedOn is a mount whose mount point is that path of the host: the kernel keeps
// it from being moved or removed under every name that it has.
func (c *Command) mountedOn(host string) *layer {
	var found *layer
	for i := range c.layers {
		if l := &c.layers[i]; host != "" && l.point == host && (found == nil || found.try()) {
			found = l
		}
	}
	return found
}

func readOnly(l *layer) string {
	if l.memory() {
		return "the memory here was remounted read-only"
	}
	return "the mount is read-only (EROFS)"
}

func (c *Command) onHost(a act, l *layer, host string) verdict {
	if a == writes && !l.writable {
		return deny("%s", readOnly(l))
	}
	what := "the host's " + host + " is mounted here"
	if l.kind == Overlay {
		what = "layers of host directories are mounted here: " + strings.Join(append(overlayTop(l.op), l.op.Lower...), ", ")
	}
	if a == writes || a == names {
		what += ", writable"
		if l.op.Option == "--tmp-overlay" {
			what += " for this run alone"
		}
	}
	v := allow(what)
	switch a {
	case names:
		v.assumes = append(v.assumes, "the permissions of the host's directory admit the caller")
	case connects:
		v.because += "; a read-only mount does not stop connect(2)"
		v.assumes = append(v.assumes, "a socket is there and its permissions admit the caller")
	default:
		v.assumes = append(v.assumes, "the host has it, and its permissions admit the caller")
	}
	if l.kind == Bind && strings.HasPrefix(host, "/dev/") && (a == reads || a == writes) {
		v.assumes = append(v.assumes, "it is no device: those of a bind without --dev cannot be opened")
	}
	if a == executes {
		v.assumes = append(v.assumes, "its loader and libraries can be read as well", "the host's mount is not noexec")
	}
	return v
}

// overlayTop is the writable layer of an overlay.
func overlayTop(op *Operation) []string {
	if op.Option == "--overlay" {
		return []string{op.Source}
	}
	return nil
}

func (c *Command) onProc(a act, l *layer) verdict {
	whose := "the /proc of the sandbox's own PID namespace"
	if c.own("pid") != Yes {
		whose = "the host's processes show in this /proc"
	}
	switch {
	case a == names:
		return deny("/proc has no names to make or remove")
	case a == executes:
		return deny("/proc is mounted noexec")
	case a == writes && !l.writable:
		return deny("%s", readOnly(l))
	case a == writes:
		return open(whose, "which files of /proc the kernel lets the caller write")
	}
	return allow(whose, "the kernel has that file and shows it to the caller")
}

// onFile judges a file that bwrap mounted by itself.
func onFile(a act, p string, l *layer) verdict {
	switch {
	case p != l.dest:
		return deny("%s is a file, and nothing lies below it", l.dest)
	case a == stats:
		return allow("it is there")
	case a == lists:
		return deny("it is a file")
	case l.kind == Device && (a == reads || a == writes):
		return allow("the host's " + l.source + " is mounted here")
	case l.kind == Device:
		return deny("it is a device")
	case a == writes && !l.writable:
		return deny("%s", readOnly(l))
	case a == connects:
		return deny("it is a file that bwrap filled, no socket")
	}
	return byMode(a, l.mode, l.writable, "a file that bwrap fills from descriptor "+l.op.Source)
}

// byMode judges what the caller owns and bwrap made.
func byMode(a act, mode uint32, writable bool, what string) verdict {
	bit := map[act]uint32{reads: 0o400, lists: 0o400, writes: 0o200, executes: 0o100}[a]
	switch {
	case mode&bit == bit:
		return allow(what)
	case writable:
		return allow(what + fmt.Sprintf("; its mode %04o can be changed by the command, which owns it", mode))
	}
	v := deny("%s, and its mode is %04o", what, mode)
	v.assumes = []string{"the caller has no CAP_DAC_OVERRIDE"}
	return v
}

// inMemory judges memory that bwrap mounted.
func (c *Command) inMemory(a act, p string, k int) verdict {
	l := &c.layers[k]
	n := c.node(k, p)
	what := "memory of the sandbox's own"
	switch {
	case n.exists == No && !l.writable:
		return deny("nothing is there, and the memory around it is read-only")
	case n.exists != Yes && (a == names || a == writes):
		return allow(what + ", writable")
	case n.exists == Maybe:
		return open(what, "whether bwrap makes "+p+" on the way to a mount")
	case n.exists == No:
		return deny("nothing is there when the command starts: %s, where only the command itself puts files", what)
	case a == stats:
		return allow("bwrap makes it")
	case a == names:
		return allow(what + ", writable")
	case n.kind == Link:
		return open("a link that bwrap makes, and a mount may hide", "where it leads")
	case a == writes && !l.writable:
		return deny("%s", readOnly(l))
	case a == connects:
		return deny("it is a %s that bwrap makes, no socket", shown(n.kind))
	case a == executes && shown(n.kind) == "directory":
		return deny("it is a directory")
	}
	return byMode(a, n.mode, l.writable, fmt.Sprintf("a %s that bwrap makes", shown(n.kind)))
}

func shown(k Kind) string {
	switch k {
	case Root, Tmpfs, Dev, Directory:
		return "directory"
	}
	return string(k)
}

// mountBelow is a mount below p that was made after layer k.
func (c *Command) mountBelow(p string, k int) string {
	for i := k + 1; i < len(c.layers); i++ {
		if l := &c.layers[i]; l.mounted() && l.dest != p && covers(p, l.dest) == Yes && c.visible(i) != No {
			return l.dest
		}
	}
	return ""
}
