package sbpl

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// unfiltered checks rules without filters that stand after rules with filters of the
// other action.
func (l *linter) unfiltered() {
	earlier := map[string]*Rule{} // operation and action → the last rule with filters
	key := func(op string, allow bool) string { return op + " " + actionName(allow) }
	l.own(func(r *Rule) {
		for _, op := range r.Operations {
			if r.Filter != nil {
				earlier[key(op, r.Allow)] = r
				continue
			}
			if other := earlier[key(op, !r.Allow)]; other != nil {
				l.add(unfilteredRule(l, r, other, op))
				return
			}
		}
	})
}

// maxTried and maxWork bound the requests that a lint of one profile decides, and
// the comparisons that they may take.
const (
	maxTried = 20_000
	maxWork  = 20_000_000
)

// denials checks that what a rule refuses is refused: on the members of its families
// too, and whatever later rules say. Witnesses are the names that the rule itself
// states.
func (l *linter) denials() {
	tried, most := 0, min(maxTried, maxWork/max(l.profile.atoms, 1))
	l.own(func(r *Rule) {
		if r.Allow || r.Filter == nil || tried > most {
			return
		}
		samples := l.samples(r)
		tried += len(samples)
		for _, op := range r.Operations {
			n, done := l.denial(r, op, samples)
			if tried += n; done {
				return
			}
		}
	})
}

// denial tries the samples on an operation and what lies below it, and reports the
// first fault.
func (l *linter) denial(r *Rule, op string, samples []sample) (tried int, done bool) {
	overridden := 0
	for _, leaf := range l.leavesBelow(op) {
		for _, s := range samples {
			if !takes(leaf, s.category) {
				continue
			}
			tried++
			a, err := l.profile.Evaluate(leaf, Context{s.name: {s.value}})
			if err != nil || a.Decision != Allow {
				continue
			}
			switch {
			case !slices.Contains(a.Path, op):
				l.add(parentDeny(l, r, op, leaf, s.value, a))
				return tried, true
			case a.Path[len(a.Path)-1] == op:
				overridden++
			}
		}
	}
	if tried > 0 && overridden == tried {
		l.add(overriddenDeny(l, r, op))
		return tried, true
	}
	return tried, false
}

// leavesBelow is the operations at or below op that have none below them.
func (l *linter) leavesBelow(op string) []string {
	if have, ok := l.leaves[op]; ok {
		return have
	}
	l.leaves[op] = slices.DeleteFunc(l.profile.Leaves(), func(leaf string) bool {
		o, _ := operations.Named(leaf)
		return leaf != op && !isBelow(o, op, l.profile.Release)
	})
	return l.leaves[op]
}

// sample is a value that a rule speaks of.
type sample struct{ name, category, value string }

// samples are the values that the atoms of a rule state and that the rule matches.
func (l *linter) samples(r *Rule) (out []sample) {
	r.Filter.each(false, func(f *Filter, negated bool) {
		if negated || len(out) > 20 {
			return
		}
		for _, text := range f.atom.texts {
			values := map[how][]string{equals: {text}, hasPrefix: {text + "x"}, below: {text, text + "/x"}}[f.atom.how]
			for _, v := range values {
				s := sample{f.atom.spec.name, f.atom.spec.category, v}
				if l.matches(r, s) {
					out = append(out, s)
				}
			}
		}
	})
	return out
}

// matches reports whether the rule matches a sample of which nothing else is known.
func (l *linter) matches(r *Rule, s sample) bool {
	for _, op := range r.Operations {
		for _, leaf := range l.leavesBelow(op) {
			if takes(leaf, s.category) {
				q := &request{op: leaf, context: Context{s.name: {s.value}}}
				return q.holds(r.Filter, opens{}) == yes
			}
		}
	}
	return false
}

// unfilteredRule reports a rule that does less than its place suggests.
func unfilteredRule(l *linter, r, other *Rule, op string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "unfiltered-rule", At: l.at(r.At),
		Message: fmt.Sprintf("this %s has no filter, so it does not override the %s on %s that stands before it", actionName(r.Allow), actionName(other.Allow), op),
		Help:    "it only decides where no rule with a filter matches; give it a filter if it is to win",
		Related: []diag.Related{{At: l.at(other.At), Message: "this still decides what it matches"}},
	}
}

// parentDeny reports a refusal that a rule on a narrower operation lifts.
func parentDeny(l *linter, r *Rule, op, leaf, value string, a Answer) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Warning, Code: "parent-deny", At: l.at(r.At),
		Message: fmt.Sprintf("the deny on %s does not reach %s: %s stays allowed", op, leaf, Quote(value)),
		Help:    fmt.Sprintf("write the deny on %s as well", a.Path[len(a.Path)-1]),
	}
	if a.Rule != nil && !a.Rule.Standard {
		d.Related = []diag.Related{{At: l.at(a.Rule.At), Message: "rules of the narrower operation are asked first"}}
	}
	return d
}

// overriddenDeny reports a refusal that a later rule lifts altogether.
func overriddenDeny(l *linter, r *Rule, op string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "overridden-deny", At: l.at(r.At),
		Message: fmt.Sprintf("a later rule on %s allows all that this one refuses", op),
		Help:    "among rules with filters the last one that matches decides: write the deny after it",
	}
}
