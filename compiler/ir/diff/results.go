package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// results compares the results that a command may print: what is accepted goes to
// the caller. Without a result, any output does.
func results(old, new *ir.Result) (Effect, string) {
	switch {
	case old == nil && new == nil:
		return Same, ""
	case new == nil:
		return Widened, " printing anything"
	case old == nil:
		return Narrowed, " printing anything"
	}
	name := func(f ir.ResultField) string { return f.Name }
	if !slices.EqualFunc(old.Fields, new.Fields, func(f, g ir.ResultField) bool { return name(f) == name(g) }) {
		return Mixed, " printing " + resultText(new)
	}
	a := vectors{}
	for i := range old.Fields {
		was, is := old.Fields[i], new.Fields[i]
		if text, ok := beyondResult(is, was); ok {
			a.add(Widened, fmt.Sprintf(" printing %s: %s", is.Name, text))
		}
		if text, ok := beyondResult(was, is); ok {
			a.add(Narrowed, fmt.Sprintf(" printing %s: %s", is.Name, text))
		}
	}
	return a.effect, a.witness
}

// beyondResult is a member as JSON that f accepts and g does not, if there is one.
func beyondResult(f, g ir.ResultField) (string, bool) {
	strung := map[ir.ResultKind]bool{ir.IdentifierResult: true, ir.EnumResult: true}
	switch {
	case f.Kind == ir.IntegerResult:
		for _, n := range []int64{f.Min, f.Max} {
			if g.Kind != ir.IntegerResult || n < g.Min || n > g.Max {
				return strconv.FormatInt(n, 10), true
			}
		}
	case f.Kind == ir.BooleanResult:
		return "true", g.Kind != ir.BooleanResult
	case strung[f.Kind]:
		for _, text := range someTexts(f, g) {
			if !takes(g, text) {
				return strconv.Quote(short(text)), true
			}
		}
	}
	return "", false
}

// someTexts are values of f, among them one that g does not take if there is one.
func someTexts(f, g ir.ResultField) []string {
	if f.Kind == ir.EnumResult {
		return f.Values
	}
	out := []string{strings.Repeat("a", int(f.MaxBytes))}
	// An enum takes finitely many; one identifier of these is not among them.
	for n := range len(g.Values) + 1 {
		if text := strconv.Itoa(n); len(text) <= int(f.MaxBytes) {
			out = append(out, text)
		}
	}
	return append(out, "a")
}

// takes reports whether the field accepts a string.
func takes(f ir.ResultField, text string) bool {
	switch f.Kind {
	case ir.EnumResult:
		return slices.Contains(f.Values, text)
	case ir.IdentifierResult:
		return ir.Field{Name: f.Name, Form: ir.IdentifierForm, MaxBytes: f.MaxBytes}.Accept(text) == nil
	}
	return false
}
