package seatbelt

import (
	"github.com/obspc/obspc/compiler/ir"
)

// execute writes what may be started: what is readable and lies in an execute
// rule. Starting a file asks for none of the read operations, so readability is
// part of these rules: each readable area is met with each area of execution, each
// denied one is denied, in the order of the file rules.
func (w *printer) execute(v *view) {
	w.section("what may be started")
	for _, r := range v.files {
		a, when := area{r.Path, r.Only}, condition(r.Path.Root())
		if r.Level == ir.Deny {
			if len(v.execute) > 0 {
				w.add(rule{false, executeOperations, append(w.filters(a), w.twin(a)...), when, r.Origin})
			}
			continue
		}
		// Inside something readable, the rule around has allowed all there is.
		if have, ok := v.around(r.Path); ok && have >= ir.Read || r.Path.Root() == ir.Config {
			continue
		}
		for _, e := range v.execute {
			if f := w.meet(a, area{e.Path, e.Only}); f != nil {
				w.add(rule{true, executeOperations, f, when, e.Origin})
			}
		}
	}
}

// meet matches what two areas have in common. Of areas of two roots only the
// machine knows: if they meet, the earlier root's one holds the slot of the other.
func (w *printer) meet(a, b area) []string {
	if a.Path.Root() == b.Path.Root() {
		if common, ok := a.meet(b); ok {
			return w.filters(common)
		}
		return nil
	}
	first, second := a, b
	if second.Path.Root() < first.Path.Root() {
		first, second = second, first
	}
	if !mayHoldSlots(first) {
		return nil
	}
	return []string{"(require-all " + anyOf(w.filters(first)) + " " + anyOf(w.filters(second)) + ")"}
}

// anyOf is one filter for several.
func anyOf(filters []string) string {
	if len(filters) == 1 {
		return filters[0]
	}
	text := "(require-any"
	for _, f := range filters {
		text += " " + f
	}
	return text + ")"
}
