package fragment

import (
	"iter"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// List is all that decides one operation on one release. Of the rules that match,
// the last decides; when none does, Default.
//
// Seatbelt keeps the rules of each operation apart. A filtered one goes before the
// operation's earlier ones. An unfiltered one replaces what the list ends in, which
// is at first the list of the parent operation or a decision built in; so it never
// overrides a filtered one, and a rule of an operation comes before every rule of
// its parents. (sbpl1.scm of 10.9.5 and 10.10.5, confirmed on later releases.)
type List struct {
	Rules   []*Rule // with filters; those of parents first
	Default bool
	By      *Rule // made the default; nil where it is built in
}

// standing are the rules of macOS's own before those of every profile (policy.scm
// of 10.15).
var standing = []*Rule{{Allow: true, Operations: []string{"signal", "mach-task-name"}, Filters: []Filter{{Kind: Target, Word: "self"}}}}

// List is the list of an operation of the release, without the rules that need
// CONFIG unless that is given.
func (p *Profile) List(operation string, release operations.Release, config bool) List {
	byName := p.index(config)
	var out List
	for name := operation; ; {
		o, _ := operations.Named(name)
		tail, filtered := builtIn(o, release), []*Rule(nil)
		for _, r := range byName[name] {
			if r.Filters != nil {
				filtered = append(filtered, r)
			} else {
				tail = end{decided: true, allow: r.Allow, by: r}
			}
		}
		out.Rules = append(without(filtered, out.Rules), out.Rules...)
		if tail.decided {
			out.Default, out.By = tail.allow, tail.by
			return out
		}
		name = o.Parent(release)
	}
}

// without are rules less those of others: a rule that names an operation and its
// parent counts where it stands last.
func without(rules, others []*Rule) []*Rule {
	if len(rules) == 0 || len(others) == 0 {
		return rules
	}
	set := make(map[*Rule]bool, len(others))
	for _, r := range others {
		set[r] = true
	}
	return slices.DeleteFunc(rules, func(r *Rule) bool { return set[r] })
}

// end is what a list ends in: a decision, or the parent's list.
type end struct {
	decided, allow bool
	by             *Rule
}

// builtIn is an operation's end before the first rule. From 12 on the library of
// version 1 allows some operations by a rule of its own.
func builtIn(o operations.Operation, release operations.Release) end {
	switch parent := o.Parent(release); {
	case o.Open && release >= operations.Monterey:
		return end{decided: true, allow: true}
	case parent == operations.Allow || parent == operations.Deny:
		return end{decided: true, allow: parent == operations.Allow}
	case parent == "": // the release lacks the operation and never asks
		return end{decided: true}
	}
	return end{}
}

// index is the rules by operation, in order.
func (p *Profile) index(config bool) map[string][]*Rule {
	i := 0
	if config {
		i = 1
	}
	p.once[i].Do(func() {
		p.byName[i] = map[string][]*Rule{}
		for _, r := range slices.Concat(standing, p.Rules) {
			for _, name := range r.Operations {
				if config || !r.IfConfig {
					p.byName[i][name] = append(p.byName[i][name], r)
				}
			}
		}
	})
	return p.byName[i]
}

// Starting is the profile's Starts as a list that allows them.
func (p *Profile) Starting() List {
	return List{Rules: []*Rule{{Allow: true, Filters: p.Starts}}}
}

// Words are the answers of a list by one property of the request: of each word that
// a filter names, the last rule that names it. Every other word gets the default.
// The process itself is one of its sandbox.
func (l List) Words(k Kind) map[string]*Rule {
	out := map[string]*Rule{}
	for _, r := range l.Rules {
		for _, f := range r.Filters {
			if f.Kind != k {
				continue
			}
			out[f.Word] = r
			if _, ok := out[f.Word+Stream]; ok { // a filter of the family matches its streams
				out[f.Word+Stream] = r
			}
			if k == Target && f.Word == "same-sandbox" {
				out["self"] = r
			}
		}
	}
	return out
}

// Bound is a list whose slots have their places, for questions about paths.
type Bound struct {
	list            List
	exact, caseless places
}

// places are the paths that rules name, with the number of the last rule that does
// (the first is 1): for themselves, and for all below.
type places struct{ node, tree map[string]int }

func newPlaces() places { return places{map[string]int{}, map[string]int{}} }

// Bind puts slots into their places. Filters of a slot that b leaves open match
// nothing. What must also be in the profile's Starts is placed as if it were.
func (l List) Bind(b ir.Binding) *Bound {
	out := &Bound{list: l, exact: newPlaces(), caseless: newPlaces()}
	for i, r := range l.Rules {
		for _, f := range r.Filters {
			out.place(f, b, i+1)
		}
	}
	return out
}

func (x *Bound) place(f Filter, b ir.Binding, n int) {
	at := b.Path(f.Path)
	if at.Root() != ir.Host {
		return
	}
	switch f.Kind {
	case Ancestors:
		for q, ok := at.Parent(); ok; q, ok = q.Parent() {
			x.name(q.String(), Node, f.Caseless, n)
		}
	default:
		x.name(at.String(), f.Kind, f.Caseless, n)
	}
}

// name notes that rule n names a path, or a path and all below.
func (x *Bound) name(path string, k Kind, caseless bool, n int) {
	set := x.exact
	if caseless {
		set, path = x.caseless, Small(path)
	}
	switch k {
	case Node:
		set.node[path] = n
	case Tree:
		set.tree[path] = n
	}
}

// Small is s with small letters where it has capitals of ASCII.
func Small(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// Place is a path to ask about.
type Place struct{ path, small string }

// At is the place of an absolute path as the kernel spells it.
func At(path string) Place { return Place{path, Small(path)} }

// Decide is the answer about a place, and the rule that gives it (nil: built in).
func (x *Bound) Decide(at Place) (allow bool, by *Rule) {
	return x.answer(max(x.exact.last(at.path), x.caseless.last(at.small)))
}

// answer is the decision of the rule of that number, 0 for the default.
func (x *Bound) answer(n int) (allow bool, by *Rule) {
	if n == 0 {
		return x.list.Default, x.list.By
	}
	return x.list.Rules[n-1].Allow, x.list.Rules[n-1]
}

// last is the last rule that names the path, or a directory above it for all below.
func (s places) last(path string) int {
	if len(s.node)+len(s.tree) == 0 {
		return 0
	}
	n := max(s.node[path], s.tree[path])
	for i := range len(path) {
		if path[i] == '/' {
			n = max(n, s.tree[path[:max(i, 1)]])
		}
	}
	return n
}

// Respellings yields spellings of the place that differ in the case of some letter and
// are allowed, one for each name that may be the first to differ, with the rule that
// allows it. On a volume that ignores case they are the same file. Filters that spell
// paths out match the directories above that name, the caseless ones the whole.
func (x *Bound) Respellings(at Place) iter.Seq2[string, *Rule] {
	return func(yield func(string, *Rule) bool) {
		// The rule that holds so far grows from name to name: asking anew at each name
		// for all directories above it would be their number squared for one place.
		path, n := at.path, x.caseless.last(at.small)
		for start := 0; start < len(path); {
			n = max(n, x.exact.tree[path[:max(start, 1)]])
			end := len(path)
			if i := strings.IndexByte(path[start+1:], '/'); i >= 0 {
				end = start + 1 + i
			}
			if strings.IndexFunc(path[start:end], letter) >= 0 {
				allow, by := x.answer(n)
				if allow && !yield(path[:start]+flip(path[start:]), by) {
					return
				}
			}
			start = end
		}
	}
}

func letter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// flip is s with every letter of ASCII in its other case.
func flip(s string) string {
	return strings.Map(func(c rune) rune {
		if letter(c) {
			c ^= 'a' - 'A'
		}
		return c
	}, s)
}
