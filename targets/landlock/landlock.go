// Package landlock turns a policy into the Landlock rules that the first process
// puts on itself: which files may be started. Mounts cannot keep that, since a
// file that can be read can be started from any mount that is not noexec.
//
// Its one rule: Landlock here decides about execution and nothing else. Reading,
// writing and names are kept by mounts (package bwrap); a rule of this package
// never opens anything that they close.
//
// Reparenting is why a second right is handled. Once a process handles any right,
// the kernel refuses to rename or link a file into another directory, EXDEV,
// unless a rule grants LANDLOCK_ACCESS_FS_REFER there (linux/landlock.h; the
// first ABI always refuses it). So each write grants that right to itself, and
// the second ABI (Linux 5.19) is the lowest that keeps the policy exactly.
//
// What the runtime has to keep: the kernel attaches a rule to what a path led to
// when it was opened. A link followed then would let its target start, which the
// policy may not have named. So rule paths are opened without following links,
// and one that is a link is refused unless the policy lets its target start too
// (then the target's own rule does).
package landlock

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// ABI is the lowest Landlock ABI that rules need: the first to grant REFER
// (landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION).
const ABI = 2

// The rights that rules handle (linux/landlock.h).
const (
	Execute uint64 = 1 << 0  // LANDLOCK_ACCESS_FS_EXECUTE
	Refer   uint64 = 1 << 13 // LANDLOCK_ACCESS_FS_REFER
)

// Rule grants one right to Path and what lies below it. Only: to the file Path
// and nothing else, so when it is a directory there is nothing to grant (the
// kernel's rules always reach below a directory). Optional: left out when the
// path is missing at the start of a run.
type Rule struct {
	Path     ir.Path
	Only     bool
	Optional bool
	Origin   ir.Origin
}

// Rules is everything Landlock is asked for. Handled is false when the policy
// lets everything readable start: then nothing is asked for and the kernel need
// not have Landlock. Rules grant Execute, Reparent grants Refer; both are sorted
// by path.
type Rules struct {
	Policy   string
	Handled  bool
	Rules    []Rule
	Reparent []Rule
}

// Compile makes the rules of p.
func Compile(p *ir.Policy) *Rules {
	r := &Rules{Policy: p.Name, Handled: !everythingStarts(p)}
	if !r.Handled {
		return r
	}
	for _, x := range p.Execute {
		r.Rules = append(r.Rules, Rule{x.Path, x.Only, x.Optional, x.Origin})
	}
	for _, f := range p.Files {
		// A device node and an only() have no directory entries to move.
		if f.Level == ir.Write && !f.Only && (f.Backing == ir.HostFile || f.Backing == ir.TmpFS) {
			r.Reparent = append(r.Reparent, Rule{f.Path, false, f.Optional, f.Origin})
		}
	}
	return r
}

// Needed reports whether the kernel must have Landlock.
func (r *Rules) Needed() bool { return r.Handled }

// Executes reports whether Landlock lets the file at p start. Whether it can be
// read is not its to say.
func (r *Rules) Executes(p ir.Path) bool { return !r.Handled || grants(r.Rules, p) }

// Reparents reports whether Landlock lets entries of the directory p be renamed
// or linked to other directories that it lets. Whether they can be written is not
// its to say.
func (r *Rules) Reparents(p ir.Path) bool { return !r.Handled || grants(r.Reparent, p) }

// grants reports whether some rule speaks of p. A rule for all of "/" also speaks
// of paths in slots, wherever they are bound.
func grants(rules []Rule, p ir.Path) bool {
	for q := range p.Upward() {
		if r, ok := find(rules, q); ok && (!r.Only || q == p) {
			return true
		}
	}
	r, ok := find(rules, ir.RootPath(ir.Host))
	return ok && !r.Only
}

// find is the rule at p itself.
func find(rules []Rule, p ir.Path) (Rule, bool) {
	i, ok := slices.BinarySearchFunc(rules, p, func(r Rule, p ir.Path) int { return r.Path.Compare(p) })
	if !ok {
		return Rule{}, false
	}
	return rules[i], true
}

// BoundRule is a Rule on one machine.
type BoundRule struct {
	Path           string
	Only, Optional bool
	Origin         ir.Origin
}

// Bind is what is granted Execute on a machine. A rule in a slot that is not
// bound grants nothing and is left out.
func (r *Rules) Bind(b ir.Binding) []BoundRule { return bind(r.Rules, b) }

// BindReparent is what is granted Refer on a machine. The kernel takes that right
// for directories only: the runtime leaves out a path that is a file.
func (r *Rules) BindReparent(b ir.Binding) []BoundRule { return bind(r.Reparent, b) }

func bind(rules []Rule, b ir.Binding) []BoundRule {
	var out []BoundRule
	for _, r := range rules {
		if p := b.Path(r.Path); p.Root() == ir.Host {
			out = append(out, BoundRule{p.String(), r.Only, r.Optional, r.Origin})
		}
	}
	return out
}

// Equal reports whether both ask the same of Landlock, for the same reasons.
func (r *Rules) Equal(q *Rules) bool {
	return r.Policy == q.Policy && r.Handled == q.Handled &&
		slices.Equal(r.Rules, q.Rules) && slices.Equal(r.Reparent, q.Reparent)
}
