// Package landlock turns a policy into the Landlock rules that the first process
// puts on itself: which files may be started, and, once more below the mounts,
// which may be read and written.
//
// Which programs start is kept by nothing else: a file that can be read can be
// started from any mount that is not noexec. So a policy that limits it needs a
// kernel with Landlock (ABI). Everything else is a second layer below the mounts
// (package bwrap) and other namespaces, taken from each kernel as far as its ABI
// goes, by the table in abi.go and by nothing else.
//
// Its one rule: no rule here refuses what the policy allows. Landlock's rules only
// add, from a directory downwards: each path gets what the rules at and above it
// grant together. So what a deny or a read takes back inside a read or a write is
// kept by mounts alone, and a list of one directory (only) reaches below it.
//
// Reparenting is why ABI 2 is the lowest with which a domain is made. Once a
// process handles any right, the kernel refuses to rename or link a file into
// another directory, EXDEV, unless a rule grants LANDLOCK_ACCESS_FS_REFER there
// (linux/landlock.h; the first ABI always refuses it). It also refuses a move to
// where more is granted: within one mount all is granted alike, as every path that
// a rule names inside a write is a mount of its own.
//
// What the runtime has to keep: the kernel attaches a rule to what a path led to
// when it was opened. A link followed then would let its target start, which the
// policy may not have named. So rule paths are opened without following links,
// and one that is a link is refused unless the policy grants its target as well
// (then the target's own rule does).
package landlock

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// ABI is the lowest Landlock ABI with which a domain is made, and that a policy
// needs which limits what starts: the first to grant REFER
// (landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION).
const ABI = 2

// Rule grants the rights of its list to Path and what lies below it. Only: to the
// node Path and nothing else, as far as the kernel can: when it is a directory,
// there is nothing to start or write, and to list it is to list all below.
// Optional: left out when the path is missing at the start of a run.
type Rule struct {
	Path     ir.Path
	Only     bool
	Optional bool
	Origin   ir.Origin
}

// Rules is everything Landlock is asked for. Programs is false when the policy
// lets everything readable start: then starting is not handled, Execute is empty
// and the kernel need not have Landlock. Write includes what Read grants. Each
// list is sorted by path.
type Rules struct {
	Policy   string
	Programs bool
	Execute  []Rule
	Read     []Rule
	Write    []Rule
}

// Compile makes the rules of p.
func Compile(p *ir.Policy) *Rules {
	r := &Rules{Policy: p.Name, Programs: !everythingStarts(p)}
	if r.Programs {
		for _, x := range p.Execute {
			r.Execute = append(r.Execute, Rule{x.Path, x.Only, x.Optional, x.Origin})
		}
	}
	for _, f := range p.Files {
		rule := Rule{f.Path, f.Only, f.Optional, f.Origin}
		switch f.Level {
		case ir.Read:
			r.Read = append(r.Read, rule)
		case ir.Write:
			r.Write = append(r.Write, rule)
		}
	}
	return r
}

// Needs is the lowest ABI that the kernel must have; 0: it need not have Landlock.
func (r *Rules) Needs() int {
	if r.Programs {
		return ABI
	}
	return 0
}

// Needed reports whether the kernel must have Landlock.
func (r *Rules) Needed() bool { return r.Needs() > 0 }

// Executes reports whether Landlock lets the file at p start. Whether it can be
// read is another question.
func (r *Rules) Executes(p ir.Path) bool { return !r.Programs || grants(r.Execute, p) }

// Reads reports whether Landlock lets what is at p be read, or listed.
func (r *Rules) Reads(p ir.Path) bool { return grants(r.Read, p) || grants(r.Write, p) }

// Writes reports whether Landlock lets the file at p be written and, when it is a
// directory, names be made, removed and moved in it.
func (r *Rules) Writes(p ir.Path) bool { return grants(r.Write, p) }

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

// Bound is the rules on one machine: none of their paths starts in a slot.
type Bound struct{ Execute, Read, Write []Rule }

// Bind is what is granted on a machine. A rule in a slot that is not bound grants
// nothing and is left out.
func (r *Rules) Bind(b ir.Binding) Bound {
	return Bound{bind(r.Execute, b), bind(r.Read, b), bind(r.Write, b)}
}

func bind(rules []Rule, b ir.Binding) []Rule {
	out := make([]Rule, 0, len(rules))
	for _, r := range rules {
		if r.Path = b.Path(r.Path); r.Path.Root() == ir.Host {
			out = append(out, r)
		}
	}
	return out
}

// Equal reports whether both ask the same of Landlock, for the same reasons.
func (r *Rules) Equal(q *Rules) bool {
	return r.Policy == q.Policy && r.Programs == q.Programs &&
		slices.Equal(r.Execute, q.Execute) && slices.Equal(r.Read, q.Read) && slices.Equal(r.Write, q.Write)
}
