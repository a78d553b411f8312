package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// A command's arguments are a language: the vectors that callers can make. Two are
// compared part by part where they are built alike. Where they are not, nothing
// says that one holds the other, and the change counts as both.

// arguments compares the vectors of two commands, and gives a witness.
func arguments(old, new *ir.Command) (Effect, string) {
	other := " with " + argumentsText(*new)
	if len(old.Arguments) != len(new.Arguments) {
		return Mixed, other
	}
	a := vectors{commands: [2]*ir.Command{old, new}, fields: [2]map[string]string{{}, {}}}
	for i := range old.Arguments {
		if !a.argument(old.Arguments[i], new.Arguments[i]) {
			return Mixed, other
		}
	}
	switch {
	case old.Rest == "" && new.Rest != "":
		a.add(Widened, " with a string behind --")
	case old.Rest != "" && new.Rest == "":
		a.add(Narrowed, " with a string behind --")
	}
	return a.effect, a.witness
}

// vectors is the comparison of two argument vectors under way. Fields pairs the
// fields of either side: one that stands in two places stands for the same text in
// both.
type vectors struct {
	commands [2]*ir.Command
	fields   [2]map[string]string
	effect   Effect
	witness  string
}

// add notes an effect; the first widening has the witness, else the first effect.
func (a *vectors) add(e Effect, witness string) {
	if a.witness == "" || e.Widens() && !a.effect.Widens() {
		a.witness = witness
	}
	a.effect |= e
}

// argument compares one argument of each side; false if they are built otherwise.
func (a *vectors) argument(old, new ir.Value) bool {
	if len(old) == len(new) && !slices.ContainsFunc(pairs(old, new), func(p [2]ir.Part) bool { return !a.alike(p) }) {
		return true
	}
	// A fixed text that a field now takes, or took.
	if text, ok := fixed(old); ok {
		if f, value, ok := a.only(after, new, text); ok {
			if value != "" {
				a.add(Widened, other(f, value))
			}
			return true
		}
	}
	if text, ok := fixed(new); ok {
		if f, value, ok := a.only(before, old, text); ok {
			if value != "" {
				a.add(Narrowed, other(f, value))
			}
			return true
		}
	}
	return false
}

func other(f ir.Field, value string) string { return fmt.Sprintf(" with %s=%s", f.Name, short(value)) }

// short is a witness's text, or its length where nobody would read it.
func short(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%s… (%d bytes)", text[:8], len(text))
	}
	return text
}

func pairs(old, new ir.Value) [][2]ir.Part {
	out := make([][2]ir.Part, len(old))
	for i := range old {
		out[i] = [2]ir.Part{old[i], new[i]}
	}
	return out
}

// alike compares two parts: the same text or slot, or fields.
func (a *vectors) alike(p [2]ir.Part) bool {
	was, ok := p[before].(ir.FieldRef)
	is, both := p[after].(ir.FieldRef)
	if !ok || !both {
		return p[before] == p[after]
	}
	known, seen := a.fields[before][string(was)]
	back, backSeen := a.fields[after][string(is)]
	if seen || backSeen {
		return known == string(is) && back == string(was)
	}
	a.fields[before][string(was)], a.fields[after][string(is)] = string(is), string(was)
	f, _ := a.commands[before].Field(string(was))
	g, _ := a.commands[after].Field(string(is))
	if text, ok := beyondField(g, f); ok {
		a.add(Widened, other(g, text))
	}
	if text, ok := beyondField(f, g); ok {
		a.add(Narrowed, other(f, text))
	}
	return true
}

// fixed is the text of a value without slots and fields.
func fixed(v ir.Value) (string, bool) {
	switch len(v) {
	case 0:
		return "", true
	case 1:
		text, ok := v[0].(ir.Literal)
		return string(text), ok
	}
	return "", false
}

// only reports whether the value is text around one field, which stands nowhere
// else, and can be fixed; with another value for the field, "" if there is none.
func (a *vectors) only(side int, v ir.Value, text string) (f ir.Field, value string, ok bool) {
	i := slices.IndexFunc(v, func(p ir.Part) bool { _, ok := p.(ir.FieldRef); return ok })
	if i < 0 || i > 1 || len(v) > i+2 {
		return ir.Field{}, "", false
	}
	name := string(v[i].(ir.FieldRef))
	for _, part := range [2]ir.Value{v[:i], v[i+1:]} {
		if len(part) == 1 {
			if _, ok := part[0].(ir.Literal); !ok {
				return ir.Field{}, "", false
			}
		}
	}
	prefix, _ := fixed(v[:i])
	suffix, _ := fixed(v[i+1:])
	f, _ = a.commands[side].Field(name)
	inner, found := strings.CutPrefix(text, prefix)
	inner, ends := strings.CutSuffix(inner, suffix)
	if !found || !ends || f.Accept(inner) != nil || uses(a.commands[side], name) != 1 {
		return ir.Field{}, "", false
	}
	return f, another(f, inner), true
}

// uses counts the places of a field.
func uses(c *ir.Command, name string) int {
	n := 0
	for _, v := range c.Arguments {
		for _, p := range v {
			if p == ir.FieldRef(name) {
				n++
			}
		}
	}
	return n
}

// another is a value of the field that is not text; "" if there is none.
func another(f ir.Field, text string) string {
	candidates := []string{"a", "b"}
	if f.Form == ir.IntegerForm {
		candidates = []string{strconv.FormatInt(f.Min, 10), strconv.FormatInt(f.Max, 10)}
	}
	for _, candidate := range candidates {
		if candidate != text && f.Accept(candidate) == nil {
			return candidate
		}
	}
	return ""
}

// beyondField is a value that f takes and g does not, if there is one. The
// languages are ranges of integers and identifiers of some length, so their ends
// are enough.
func beyondField(f, g ir.Field) (string, bool) {
	var candidates []string
	if f.Form == ir.IntegerForm {
		for _, n := range []int64{f.Min, f.Max, -1} {
			candidates = append(candidates, strconv.FormatInt(n, 10))
		}
	} else {
		candidates = []string{"a", strings.Repeat("a", int(f.MaxBytes))}
	}
	for _, text := range candidates {
		if f.Accept(text) == nil && g.Accept(text) != nil {
			return text, true
		}
	}
	return "", false
}
