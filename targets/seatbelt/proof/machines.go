package proof

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// machine is one class of machines: where the slots are bound. moved is the slot
// whose place tells it from the first class: only what leads to it and what lies
// below it can differ.
//
// What a profile says depends on nothing else. A path that an optional rule names
// may be missing when a run starts; its name is held wherever the policy gives a
// write, so nothing inside makes it, and the rule says nothing about anything (O5).
type machine struct {
	name    string
	binding ir.Binding
	moved   ir.Root
	policy  *ir.Policy // bound
}

// machines lists the classes (O3). In the first all slots lie apart, in directories
// that nothing names. In each of the others one slot lies somewhere else: once for
// everything that rules of earlier roots can give to a place, since that is all that
// the order of roots leaves of where it is. The configuration is given only where it
// lies inside a write. A slot that no place can hold stays open: the runtime accepts
// no binding, and nothing runs.
func (c *check) machines() []machine {
	c.fresh = c.unnamed()
	apart := machine{name: "slots apart", policy: c.policy}
	for _, slot := range ir.Slots() {
		if slot == ir.Config {
			continue
		}
		for _, around := range append([]ir.Path{{}}, c.places(apart.binding, slot)...) {
			if b := apart.binding.With(slot, c.place(around, slot)); apart.bind(c.policy, b) {
				break
			}
		}
	}
	out := []machine{apart}
	gives := gives{}
	for _, r := range c.policy.Files {
		if !r.Only {
			gives[apart.binding.Path(r.Path)] = r.Level
		}
	}
	for _, slot := range ir.Slots() {
		if !c.uses(slot) {
			continue
		}
		seen := map[given]bool{{ir.Deny, true}: true} // no binding is admissible there
		if at, ok := apart.binding.At(slot); ok {
			seen[gives.to(at)] = true
		}
		for _, around := range append([]ir.Path{{}}, c.places(apart.binding, slot)...) {
			at := c.place(around, slot)
			g := gives.to(at)
			if seen[g] || at.InSystemTree() || slot == ir.Config && g.level != ir.Write {
				continue
			}
			m := machine{name: slot.String() + " inside " + around.String(), moved: slot}
			if m.bind(c.policy, apart.binding.With(slot, at)) {
				seen[g] = true
				out = append(out, m)
			}
		}
	}
	return out
}

// bind puts the slots where b says, if that is admissible.
func (m *machine) bind(p *ir.Policy, b ir.Binding) bool {
	bound, err := p.Bind(b)
	if err != nil {
		return false
	}
	m.binding, m.policy = b, bound
	return true
}

// given is what rules give to a place where a slot may be: a level, for which a deny
// is other than nothing.
type given struct {
	level  ir.Level
	stated bool
}

// gives is the levels of bound rules about more than one path.
type gives map[ir.Path]ir.Level

func (g gives) to(at ir.Path) given {
	for q := range at.Upward() {
		if level, ok := g[q]; ok {
			return given{level, true}
		}
	}
	return given{}
}

// place is a directory below around that nothing names. Its name has letters, whose
// case may be another.
func (c *check) place(around ir.Path, slot ir.Root) ir.Path {
	name := c.fresh + slot.String()
	return around.Join(name + "/" + name)
}

// places lists the paths, bound, of the file rules of roots before slot. What they
// give changes nowhere else.
func (c *check) places(b ir.Binding, slot ir.Root) []ir.Path {
	var out []ir.Path
	for _, r := range c.policy.Files {
		if r.Path.Root() < slot && !r.Only {
			out = append(out, b.Path(r.Path))
		}
	}
	return out
}

// uses reports whether a rule of the policy or of the profile starts in the slot.
func (c *check) uses(slot ir.Root) bool {
	return slices.ContainsFunc(c.paths, func(p ir.Path) bool { return p.Root() == slot })
}

// pathsOf lists every path that the policy or the profile names.
func pathsOf(p *ir.Policy, profile *fragment.Profile) []ir.Path {
	var out []ir.Path
	for _, r := range p.Files {
		out = append(out, r.Path)
	}
	for _, r := range p.Execute {
		out = append(out, r.Path)
	}
	for _, f := range profile.Starts {
		out = append(out, f.Path)
	}
	for _, r := range profile.Rules {
		for _, f := range r.Filters {
			out = append(out, f.Path)
		}
	}
	return out
}

// unnamed is a name that is part of no path of the policy or the profile.
func (c *check) unnamed() string {
	name := "_"
	for _, p := range c.paths {
		for strings.Contains(p.Rel(), name) {
			name += "_"
		}
	}
	return name
}
