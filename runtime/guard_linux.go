package runtime

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// guard watches the mounts of a sandbox from outside. A mask is a mount on a
// directory entry: the kernel drops it when a process in another mount namespace
// replaces or removes that entry, and carries it along when one moves the entry
// away. The first wakes whoever polls the mount table, the second does not; so
// what is mounted upon is watched as well.
type guard struct {
	table  int // the mount table of the sandbox's PID 1; -1 once it was given up
	before []mountPoint
	moves  moves
}

// noGuard is a guard that has not begun, or has ended.
var noGuard = guard{table: -1, moves: moves{fd: -1}}

// guardSandbox compares the mounts of a sandbox that is set up with what was asked
// for, and watches them from then on. It starts to watch before it looks, so what
// changes after that is noticed.
func (r *execution) guardSandbox(s *sandbox) *Refusal {
	g := &s.guard
	var err error
	if g.moves, err = watchMoves(mountedUpon(r.table), r.absent()); err != nil {
		return refuse(Machine, "", "protected names cannot be watched: %v", err)
	}
	if refusal := r.unchanged(); refusal != nil {
		return refusal
	}
	if g.table, err = s.openMountinfo(); err == nil {
		g.before, err = readMountinfo(g.table)
	}
	if err != nil {
		return setupFailed("", "the sandbox's mounts cannot be seen: %v", err)
	}
	if err := r.checkMounts(g.before); err != nil {
		return setupFailed("", "the sandbox is not what it has to be: %v", err)
	}
	return nil
}

// openMountinfo opens the mount table that the sandbox sees. Opened for PID 1
// while its descriptor says that it lives, so it is not another process's.
func (s *sandbox) openMountinfo() (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", s.lines.child), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if waitReadable(s.pidfd, 0) {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// checkMounts compares what is mounted with the table that the options were made
// from: everything of it is there, and nothing can be written that it does not let
// be written, whatever the machine had mounted below.
func (r *execution) checkMounts(all []mountPoint) error {
	top := reachable(all)
	device := func(at string) bool { return slices.Contains(r.launch.devices, at) }
	for _, want := range r.table.Mounts() {
		at := want.Path.String()
		have, ok := top[at]
		switch {
		case !ok:
			return fmt.Errorf("nothing is mounted at %s", at)
		case have.readOnly() == (want.Writable && !device(at)):
			return fmt.Errorf("%s is mounted with the wrong access (%s)", at, have.options)
		}
	}
	for at, m := range top {
		if m.readOnly() {
			continue
		}
		if p, err := ir.NewPath(ir.Host, at); err != nil || !r.table.Writable(p) {
			return fmt.Errorf("what is mounted at %s can be written (%s, %s)", at, m.filesystem, m.options)
		}
	}
	return nil
}

// close ends the watch. Until then the mount namespace of the sandbox stays, dead
// or not.
func (g *guard) close() {
	g.moves.close()
	if g.table >= 0 {
		unix.Close(g.table)
		g.table = -1
	}
}

// polls are the descriptors that say when to look again.
func (g *guard) polls() [2]unix.PollFd {
	return [2]unix.PollFd{
		{Fd: int32(g.table), Events: unix.POLLPRI}, // seq_file(9): on any change of the namespace's mounts
		{Fd: int32(g.moves.fd), Events: unix.POLLIN},
	}
}

// lost says what has changed since the watch began, given what was polled; ""
// when nothing has.
func (g *guard) lost(p [2]unix.PollFd) string {
	if p[0].Revents == 0 && p[1].Revents == 0 {
		return ""
	}
	after, err := readMountinfo(g.table)
	if err != nil {
		return err.Error()
	}
	if change := mountChange(g.before, after); change != "" {
		return change
	}
	if p[1].Revents != 0 {
		if at := g.moves.look(); at != "" {
			return at
		}
	}
	if p[0].Revents != 0 {
		return "a mount came and went"
	}
	return ""
}

// lostAtLast looks once more when the sandbox is dead.
func (g *guard) lostAtLast() string {
	p := g.polls()
	if _, err := unix.Poll(p[:], 0); err != nil {
		return ""
	}
	return g.lost(p)
}

// mountChange says how two readings of a mount table differ; "" when they do not.
func mountChange(before, after []mountPoint) string {
	now := make(map[int]*mountPoint, len(after))
	for i := range after {
		now[after[i].id] = &after[i]
	}
	for i := range before {
		was := &before[i]
		is := now[was.id]
		switch delete(now, was.id); {
		case is == nil:
			return fmt.Sprintf("what was mounted at %s is gone: something outside replaced or removed the entry", was.at)
		case is.at != was.at || is.parent != was.parent:
			return fmt.Sprintf("%s was moved away by something outside: what was mounted there is now at %s", was.at, is.at)
		case *is != *was:
			return fmt.Sprintf("%s was mounted anew (%s)", was.at, is.options)
		}
	}
	for _, is := range after {
		if now[is.id] != nil {
			return fmt.Sprintf("something was mounted at %s from outside", is.at)
		}
	}
	return ""
}

// mountedUpon lists the nodes of the host by whose move a mount of the sandbox
// would go elsewhere: what is mounted upon, and what leads there from the mount
// around it.
func mountedUpon(t *bwrap.Table) []ir.Path {
	var out []ir.Path
	seen := map[ir.Path]bool{}
	for _, m := range t.Mounts() {
		above, ok := m.Path.Parent()
		if !ok {
			continue
		}
		around := t.Access(above)
		for at := m.Path; around.Kind == bwrap.HostNode && at != around.Mount && !seen[at]; at, _ = at.Parent() {
			seen[at] = true
			out = append(out, at)
		}
	}
	return out
}

// absent lists the denied paths that nothing keeps from being made outside: those
// that are missing inside what can be read.
func (r *execution) absent() []ir.Path {
	var out []ir.Path
	for i := range r.bound.Files {
		rule := &r.bound.Files[i]
		fact, known := r.survey.facts[rule.Path]
		if rule.Level == ir.Deny && known && fact.Kind == bwrap.Missing && around(r.bound, rule.Path) == ir.Read {
			out = append(out, rule.Path)
		}
	}
	return out
}

// protectionLost is a run that was held to its policy no longer.
func protectionLost(what string) *Refusal {
	r := refuse(No, "while a command runs, let nothing outside change what its policy protects (editors, git, other programs), or give it a fresh workspace",
		"%s; the command was killed", what)
	r.Word = ProtectionLost
	return r
}
