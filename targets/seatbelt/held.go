package seatbelt

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// held writes the names that stay: whatever a rule names, and what leads to it
// inside a write, can neither be made nor removed nor moved. So moving a parent
// away never lifts a rule. Last among the rules about files, they always win.
func (w *printer) held(v *view) {
	w.section("names that stay")
	why, order := v.names()
	for _, p := range order {
		w.hold(v, p, why[p])
	}
	for _, slot := range ir.Slots() {
		named := slices.ContainsFunc(order, func(p ir.Path) bool { return p.Root() == slot })
		if named && v.earlier(slot, ir.Write) {
			w.ancestors = true
			w.add(rule{
				Operations: nameOperations, When: condition(slot),
				Filters: []string{"(obspc-caseless-ancestors " + w.path(ir.RootPath(slot)) + ")"},
			})
		}
	}
}

// hold writes one held name, where the level alone would let go of it: a deny and a
// carve-out already refuse their own names. Where what is around may be written, it
// is held under every spelling.
func (w *printer) hold(v *view, p ir.Path, origin ir.Origin) {
	around := v.mayHave(p, ir.Write)
	if r := v.at[p]; r != nil && r.Level < ir.Write || r == nil && !around {
		return
	}
	a := area{p, true}
	filters := w.filters(a)
	if around {
		filters = append(filters, w.twin(a)...)
	}
	w.add(rule{Operations: nameOperations, Filters: filters, When: condition(p.Root()), Origin: origin})
}

// names is every path that a rule names and every path above one, in order, with the
// first statement that holds it.
func (v *view) names() (map[ir.Path]ir.Origin, []ir.Path) {
	why := map[ir.Path]ir.Origin{}
	note := func(p ir.Path, o ir.Origin) {
		for q := range p.Upward() {
			if _, seen := why[q]; seen {
				return
			}
			why[q] = o
		}
	}
	for _, r := range v.files {
		note(r.Path, r.Origin)
	}
	for _, r := range v.execute {
		note(r.Path, r.Origin)
	}
	order := make([]ir.Path, 0, len(why))
	for p := range why {
		order = append(order, p)
	}
	slices.SortFunc(order, ir.Path.Compare)
	return why, order
}
