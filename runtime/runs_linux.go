package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/registry"
	"github.com/obspc/obspc/targets/bwrap"
)

// registryPlace is where live runs of a user are registered. Tests have one of
// their own.
var registryPlace = registry.Place

// enrol begins an entry in the registry of live runs, once what dead runs have left
// is taken away.
func (r *execution) enrol() *Refusal {
	at := registryPlace(os.Geteuid())
	reg, err := registry.Open(at)
	if err != nil {
		return noRegistry(at, err)
	}
	r.registry = reg
	if refusal := r.reconcile(); refusal != nil {
		return refusal
	}
	if r.live, err = reg.Begin(r.job.Policy); err != nil {
		return noRegistry(at, err)
	}
	return nil
}

// register puts down what the run may change and what it relies on, unless that is
// in another live run's way. What died meanwhile is reconciled first.
func (r *execution) register() *Refusal {
	claim := registry.NewClaim(r.bound.Without(r.survey.missing), r.trusts, r.survey.registered)
	for {
		var mounts mountPoints
		other, err := r.live.Admit(claim, mounts.below, r.cut)
		err = cmp.Or(err, mounts.err)
		var foreign *registry.ForeignError
		switch {
		case other != nil:
			return inTheWay(other, claim.Policy)
		case errors.Is(err, registry.ErrDead):
			if refusal := r.reconcile(); refusal != nil {
				return refusal
			}
			continue
		case errors.Is(err, registry.ErrStopped):
			return nil // the next step sees it
		case errors.As(err, &foreign):
			return refuse(Machine, "wait until it has ended", "%v", err)
		case err != nil:
			return noRegistry(registryPlace(os.Geteuid()), err)
		}
		return nil
	}
}

// missing reports whether nothing stands at a path, but for a placeholder.
func (s *survey) missing(at ir.Path) bool {
	fact, known := s.facts[at]
	return known && fact.Kind == bwrap.Missing
}

// registered is the node at a path as the registry keeps it.
func (s *survey) registered(at ir.Path) (registry.Node, bool) {
	if n := s.nodes[at]; n != nil && n.exists() && len(n.links) == 0 {
		return registry.Node{Path: at, Dev: n.stat.Dev, Ino: n.stat.Ino}, true
	}
	return nodeAt(at)
}

func nodeAt(at ir.Path) (registry.Node, bool) {
	var stat unix.Stat_t
	if unix.Lstat(at.String(), &stat) != nil {
		return registry.Node{}, false
	}
	return registry.Node{Path: at, Dev: stat.Dev, Ino: stat.Ino}, true
}

// mountPoints are the points of this machine's mounts. They are read when somebody
// asks for the first time: only where runs are compared.
type mountPoints struct {
	read bool
	at   []ir.Path
	err  error
}

// below lists what is mounted below a path.
func (m *mountPoints) below(at ir.Path) []registry.Node {
	if !m.read {
		m.read = true
		m.at, m.err = hostMounts()
	}
	var out []registry.Node
	for _, p := range m.at {
		if !at.Above(p) {
			continue
		}
		if n, ok := nodeAt(p); ok {
			out = append(out, n)
		}
	}
	return out
}

func hostMounts() ([]ir.Path, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	all, err := parseMountinfo(string(text))
	if err != nil {
		return nil, err
	}
	var out []ir.Path
	for _, m := range all {
		if p, err := ir.NewPath(ir.Host, m.at); err == nil { // else no policy can name it
			out = append(out, p)
		}
	}
	return out, nil
}

// noteInit says which process ends the sandbox: it is alive, or its descriptor would
// be readable.
func (r *execution) noteInit(s *sandbox) error {
	start, err := startTime(s.lines.child)
	if err != nil {
		return err
	}
	return r.live.NoteInit(s.lines.child, start)
}

// unregister ends the entry; where something was left it stays, and a later run
// goes on.
func (r *execution) unregister() {
	if r.live != nil {
		if len(r.evidence.Cleanup.Faults) > 0 {
			r.live.Leave()
		} else if err := r.live.End(); err != nil {
			r.evidence.Cleanup.Faults = append(r.evidence.Cleanup.Faults, err.Error())
		}
		r.live = nil
	}
	if r.registry != nil {
		r.registry.Close()
	}
}

func noRegistry(at string, err error) *Refusal {
	help := ""
	var unsafe *registry.UnsafeError
	switch {
	case errors.As(err, &unsafe):
		help = "remove it, or ask its owner to: obsrun makes a directory of mode 0700 there"
	case errors.Is(err, registry.ErrBusy):
		help = "end it, or let it go on (a stopped job?)"
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS):
		help = "let this user make it: runs that do not see each other could not be kept apart"
	}
	return refuse(Machine, help, "live runs cannot be registered in %s: %v", at, err)
}

// registryHeld refuses a policy under which the command could write the registry.
func (r *execution) registryHeld() *Refusal {
	path := r.registry.Path()
	at, err := ir.NewPath(ir.Host, path)
	if err != nil {
		return noRegistry(path, err)
	}
	below := func(f ir.FileRule) bool { return f.Level == ir.Write && f.Backing == ir.HostFile && at.Covers(f.Path) }
	if writesHost(ir.NewDecider(r.bound), at) || slices.ContainsFunc(r.bound.Files, below) {
		return registryInWrite(path)
	}
	return nil
}

func registryInWrite(at string) *Refusal {
	return refuse(Input, "name a narrower write, or the slot tmp", "this policy lets the command write %s, where live runs are registered", at)
}

// inTheWay is a run that could change what another one relies on, or relies on what
// another one could change.
func inTheWay(o *registry.Other, policy string) *Refusal {
	what := fmt.Sprintf("could move or replace %s", o.As)
	if o.Trusted {
		what = fmt.Sprintf("could write %s", o.As)
	}
	if o.As != o.Path {
		what += fmt.Sprintf(" (%s)", o.Path)
	}
	mover, keeper := fmt.Sprintf("this run of policy %q", policy), o.Entry.String()
	if !o.First {
		mover, keeper = keeper, mover
	}
	return refuse(No, "wait until that run has ended, or use a workspace of its own", "%s %s, which %s protects", mover, what, keeper)
}
