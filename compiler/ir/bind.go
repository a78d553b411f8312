package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Binding gives slots their paths on one machine. The zero Binding binds
// nothing. A bound path is absolute (root Host).
type Binding struct {
	paths [numRoots]Path
	bound [numRoots]bool
}

// With is b with the slot bound to the absolute path at.
func (b Binding) With(slot Root, at Path) Binding {
	b.paths[slot], b.bound[slot] = at, true
	return b
}

// At is what the slot is bound to. Host is always bound to "/".
func (b Binding) At(slot Root) (Path, bool) {
	if slot == Host {
		return Path{}, true
	}
	return b.paths[slot], b.bound[slot]
}

// Path is p with its slot replaced by what it is bound to; p itself when the
// slot is not bound.
func (b Binding) Path(p Path) Path {
	at, ok := b.At(p.root)
	if !ok {
		return p
	}
	return at.Join(p.rel)
}

// systemTrees are directories that hold the system itself: a slot is never bound
// to one, nor below one. (hier(7) of Linux and of macOS.)
var systemTrees = []Path{
	MustPath("/bin"), MustPath("/boot"), MustPath("/dev"), MustPath("/etc"), MustPath("/lib"), MustPath("/lib32"),
	MustPath("/lib64"), MustPath("/libx32"), MustPath("/proc"), MustPath("/sbin"), MustPath("/sys"), MustPath("/usr"),
	MustPath("/System"), MustPath("/Library"), MustPath("/Applications"), MustPath("/private/etc"), MustPath("/cores"),
}

// InSystemTree reports whether p lies in a directory of the system, so that no
// admissible binding puts a slot at or below it. "/" itself counts.
func (p Path) InSystemTree() bool { return inSystemTree(p) }

// systemDirs are directories that a slot is never bound to, though it may be
// bound below them. /tmp is missing: it is where the tmp slot lies on Linux.
var systemDirs = []Path{
	MustPath("/"), MustPath("/home"), MustPath("/media"), MustPath("/mnt"), MustPath("/opt"), MustPath("/run"),
	MustPath("/srv"), MustPath("/var"), MustPath("/var/lib"), MustPath("/var/tmp"), MustPath("/run/user"),
	MustPath("/Users"), MustPath("/Volumes"), MustPath("/private"), MustPath("/private/var"), MustPath("/private/tmp"),
}

// IsSystemDirectory reports whether p is a directory of the system, or lies in one
// that holds the system itself: no slot is ever bound to it.
func (p Path) IsSystemDirectory() bool {
	return inSystemTree(p) || slices.Contains(systemDirs, p) || p == MustPath("/tmp")
}

// inSystemTree reports whether no slot can ever hold p.
func inSystemTree(p Path) bool {
	if p.root != Host {
		return false
	}
	return p.IsRoot() || slices.ContainsFunc(systemTrees, func(tree Path) bool { return tree.Covers(p) })
}

// InadmissibleError says why a binding is refused: which slot, and which rules
// and paths are in each other's way.
type InadmissibleError struct {
	Slot   Root
	At     Path
	Reason string
	Rules  []Rule // the rules concerned, earlier root first
}

func (e *InadmissibleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot be %s: %s", e.Slot, e.At, e.Reason)
	for i, r := range e.Rules {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s (%s)", sep, r, r.From())
	}
	return b.String()
}

// Admit checks that b is admissible for p (design 5.1): only then do "the
// longest rule" and "the latest root with a covering rule" give one answer. What
// only the machine knows (links, owners) is the runtime's to check. The error is
// an *InadmissibleError.
func (p *Policy) Admit(b Binding) error { return p.admit(b, p.placed(b)) }

func (p *Policy) admit(b Binding, rules []placed) error {
	for _, slot := range Slots() {
		at, ok := b.At(slot)
		if !ok {
			continue
		}
		if err := p.admitSlot(b, slot, at, rules); err != nil {
			return err
		}
	}
	return admitPairs(b, rules)
}

func (p *Policy) admitSlot(b Binding, slot Root, at Path, rules []placed) error {
	if at.root != Host {
		return &InadmissibleError{Slot: slot, At: at, Reason: "it is not an absolute path"}
	}
	if inSystemTree(at) || slices.Contains(systemDirs, at) || at == MustPath("/tmp") && slot != Tmp {
		return &InadmissibleError{Slot: slot, At: at, Reason: "it is a directory of the system"}
	}
	for _, other := range Slots() {
		if have, ok := b.At(other); ok && other < slot && have == at {
			return &InadmissibleError{Slot: slot, At: at, Reason: fmt.Sprintf("%s is bound to the same directory", other)}
		}
	}
	if !p.names(slot) {
		return nil
	}
	if rule := decidesBefore(slot, at, rules); rule != nil && rule.Level == Deny {
		return &InadmissibleError{Slot: slot, At: at, Reason: "it lies inside a deny", Rules: []Rule{rule}}
	}
	return nil
}

// names reports whether any file or execute rule starts in the slot.
func (p *Policy) names(slot Root) bool {
	return slices.ContainsFunc(p.Files, func(r FileRule) bool { return r.Path.root == slot }) ||
		slices.ContainsFunc(p.Execute, func(r ExecuteRule) bool { return r.Path.root == slot })
}

// placed is a rule with the path it has under a binding and the root it had: those
// of files first, in the policy's order.
type placed struct {
	root Root
	path Path
	rule Rule
}

func (p *Policy) placed(b Binding) []placed {
	out := make([]placed, 0, len(p.Files)+len(p.Execute))
	for i := range p.Files {
		r := &p.Files[i]
		out = append(out, placed{r.Path.root, b.Path(r.Path), r})
	}
	for i := range p.Execute {
		r := &p.Execute[i]
		out = append(out, placed{r.Path.root, b.Path(r.Path), r})
	}
	return out
}

// decidesBefore is the rule of the roots before slot that decides what slot is bound
// to, with its path; nil when none does. Of two rules for one path the later counts.
func decidesBefore(slot Root, at Path, rules []placed) *FileRule {
	around := map[Path]FileRule{}
	for _, r := range rules {
		if file, ok := r.rule.(*FileRule); ok && r.root < slot && r.path.Covers(at) {
			around[r.path] = *file
		}
	}
	if len(around) == 0 {
		return nil
	}
	for q := range at.Upward() {
		if r, ok := around[q]; ok && (!r.Only || q == at) {
			r.Path = q
			return &r
		}
	}
	return nil
}

// belowLater reports whether the rule lies where a later root is bound.
func (r placed) belowLater(b Binding) bool {
	for slot := r.root + 1; int(slot) < numRoots; slot++ {
		if at, ok := b.At(slot); ok && at.Covers(r.path) {
			return true
		}
	}
	return false
}

// admitPairs refuses a rule of a later root at or above a rule of an earlier one.
func admitPairs(b Binding, rules []placed) error {
	first := map[Path]placed{} // path and ancestors of each rule that may be in the way of a later root → one of the earliest root there
	for _, r := range rules {
		if !r.belowLater(b) {
			continue
		}
		for q := range r.path.Upward() {
			if have, ok := first[q]; !ok || r.root < have.root {
				first[q] = r
			}
		}
	}
	if len(first) == 0 {
		return nil
	}
	for _, later := range rules {
		earlier, ok := first[later.path]
		if !ok || earlier.root >= later.root {
			continue
		}
		at, _ := b.At(later.root)
		return &InadmissibleError{
			Slot: later.root, At: at, Rules: []Rule{earlier.rule, later.rule},
			Reason: fmt.Sprintf("%s would stand at or above %s", later.path, earlier.path),
		}
	}
	return nil
}

// Bind is the policy with every bound slot replaced by its path, in rules and in
// the programs that endpoints and commands name; values keep their slots, which
// Value.Join fills in. Slots without a binding stay. It fails as Admit does.
func (p *Policy) Bind(b Binding) (*Policy, error) {
	rules := p.placed(b)
	if err := p.admit(b, rules); err != nil {
		return nil, err
	}
	q := *p
	q.Files = slices.Clone(p.Files)
	for i := range q.Files {
		q.Files[i].Path = rules[i].path
	}
	q.Execute = slices.Clone(p.Execute)
	for i := range q.Execute {
		q.Execute[i].Path = rules[len(p.Files)+i].path
	}
	q.Endpoints = slices.Clone(p.Endpoints)
	for i := range q.Endpoints {
		q.Endpoints[i].Executables = b.Paths(q.Endpoints[i].Executables)
	}
	q.Commands = slices.Clone(p.Commands)
	for i := range q.Commands {
		q.Commands[i].Executable = b.Path(q.Commands[i].Executable)
	}
	slices.SortFunc(q.Files, func(x, y FileRule) int { return x.Path.Compare(y.Path) })
	slices.SortFunc(q.Execute, func(x, y ExecuteRule) int { return x.Path.Compare(y.Path) })
	return &q, nil
}

// Paths is the set of paths, bound and sorted.
func (b Binding) Paths(paths []Path) []Path {
	out := slices.Clone(paths)
	for i := range out {
		out[i] = b.Path(out[i])
	}
	slices.SortFunc(out, Path.Compare)
	return slices.Compact(out)
}

// Without is the policy less its optional rules whose path missing reports as
// absent at the start of a run: they are as if unsaid.
func (p *Policy) Without(missing func(Path) bool) *Policy {
	q := *p
	q.Files = slices.DeleteFunc(slices.Clone(p.Files), func(r FileRule) bool { return r.Optional && missing(r.Path) })
	q.Execute = slices.DeleteFunc(slices.Clone(p.Execute), func(r ExecuteRule) bool { return r.Optional && missing(r.Path) })
	return &q
}
