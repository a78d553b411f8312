package compiler

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// merge gives every policy what its templates state and it does not state
// itself. Templates that disagree are an error, unless the policy settles it.
func merge(c *compilation) {
	m := merger{c: c}
	for _, b := range c.bodies {
		if b.source.Template {
			continue
		}
		d := &draft{body: b, partial: c.config.Partial || !b.whole()}
		c.drafts = append(c.drafts, d)
		for _, list := range m.visible(b) {
			d.merged = append(d.merged, m.agreed(d, list))
		}
		b.visible = nil // nobody extends a policy
		slices.SortFunc(d.merged, func(x, y *statement) int { return compareKeys(x.key, y.key) })
		if n := len(d.merged); n > maxRules && b.sound() {
			c.find(b, tooManyRules(b, n))
		}
	}
}

// merger knows how much the bodies have taken over from each other so far.
type merger struct {
	c         *compilation
	inherited int
}

// visible is what holds for b: its own statements, and for what it does not
// speak of, those that hold for its templates. Several for one key are the
// templates' answers to one question, in the order of extends.
func (m *merger) visible(b *body) map[key][]*statement {
	if b.visible != nil {
		return b.visible
	}
	b.visible = make(map[key][]*statement, len(b.statements))
	for _, s := range b.statements {
		b.visible[s.key] = []*statement{s}
	}
	for _, e := range b.extends {
		for k, list := range m.visible(e.template) {
			if m.inherited += len(list); m.inherited > maxInherited {
				m.exhausted(b)
				return b.visible
			}
			have := b.visible[k]
			if len(have) > 0 && have[0].body == b {
				continue
			}
			for _, s := range list {
				if !slices.Contains(have, s) {
					have = append(have, s)
				}
			}
			b.visible[k] = have
		}
	}
	return b.visible
}

// exhausted reports, once, that merging ends early.
func (m *merger) exhausted(b *body) {
	if m.inherited < 2*maxInherited {
		m.inherited = 2 * maxInherited
		m.c.lose(b, tooMuchInherited(b))
	}
	b.faulty, b.partial = true, true
}

// agreed is the one statement that a list of answers to one question comes to.
// Two about a path agree although only one is optional: then the path must be
// there.
func (m *merger) agreed(d *draft, list []*statement) *statement {
	first := list[0]
	for _, other := range list[1:] {
		if !agree(first.value, other.value) {
			if !m.c.config.Partial {
				m.c.find(d.body, templateConflict(d.body, first, other))
			}
			d.partial = true
			return first
		}
		stricter := *first
		stricter.value = widest(first.value, other.value)
		first = &stricter
	}
	return first
}

// agree reports whether two values say the same.
func agree(a, b any) bool {
	switch x := a.(type) {
	case ir.FileRule:
		y := b.(ir.FileRule)
		x.Optional = y.Optional
		return x == y
	case ir.ExecuteRule:
		y := b.(ir.ExecuteRule)
		x.Optional = y.Optional
		return x == y
	}
	return reflect.DeepEqual(a, b)
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), a.path.Compare(b.path), cmp.Compare(a.name, b.name))
}

// words is what a key speaks of and what a statement says about it.
func words(s *statement) (about, says string) {
	switch v := s.value.(type) {
	case ir.FileRule:
		if v.Only {
			return v.Path.String(), "only() " + v.Level.String()
		}
		return v.Path.String(), v.Level.String()
	case ir.ExecuteRule:
		if v.Only {
			return "executing " + v.Path.String(), "only()"
		}
		return "executing " + v.Path.String(), "everything below it too"
	case ir.Endpoint:
		return "endpoint " + s.key.name, v.String()
	case ir.HostRule:
		return "the host " + s.key.name, "deny"
	case ir.Variable:
		return "the variable " + s.key.name, fmt.Sprintf("%q", v.Value.String())
	case ir.Limit:
		return "the limit " + s.key.name, fmt.Sprint(v.Value)
	case ir.SyscallRule:
		if v.Allow {
			return "the system call " + v.Name, "allow"
		}
		return "the system call " + v.Name, "deny"
	case ir.Command:
		return "command " + s.key.name, v.Executable.String()
	case ir.Waiver:
		return "the waiver of " + string(v.Feature), fmt.Sprintf("%q", v.Reason)
	}
	switch s.key.kind {
	case workspaceKind:
		return "workspace", fmt.Sprintf("%q", s.value)
	case unixKind:
		return "unix", fmt.Sprintf("%q", s.value)
	case loopbackKind:
		return "loopback", fmt.Sprintf("%q", s.value)
	case devicesKind:
		return "devices", fmt.Sprintf("%q", s.value)
	case limitScopeKind:
		return "the scope of limits", fmt.Sprintf("%q", s.value)
	}
	return "shm", fmt.Sprintf("%v bytes", s.value)
}

// templateConflict reports, at the element of extends that brings it in, a
// statement that another template contradicts.
func templateConflict(policy *body, first, second *statement) diag.Diagnostic {
	at := policy.source.Name.Range
	for _, e := range policy.extends {
		if slices.Contains(e.template.visible[second.key], second) {
			at = e.at
		}
	}
	about, one := words(first)
	_, two := words(second)
	return diag.Diagnostic{
		Code:    "template-conflict",
		At:      at,
		Message: fmt.Sprintf("templates %s and %s disagree about %s: %s and %s", first.body.name, second.body.name, about, one, two),
		Help:    fmt.Sprintf("state it in policy %s itself, which settles it", policy.name),
		Related: []diag.Related{
			{At: first.at, Message: first.body.name + " says it here"},
			{At: second.at, Message: second.body.name + " says it here"},
		},
	}
}
