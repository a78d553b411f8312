package seatbelt

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// files writes what each rule says about contents. Among filtered rules of one
// operation the last that matches decides, and the rules come by root and depth: so
// the longest rule of the latest root does.
func (w *printer) files(v *view) {
	w.section("files: of the rules that match, the last decides")
	for _, r := range v.files {
		a := area{r.Path, r.Only}
		f, when := w.filters(a), condition(r.Path.Root())
		switch {
		case r.Level == ir.Write:
			w.add(rule{true, dataOperations, f, when, r.Origin})
		case r.Level == ir.Deny:
			w.add(rule{false, dataOperations, append(f, w.twin(a)...), when, r.Origin})
		default:
			w.add(rule{true, readOperations, f, when, r.Origin})
			if v.protects(r) {
				w.add(rule{false, writeOperations, append(f, w.twin(a)...), when, r.Origin})
			}
		}
	}
}

// seen writes what may be seen and not read: what leads to something readable, a
// mask in a readable directory, and known links.
func (w *printer) seen(v *view) {
	w.section("what can be seen, and not read")
	see := func(o ir.Origin, filters ...string) {
		w.add(rule{Allow: true, Operations: seenOperations, Filters: filters, Origin: o})
	}
	for _, link := range v.links {
		see("", "(literal "+w.path(link)+")")
	}
	shown := map[ir.Path]bool{}
	for _, r := range v.files {
		if r.Level == ir.Deny && v.inReadable(r.Path) {
			see(r.Origin, "(literal "+w.path(r.Path)+")")
			shown[r.Path] = true
		}
		if r.Level == ir.Deny || r.Path.Root() == ir.Config {
			continue
		}
		for q, ok := r.Path.Parent(); ok; q, ok = q.Parent() {
			if have, _ := v.level(q); have < ir.Read && !shown[q] {
				see(r.Origin, "(literal "+w.path(q)+")")
			}
			shown[q] = true
		}
	}
	for _, slot := range ir.Slots() {
		given := slices.ContainsFunc(v.files, func(r ir.FileRule) bool { return r.Path.Root() == slot && r.Level > ir.Deny })
		if given && slot != ir.Config {
			see("", "(path-ancestors "+w.path(ir.RootPath(slot))+")")
		}
	}
}

// inReadable reports whether p stands in a directory that can be listed with what
// is in it: only() opens a directory's names and nothing of their nodes.
func (v *view) inReadable(p ir.Path) bool {
	parent, ok := p.Parent()
	if !ok {
		return false
	}
	if r := v.at[parent]; r != nil {
		return r.Level >= ir.Read && !r.Only
	}
	if have, ok := v.around(parent); ok {
		return have >= ir.Read
	}
	return v.allReadable(p.Root())
}

// allReadable reports whether everything a slot may be bound to can be read, and
// what is in it seen, where the slot's own rules are silent.
func (v *view) allReadable(slot ir.Root) bool {
	all := v.at[ir.RootPath(ir.Host)]
	if slot == ir.Host || all == nil || all.Only || all.Level < ir.Read {
		return false
	}
	return !slices.ContainsFunc(v.files, func(r ir.FileRule) bool {
		return r.Only && r.Path.Root() < slot && !r.Path.InSystemTree()
	})
}
