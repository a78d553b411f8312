// Package diff says how the meaning of policies changed: every grant that only
// one of two policies gives, with a witness, and whether the change widens,
// narrows or does both. Its one rule: meaning is what ir.Decide answers, never
// how a policy is written. So it asks about every class of requests of both
// policies together (design 5.7, O2, O3 and O7), and a difference in text, order,
// names or templates alone is none.
//
// # What two policies with slots mean together
//
// A policy means something only under a binding of its slots that it admits. Two
// policies are compared under every binding that both admit: where one of them
// refuses to run, no request is made and none can be answered differently. One
// kind of refusal is a protection and is compared by itself: a slot is never
// bound inside a deny of an earlier root, so a deny that goes away lets the
// workspace lie there (binding-admitted), whether or not anything was readable.
//
// Infinitely many bindings are few classes. A path x has, in each root whose
// place is around it, a class of that root's joint trie, and design 5.1 decides
// its level by the latest root with a covering rule. So what a binding does to
// the answers about a class of slot s is only this: it chooses what other roots
// say around x, for both policies at once (the type around: four levels, and
// whether something may be started). One binding for each such state that occurs
// shows every difference. Where the states occur:
//
//   - Slots apart is what Decide answers without a binding. That pass comes first;
//     the others add what it cannot show, the typical case being a deny below
//     ${home} that matters only when the home directory lies inside something
//     readable.
//   - Below a node of an earlier root and below no child of it. A fresh directory
//     there is an admissible place for s: nothing is named below it, so no rule of
//     s comes to stand at or above an earlier rule (roots.go). System trees and
//     denies stay out: no slot is bound there.
//   - Where s has rules that reach into a deny, or meet the one node that an only()
//     speaks of, though s itself is bound above (aligned.go).
//   - Inside a later root, where a policy has no rules in s or none there: that
//     root's rules decide for it then, and not for the other (inLater, above).
//
// One thing about names remains: those that lead to a slot's place are held if any
// rule starts in the slot, so a policy that loses the last such rule lets go of
// them (leading). What the classes of an earlier root tell of is not told again
// for each slot that could lie there.
//
// Rename and link are conjunctions of questions about one path (remove and
// create, write and create). One that only one policy allows has a conjunct that
// only that policy allows, so the words about one path find it. Optional rules are
// taken as present: optional can only add access, and where its path is missing
// what surrounds it decides, which has a class of its own.
//
// Where not to look: artifacts and their bytes are compared by the caller.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Report is the difference between two sets of policies.
type Report struct {
	Policies  []Comparison // by name; those that mean the same, too
	Artifacts []Artifact   // what the caller found to differ in bytes, if it looked
	Review    *Review      // what approvals say; nil without any (see Approve)
}

// Artifact is a file whose bytes differ. Diff is the difference as text, empty
// when it has none.
type Artifact struct {
	Name string
	Diff string
}

// Comparison is the difference of two policies of one name. Notes are facts that
// a reviewer wants and that change no meaning. A version is 0 where there is no
// such policy.
type Comparison struct {
	Policy     string
	OldVersion int64
	NewVersion int64
	Changes    []Change
	Notes      []string
}

// Verdict is the effect of all changes together.
func (c Comparison) Verdict() Effect {
	var out Effect
	for _, change := range c.Changes {
		out |= change.Effect()
	}
	return out
}

// Verdict is the effect of all policies together.
func (r Report) Verdict() Effect {
	var out Effect
	for _, c := range r.Policies {
		out |= c.Verdict()
	}
	return out
}

// Keeps reports whether a target keeps a feature as the policy says or denies more,
// so that a waiver of it gives nothing away. Nil: no target keeps anything, and
// every waiver widens.
type Keeps func(ir.Target, ir.Feature) bool

// Sets compares two sets of policies by name. A policy that only the new set has
// widens, one that only the old set has narrows.
func Sets(old, new []*ir.Policy, keeps Keeps) Report {
	byName := map[string][2]*ir.Policy{}
	for side, set := range [2][]*ir.Policy{old, new} {
		for _, p := range set {
			pair := byName[p.Name]
			pair[side] = p
			byName[p.Name] = pair
		}
	}
	var out Report
	for name, pair := range byName {
		switch {
		case pair[before] == nil:
			out.Policies = append(out.Policies, whole(name, PolicyAdded, pair[after], keeps))
		case pair[after] == nil:
			out.Policies = append(out.Policies, whole(name, PolicyRemoved, pair[before], keeps))
		default:
			out.Policies = append(out.Policies, Policies(pair[before], pair[after], keeps))
		}
	}
	slices.SortFunc(out.Policies, func(x, y Comparison) int { return strings.Compare(x.Policy, y.Policy) })
	return out
}

// whole is a policy that comes or goes: one change, with all that it grants as
// its parts.
func whole(name string, kind Kind, p *ir.Policy, keeps Keeps) Comparison {
	nothing := &ir.Policy{Name: p.Name, Version: p.Version, Targets: p.Targets, Workspace: p.Workspace, Limits: p.Limits}
	change := Change{Kind: kind, Subject: "policy " + name, Witnesses: []Witness{{Text: "policy " + name}}}
	out, stated := Comparison{Policy: name}, &Statement{Text: fmt.Sprintf("policy %s version %d", name, p.Version)}
	if kind == PolicyAdded {
		out.NewVersion, change.Parts, change.New = p.Version, Policies(nothing, p, keeps).Changes, stated
	} else {
		out.OldVersion, change.Parts, change.Old = p.Version, Policies(p, nothing, keeps).Changes, stated
	}
	change.Parts = slices.DeleteFunc(change.Parts, func(part Change) bool { return part.Effect() != change.Effect() })
	out.Changes = []Change{change}
	return out
}

// The two sides of a comparison, as indices.
const (
	before = iota
	after
)

// comparison is two policies on their way to being told apart.
type comparison struct {
	policies [2]*ir.Policy
	deciders [2]*ir.Decider
	fresh    string // a file name that neither policy has
	inSlots  bool   // something in a slot can be read
	keeps    Keeps
	changes  []Change
	byReason map[reasonKey]int // of changes about files, their index
	notes    []string
}

// Policies compares two policies, whatever their names.
func Policies(old, new *ir.Policy, keeps Keeps) Comparison {
	c := comparison{
		keeps:    keeps,
		policies: [2]*ir.Policy{old, new},
		deciders: [2]*ir.Decider{ir.NewDecider(old), ir.NewDecider(new)},
		fresh:    unnamed(old, new),
		byReason: map[reasonKey]int{},
	}
	// Grants that requests ask for, then grants beyond them, in the order in which a
	// policy states them.
	for _, obligation := range []func(){
		c.files, c.hosts, c.calls,
		c.environment, c.limits, c.system, c.commands,
		c.workspace, c.configuration, c.targets, c.waivers,
	} {
		obligation()
	}
	out := Comparison{Policy: new.Name, OldVersion: old.Version, NewVersion: new.Version, Changes: c.changes, Notes: c.notes}
	out.Notes = append(out.Notes, versionNotes(out)...)
	return out
}

// unnamed is a file name that no path of either policy has.
func unnamed(policies ...*ir.Policy) string {
	taken := map[string]bool{}
	name := func(p ir.Path) {
		for part := range strings.SplitSeq(p.Rel(), "/") {
			taken[part] = true
		}
	}
	for _, p := range policies {
		for _, r := range p.Files {
			name(r.Path)
		}
		for _, r := range p.Execute {
			name(r.Path)
		}
		for _, e := range p.Endpoints {
			for _, x := range e.Executables {
				name(x)
			}
		}
	}
	fresh := "_"
	for taken[fresh] {
		fresh += "_"
	}
	return fresh
}

// note records a fact that changes no meaning.
func (c *comparison) note(text string) { c.notes = append(c.notes, text) }

// match pairs what two lists hold under one key, in the order of the keys, and
// calls tell with each pair; nil stands for what a list lacks.
func match[T any, K cmp.Ordered](old, new []T, key func(T) K, tell func(old, new *T)) {
	pairs := map[K][2]*T{}
	for side, list := range [2][]T{old, new} {
		for i := range list {
			k := key(list[i])
			pair := pairs[k]
			pair[side] = &list[i]
			pairs[k] = pair
		}
	}
	keys := make([]K, 0, len(pairs))
	for k := range pairs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		tell(pairs[k][before], pairs[k][after])
	}
}
