package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// protects reports whether a layer takes something away from the mount it lies on.
func (l *layer) protects() bool {
	switch l.kind {
	case Bind, DeviceBind, Overlay, Data:
		return !l.writable
	case Tmpfs:
		return true
	}
	return false
}

// hidden looks for operations that later ones undo.
func (l *linter) hidden() {
	l.layersOf(func(i int, of *layer) {
		for j := i + 1; j < len(l.layers); j++ {
			by := &l.layers[j]
			if !by.mounted() || by.kind == Unread || by.op == of.op || covers(by.dest, of.dest) != Yes {
				continue
			}
			switch {
			case !of.mounted() && by.dest == of.dest: // its mount point
			case of.protects() && by.dest != of.dest && (by.kind == Bind || by.kind == DeviceBind):
				l.add(protectionHidden(of, by))
			default:
				l.add(mountHidden(of, by))
			}
			return
		}
	})
}

// on is the mount on which the mount point of layer i lies, and whether that is sure.
func (l *linter) on(i int) (*layer, bool) {
	dir, ok := parent(l.layers[i].dest)
	if !ok {
		return nil, false
	}
	for j := i - 1; j >= 0; j-- {
		if m := &l.layers[j]; m.mounted() && covers(m.dest, dir) == Yes {
			return m, true
		}
	}
	return nil, false
}

func (l *layer) isHost() bool { return l.kind == Bind || l.kind == DeviceBind || l.kind == Overlay }

// protections looks for what protects a path inside something writable.
func (l *linter) protections() {
	l.layersOf(func(i int, of *layer) {
		on, sure := l.on(i)
		if !sure || !of.protects() || !on.writable || !on.isHost() || l.visible(i) == No {
			return
		}
		if of.try() {
			l.add(optionalProtection(of, on))
		}
		for dir, ok := parent(of.dest); ok && dir != on.dest; dir, ok = parent(dir) {
			if !l.isMountPoint(dir) {
				l.add(parentMoves(of, dir))
				return
			}
		}
	})
}

func (l *linter) isMountPoint(p string) bool {
	for i := range l.layers {
		if m := &l.layers[i]; m.mounted() && m.dest == p && l.visible(i) != No {
			return true
		}
	}
	return false
}

// hosts looks for mount points that the host may lack.
func (l *linter) hosts() {
	l.layersOf(func(i int, of *layer) {
		on, sure := l.on(i)
		switch {
		case !sure || !on.isHost() || of.source != "" && on.hostPath(of.dest) == of.source:
		case on.writable && on.op.Option != "--tmp-overlay":
			l.add(madeOnHost(of, on))
		case !on.writable:
			l.add(mountPointMissing(of, on))
		}
	})
}

// roots looks for binds of the whole host.
func (l *linter) roots() {
	l.layersOf(func(i int, of *layer) {
		switch {
		case of.source != "/" || l.visible(i) == No:
		case of.kind == DeviceBind:
			l.add(hostRoot(of, "writable-root", "the whole host is mounted, writable and with its devices"))
		case of.writable:
			l.add(hostRoot(of, "writable-root", "the whole host is mounted, writable"))
		default:
			l.add(hostRoot(of, "readable-root", "everything that the caller may read on the host can be read, other projects and keys included"))
		}
	})
}

// knownSockets give authority to whoever connects to them.
var knownSockets = []struct{ path, what string }{
	{"/run/docker.sock", "Docker's"}, {"/var/run/docker.sock", "Docker's"}, {"/run/podman/podman.sock", "Podman's"}, {"/run/containerd/containerd.sock", "containerd's"},
	{"/run/systemd/private", "systemd's"}, {"/run/dbus/system_bus_socket", "the system bus'"}, {"/run/user", "the session bus', keyrings' and agents'"},
	{"/tmp/.X11-unix", "X11's"},
}

// sockets looks for sockets that binds bring in.
func (l *linter) sockets() {
	l.layersOf(func(i int, of *layer) {
		if of.kind != Bind && of.kind != DeviceBind {
			return
		}
		var seen []string
		for _, s := range knownSockets {
			if covers(of.source, s.path) != Yes || strings.HasPrefix(s.path, "/var/run") && (of.source == "/var" || of.source == "/") {
				continue // there it is a link to /run
			}
			at := join(of.dest, below(of.source, s.path))
			if stands := l.stands(at); stands[len(stands)-1].layer == i {
				seen = append(seen, s.what+" "+at)
			}
		}
		if of.source == "/run/user" || strings.HasPrefix(of.source, "/run/user/") || strings.HasSuffix(of.source, ".sock") || strings.HasSuffix(of.source, "${SSH_AUTH_SOCK}") {
			if len(seen) == 0 && l.visible(i) != No {
				seen = append(seen, of.dest)
			}
		}
		if len(seen) > 0 {
			l.add(socketsReachable(of, seen))
		}
	})
}

// remounts looks for mounts below what is made read-only.
func (l *linter) remounts() {
	for i := range l.Operations {
		op := &l.Operations[i]
		if op.Option != "--remount-ro" {
			continue
		}
		for j := range l.layers {
			if m := &l.layers[j]; m.dest == op.Dest && m.mounted() && (m.op != nil && strings.HasPrefix(m.op.Option, "--bind") || m.kind == DeviceBind) {
				l.add(remountOne(op))
			}
		}
	}
}

// destinations looks for destinations that lead over links, or upwards.
func (l *linter) destinations() {
	for i := range l.Operations {
		op := &l.Operations[i]
		for n, dir := range upward(op.Dest) {
			at, is := l.links[dir]
			if is && (n > 0 || op.Option != "--symlink") && l.layers[at].op.At.Start.Byte < op.At.Start.Byte {
				l.add(linkDestination(op, dir, l.layers[at].op))
				break
			}
		}
		if slices.ContainsFunc(op.words, func(w string) bool { return slices.Contains(strings.Split(w, "/"), "..") }) && op.Option != "--symlink" {
			l.add(dotDot(op))
		}
	}
}

func related(op *Operation, message string) []diag.Related {
	return []diag.Related{{At: op.At, Message: message}}
}

// protectionHidden reports a read-only or empty place that a later bind fills again.
func protectionHidden(of, by *layer) diag.Diagnostic {
	state := "readable"
	if by.writable {
		state = "writable"
	}
	d := warning("protection-hidden", of.op.At, fmt.Sprintf("a later bind of %s hides this: %s is %s as if it were not here", by.dest, of.dest, state),
		"parents first: put this behind the bind of "+by.dest)
	d.Related = related(by.op, "hidden by this")
	return d
}

// mountHidden reports an operation without effect.
func mountHidden(of, by *layer) diag.Diagnostic {
	d := warning("mount-hidden", of.op.At, fmt.Sprintf("a later mount on %s hides this", by.dest), "parents first; leave out what is hidden")
	if by.op != nil {
		d.Related = related(by.op, "hidden by this")
	}
	return d
}

// optionalProtection reports a protection that a missing file switches off.
func optionalProtection(of, on *layer) diag.Diagnostic {
	d := warning("optional-protection", of.op.At, fmt.Sprintf("where the host lacks %s nothing protects it, and the command can make it", of.op.Source),
		"make it first and bind it with "+strings.TrimSuffix(of.op.Option, "-try")+", or mask it")
	d.Related = related(on.op, "writable by this")
	return d
}

// parentMoves reports a protection that goes away with its directory.
func parentMoves(of *layer, dir string) diag.Diagnostic {
	return warning("parent-moves", of.op.At, fmt.Sprintf("the command can move %s away, this mount with it, and make %s anew", dir, of.dest),
		fmt.Sprintf("pin the directory with a mount of its own: --bind %s %s", quote(dir), quote(dir)))
}

// madeOnHost reports a mount point that stays on the host.
func madeOnHost(of, on *layer) diag.Diagnostic {
	d := warning("made-on-host", of.op.DestAt, fmt.Sprintf("if %s is missing, bwrap makes it on the host, and it stays there", on.hostPath(of.dest)),
		"make sure that it exists, or mount it where no host directory is")
	d.Related = related(on.op, "in this writable mount")
	return d
}

// mountPointMissing reports a mount point that bwrap cannot make.
func mountPointMissing(of, on *layer) diag.Diagnostic {
	d := warning("mount-point-missing", of.op.DestAt, fmt.Sprintf("the set-up fails where the host has no %s", orElse(on.hostPath(of.dest), of.dest)),
		"mount points cannot be made in a read-only mount")
	d.Related = related(on.op, "in this read-only mount")
	return d
}

// hostRoot reports the whole host.
func hostRoot(of *layer, code, message string) diag.Diagnostic {
	return warning(code, of.op.At, message, "bind what the command needs: /usr, and its own directories")
}

// socketsReachable reports ways around the sandbox.
func socketsReachable(of *layer, seen []string) diag.Diagnostic {
	return warning("sockets-reachable", of.op.At, "sockets can be connected to through this, read-only or not: "+strings.Join(seen, ", "),
		"cover their directory with a --tmpfs behind this, or bind less")
}

// remountOne reports a remount that leaves mounts below it as they are.
func remountOne(op *Operation) diag.Diagnostic {
	return warning("remount-one", op.At, "what the host has mounted below "+op.Dest+" stays writable", "--ro-bind makes the mounts below read-only as well")
}

// linkDestination reports a destination over a link.
func linkDestination(op *Operation, link string, by *Operation) diag.Diagnostic {
	d := warning("link-destination", op.DestAt, fmt.Sprintf("the destination leads over the link %s: up to 0.11 bwrap follows it, from 0.12 on it may refuse", link),
		"write where the link leads to")
	d.Related = related(by, "the link")
	return d
}

// dotDot reports a path that goes upwards.
func dotDot(op *Operation) diag.Diagnostic {
	return warning("path-goes-up", op.At, "a path here goes upwards with .., past whatever links are on the way", "write the path without ..")
}
