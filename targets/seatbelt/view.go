package seatbelt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// ConflictError reports two rules that macOS cannot tell apart: their paths are
// two spellings of one place.
type ConflictError struct {
	First, Second ir.Rule
	Path          ir.Path // where both lead
	Reason        string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s (%s) and %s (%s) are both about %s on macOS: %s",
		e.First, e.First.From(), e.Second, e.Second.From(), e.Path, e.Reason)
}

// devices are the nodes of the minimal /dev that macOS has. The others have no
// counterpart there, or none under a fixed name (terminals).
var devices = []string{
	"/dev", "/dev/fd", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/stderr", "/dev/stdin", "/dev/stdout",
	"/dev/tty", "/dev/urandom", "/dev/zero",
}

// applies reports whether macOS has what stands behind the rule: it has no /proc
// and no memory file system at /dev/shm. The tmp slot is a directory there.
func applies(r ir.FileRule) bool {
	switch r.Backing {
	case ir.ProcFS:
		return false
	case ir.DevFS:
		return slices.Contains(devices, r.Path.String())
	case ir.TmpFS:
		return r.Path.Root() == ir.Tmp
	}
	return true
}

// view is a policy as macOS sees it: resolved paths, sorted by root and depth, so
// that of the rules written in this order the last that matches is the longest.
type view struct {
	files   []ir.FileRule
	execute []ir.ExecuteRule
	at      map[ir.Path]*ir.FileRule
	outer   map[ir.Root]ir.Level // the highest level of rules that may hold a slot bound, by their root
	links   []ir.Path            // the known links through which something readable is named
	unix    ir.UnixRule
	system  ir.System
}

// newView resolves p. The error is a *ConflictError.
func newView(p *ir.Policy) (*view, error) {
	if conflicts := Conflicts(p); len(conflicts) > 0 {
		return nil, conflicts[0]
	}
	v := &view{at: map[ir.Path]*ir.FileRule{}, outer: map[ir.Root]ir.Level{}, unix: p.Unix, system: p.System}
	for _, r := range p.Files {
		if !applies(r) {
			continue
		}
		resolved, link, linked := resolve(r.Path)
		if linked && r.Level >= ir.Read && !slices.Contains(v.links, link) {
			v.links = append(v.links, link)
		}
		r.Path = resolved
		v.files = append(v.files, r)
	}
	for _, r := range p.Execute {
		r.Path, _, _ = resolve(r.Path)
		v.execute = append(v.execute, r)
	}
	slices.SortStableFunc(v.files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortStableFunc(v.execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(v.links, ir.Path.Compare)
	// Both spellings of one place, alike: one rule is enough.
	v.files = slices.CompactFunc(v.files, func(a, b ir.FileRule) bool { return a.Path == b.Path })
	v.execute = slices.CompactFunc(v.execute, func(a, b ir.ExecuteRule) bool { return a.Path == b.Path })
	for i := range v.files {
		r := &v.files[i]
		v.at[r.Path] = r
		if mayHoldSlots(area{r.Path, r.Only}) {
			v.outer[r.Path.Root()] = max(v.outer[r.Path.Root()], r.Level)
		}
	}
	return v, nil
}

// Conflicts lists the rules of p that macOS cannot keep apart: a path and the same
// path behind a known link (/etc, /tmp, /var lie in /private) with different
// meanings, and paths that differ only by the case of ASCII letters, their
// directories' names included.
func Conflicts(p *ir.Policy) []*ConflictError {
	var out []*ConflictError
	files := map[ir.Path]ir.FileRule{}
	execute := map[ir.Path]ir.ExecuteRule{}
	folded := spellings{}
	for i := range p.Files {
		r := &p.Files[i]
		if !applies(*r) {
			continue
		}
		at, _, _ := resolve(r.Path)
		if first, seen := files[at]; seen && (first.Level != r.Level || first.Only != r.Only) {
			out = append(out, &ConflictError{&first, r, at, "one is reached through a link"})
			continue
		}
		files[at] = *r
		out = append(out, folded.note(r, at)...)
	}
	for i := range p.Execute {
		r := &p.Execute[i]
		at, _, _ := resolve(r.Path)
		if first, seen := execute[at]; seen && first.Only != r.Only {
			out = append(out, &ConflictError{&first, r, at, "one is reached through a link"})
			continue
		}
		execute[at] = *r
		out = append(out, folded.note(r, at)...)
	}
	return out
}

// spellings remembers, by path without case, how the first rule spelt it.
type spellings map[string]struct {
	path ir.Path
	rule ir.Rule
}

// note reports the highest directory of at, or at itself, that another rule spells
// otherwise.
func (s spellings) note(r ir.Rule, at ir.Path) []*ConflictError {
	var out []*ConflictError
	for q := range at.Upward() {
		key := foldCase(q.String())
		switch first, seen := s[key]; {
		case !seen:
			first.path, first.rule = q, r
			s[key] = first
		case first.path != q:
			out = []*ConflictError{{first.rule, r, q, "their spellings differ only by case"}}
		}
	}
	return out
}

// foldCase lowers ASCII letters and leaves the rest, as the caseless expressions do.
func foldCase(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// around is the level that p would have in its own root without a rule of its own,
// and whether its root says anything.
func (v *view) around(p ir.Path) (ir.Level, bool) {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		if r := v.at[q]; r != nil && !r.Only {
			return r.Level, true
		}
	}
	return ir.Deny, false
}

// level is what p has by the rules of its own root.
func (v *view) level(p ir.Path) (ir.Level, bool) {
	if r := v.at[p]; r != nil {
		return r.Level, true
	}
	return v.around(p)
}

// mayHave reports whether p, without a rule of its own, could have the level: in its
// own root, or, where that is silent, by a rule of an earlier root around the
// place that the slot will be bound to.
func (v *view) mayHave(p ir.Path, level ir.Level) bool {
	if have, ok := v.around(p); ok {
		return have >= level
	}
	return v.earlier(p.Root(), level)
}

// earlier reports whether a rule of a root before slot gives at least the level to
// what the slot may be bound to. The level is above Deny.
func (v *view) earlier(slot ir.Root, level ir.Level) bool {
	for r := ir.Host; r < slot; r++ {
		if v.outer[r] >= level {
			return true
		}
	}
	return false
}

// mayHoldSlots reports whether a slot may be bound somewhere inside a.
func mayHoldSlots(a area) bool {
	return !a.Only && (a.Path.IsRoot() || !a.Path.InSystemTree())
}

// protects reports whether r takes something away that another rule gives.
func (v *view) protects(r ir.FileRule) bool {
	return r.Level == ir.Deny || r.Level == ir.Read && v.mayHave(r.Path, ir.Write)
}

// condition is what must hold for a rule about root to stand at all.
func condition(root ir.Root) string {
	if root == ir.Config {
		return `(param "` + parameters[ir.Config] + `")`
	}
	return ""
}
