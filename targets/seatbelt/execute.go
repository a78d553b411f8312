package seatbelt

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// execute writes what may be started: what is readable and lies in an execute
// rule. Starting a file asks for none of the read operations, so readability is
// part of these rules: each readable area is allowed where it meets what the
// execute rules name, each denied one is denied, in the order of the file rules.
func (w *printer) execute(v *view) {
	w.section("what may be started")
	if len(v.execute) == 0 {
		return
	}
	for _, r := range v.execute {
		w.starts = append(w.starts, w.filters(area{r.Path, r.Only})...)
	}
	if n := len(anyOf(w.starts)); n > maxPattern {
		w.fail(&TooLargeError{"the list of what may start in the Seatbelt profile", n, maxPattern, len(v.execute), true})
	}
	for _, r := range v.files {
		a, when := area{r.Path, r.Only}, condition(r.Path.Root())
		if r.Level == ir.Deny {
			w.add(rule{false, executeOperations, append(w.filters(a), w.twin(a)...), when, r.Origin})
			continue
		}
		// Inside something readable, the rule around has allowed all there is.
		if have, ok := v.around(r.Path); ok && have >= ir.Read || r.Path.Root() == ir.Config || !v.mayStart(a) {
			continue
		}
		w.add(rule{true, executeOperations, []string{"(require-all " + anyOf(w.filters(a)) + " " + startsName + ")"}, when, r.Origin})
	}
}

// mayStart reports whether an execute rule may name something in a. Of areas of two
// roots only the machine knows: if they meet, the earlier root's one holds the slot
// of the other.
func (v *view) mayStart(a area) bool {
	return slices.ContainsFunc(v.execute, func(r ir.ExecuteRule) bool {
		e := area{r.Path, r.Only}
		switch {
		case e.Path.Root() == a.Path.Root():
			return a.covers(e) || e.covers(a)
		case e.Path.Root() < a.Path.Root():
			return mayHoldSlots(e)
		}
		return mayHoldSlots(a)
	})
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
