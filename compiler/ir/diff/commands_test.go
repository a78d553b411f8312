package diff

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"pgregory.net/rapid"
)

// drawCommand draws a command of two arguments and small types.
func drawCommand(t *rapid.T) *ir.Command {
	c := &ir.Command{Name: "c", Executable: ir.MustPath("/x")}
	for _, name := range []string{"f", "g"} {
		f := ir.Field{Name: name, Form: ir.IdentifierForm, MaxBytes: rapid.Int64Range(1, 2).Draw(t, "bytes")}
		if rapid.Bool().Draw(t, "integer") {
			f = ir.Field{Name: name, Form: ir.IntegerForm, Min: rapid.Int64Range(-2, 3).Draw(t, "min")}
			f.Max = f.Min + rapid.Int64Range(0, 9).Draw(t, "more")
		}
		c.Fields = append(c.Fields, f)
	}
	parts := []ir.Part{ir.Literal("1"), ir.Literal("a"), ir.FieldRef("f"), ir.FieldRef("f"), ir.FieldRef("g"), ir.SlotRef(ir.Home)}
	for range 2 {
		var v ir.Value
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			p := rapid.SampledFrom(parts).Draw(t, "part")
			if n := len(v); n > 0 {
				before, both := v[n-1].(ir.Literal)
				if text, ok := p.(ir.Literal); ok && both {
					v[n-1] = before + text
					continue
				}
			}
			v = append(v, p)
		}
		c.Arguments = append(c.Arguments, v)
	}
	if rapid.IntRange(0, 3).Draw(t, "rest") == 0 {
		c.Rest = "r"
	}
	return c
}

// vectorsOf are the vectors that callers can make of few values.
func vectorsOf(c *ir.Command) map[string]bool {
	values := map[string][]string{}
	for _, f := range c.Fields {
		for _, text := range []string{"a", "b", "aa", "a1", "1a", "-2", "-1", "0", "1", "2", "3", "9", "10", "11", "12"} {
			if f.Accept(text) == nil {
				values[f.Name] = append(values[f.Name], text)
			}
		}
	}
	out := map[string]bool{}
	binding := ir.Binding{}.With(ir.Home, ir.MustPath("/home/u"))
	for _, f := range values["f"] {
		for _, g := range values["g"] {
			var vector []string
			for _, a := range c.Arguments {
				text, err := a.Join(binding, map[string]string{"f": f, "g": g})
				if err != nil {
					panic(err)
				}
				vector = append(vector, text)
			}
			out[strings.Join(vector, "\x00")] = true
			if c.Rest != "" {
				out[strings.Join(append(vector, "rest"), "\x00")] = true
			}
		}
	}
	return out
}

// TestArgumentsAgainstVectors: a command that is said not to widen makes no vector
// that it did not make; one that is said to be mixed may be anything, for that is
// what is said where nothing is known.
func TestArgumentsAgainstVectors(t *testing.T) {
	said := map[Effect]int{}
	rapid.Check(t, func(t *rapid.T) {
		old := drawCommand(t)
		new := drawCommand(t)
		if rapid.Bool().Draw(t, "alike") {
			new.Arguments = old.Arguments
		}
		was, is := vectorsOf(old), vectorsOf(new)
		got, witness := arguments(old, new)
		said[got]++
		added, removed := lacks(was, is), lacks(is, was)
		if len(added) > 0 && !got.Widens() || len(removed) > 0 && got&Narrowed == 0 {
			t.Fatalf("%s => %s is said to be %s (%s); added %q, removed %q", argumentsText(*old), argumentsText(*new), got, witness, added, removed)
		}
		if (got != Same) != (witness != "") {
			t.Fatalf("%s has the witness %q", got, witness)
		}
		if back, _ := arguments(new, old); back != got>>1&1|got<<1&2 {
			t.Fatalf("%s there and %s back", got, back)
		}
	})
	for _, e := range []Effect{Same, Narrowed, Widened, Mixed} {
		if said[e] < 10 {
			t.Errorf("%s was said %d times, want 10", e, said[e])
		}
	}
}

// lacks lists what other has and set has not.
func lacks(set, other map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(other)), func(v string) bool { return set[v] })
}

func TestResults(t *testing.T) {
	result := func(f ir.ResultField) *ir.Result {
		f.Name = "m"
		return &ir.Result{Name: "r", Fields: []ir.ResultField{f}}
	}
	integer := func(min, max int64) *ir.Result {
		return result(ir.ResultField{Kind: ir.IntegerResult, Min: min, Max: max})
	}
	identifier := func(n int64) *ir.Result {
		return result(ir.ResultField{Kind: ir.IdentifierResult, MaxBytes: n})
	}
	enum := func(values ...string) *ir.Result { return result(ir.ResultField{Kind: ir.EnumResult, Values: values}) }
	boolean := result(ir.ResultField{Kind: ir.BooleanResult})
	for _, tt := range []struct {
		old, new *ir.Result
		want     Effect
		witness  string
	}{
		{nil, nil, Same, ""},
		{nil, boolean, Narrowed, " printing anything"},
		{boolean, nil, Widened, " printing anything"},
		{boolean, boolean, Same, ""},
		{integer(0, 9), integer(0, 10), Widened, " printing m: 10"},
		{integer(0, 9), integer(1, 8), Narrowed, " printing m: 0"},
		{integer(0, 9), integer(1, 10), Mixed, " printing m: 10"},
		{integer(0, 9), boolean, Mixed, " printing m: true"},
		{identifier(4), identifier(5), Widened, ` printing m: "aaaaa"`},
		{enum("a", "b"), enum("a"), Narrowed, ` printing m: "b"`},
		{enum("a", "b"), identifier(1), Widened, ` printing m: "0"`},
		{enum("a b"), identifier(1), Mixed, ` printing m: "a"`},
		{enum("a"), identifier(1), Widened, ` printing m: "0"`},
		{identifier(1), enum("a"), Narrowed, ` printing m: "0"`},
		{enum("true"), boolean, Mixed, " printing m: true"},
		{boolean, &ir.Result{Name: "r"}, Mixed, " printing {}"},
	} {
		got, witness := results(tt.old, tt.new)
		if got != tt.want || witness != tt.witness {
			t.Errorf("results(%s, %s) = %s,%s, want %s,%s", resultText(tt.old), resultText(tt.new), got, witness, tt.want, tt.witness)
		}
	}
}
