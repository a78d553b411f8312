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
func (p *Policy) Admit(b Binding) error {
	for _, slot := range Slots() {
		at, ok := b.At(slot)
		if !ok {
			continue
		}
		if err := p.admitSlot(b, slot, at); err != nil {
			return err
		}
	}
	return p.admitPairs(b)
}

func (p *Policy) admitSlot(b Binding, slot Root, at Path) error {
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
	earlier := NewDecider(p.boundBefore(slot, b))
	if level, rule := earlier.At(at).levelAt(); rule != nil && level == Deny {
		return &InadmissibleError{Slot: slot, At: at, Reason: "it lies inside a deny", Rules: []Rule{rule}}
	}
	return nil
}

// names reports whether any file or execute rule starts in the slot.
func (p *Policy) names(slot Root) bool {
	return slices.ContainsFunc(p.Files, func(r FileRule) bool { return r.Path.root == slot }) ||
		slices.ContainsFunc(p.Execute, func(r ExecuteRule) bool { return r.Path.root == slot })
}

// boundBefore is the policy of the roots before slot, bound.
func (p *Policy) boundBefore(slot Root, b Binding) *Policy {
	q := &Policy{Name: p.Name}
	for _, r := range p.Files {
		if r.Path.root < slot {
			r.Path = b.Path(r.Path)
			q.Files = append(q.Files, r)
		}
	}
	return q
}

// placed is a rule with the path it has under a binding and the root it had.
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

// admitPairs refuses a rule of a later root at or above a rule of an earlier one.
func (p *Policy) admitPairs(b Binding) error {
	rules := p.placed(b)
	first := make(map[Path]placed, 2*len(rules)) // each rule's path and every ancestor → a rule of the earliest root there
	for _, r := range rules {
		if r.path.root != Host {
			continue
		}
		for q := range r.path.Upward() {
			if have, ok := first[q]; !ok || r.root < have.root {
				first[q] = r
			}
		}
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
	if err := p.Admit(b); err != nil {
		return nil, err
	}
	q := *p
	q.Files = slices.Clone(p.Files)
	for i := range q.Files {
		q.Files[i].Path = b.Path(q.Files[i].Path)
	}
	q.Execute = slices.Clone(p.Execute)
	for i := range q.Execute {
		q.Execute[i].Path = b.Path(q.Execute[i].Path)
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
