package lang

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/obspc/obspc/lang/diag"
)

// functions are all there are: pure, and none whose result can be much larger
// than its arguments without being charged for it. What they do is what the
// functions of the same name do in Terraform.
var functions = map[string]function{
	"upper":      onText(strings.ToUpper),
	"lower":      onText(strings.ToLower),
	"trimspace":  onText(strings.TrimSpace),
	"trimprefix": onTwo(func(s, t string) cty.Value { return cty.StringVal(strings.TrimPrefix(s, t)) }),
	"trimsuffix": onTwo(func(s, t string) cty.Value { return cty.StringVal(strings.TrimSuffix(s, t)) }),
	"startswith": onTwo(func(s, t string) cty.Value { return cty.BoolVal(strings.HasPrefix(s, t)) }),
	"endswith":   onTwo(func(s, t string) cty.Value { return cty.BoolVal(strings.HasSuffix(s, t)) }),
	"replace":    {params: []param{text, text, text}, least: 3, run: replaced},
	"split":      {params: []param{text, text}, least: 2, run: parted},
	"join":       {params: []param{text, list}, least: 2, repeat: true, carries: true, run: joined},

	"length":   {params: []param{anything}, least: 1, run: length},
	"contains": {params: []param{list, anything}, least: 2, run: contains},
	"distinct": {params: []param{list}, least: 1, run: distinct},
	"sort":     {params: []param{list}, least: 1, run: sorted},
	"concat":   {params: []param{list}, least: 1, repeat: true, carries: true, run: concatenated},
	"flatten":  {params: []param{list}, least: 1, carries: true, run: flattened},
	"reverse":  {params: []param{list}, least: 1, carries: true, run: reversed},
	"element":  {params: []param{list, whole}, least: 2, carries: true, run: element},
	"keys":     {params: []param{mapping}, least: 1, carries: true, run: keys},
	"values":   {params: []param{mapping}, least: 1, carries: true, run: values},
	"merge":    {params: []param{mapping}, least: 1, repeat: true, carries: true, run: merged},
	"lookup":   {params: []param{mapping, text, anything}, least: 2, carries: true, run: lookup},
	"coalesce": {params: []param{anything}, least: 1, repeat: true, carries: true, run: coalesced},

	"tostring": {params: []param{text}, least: 1, carries: true, run: same},
	"tonumber": {params: []param{anything}, least: 1, run: toNumber},
	"tobool":   {params: []param{anything}, least: 1, run: toBool},

	"optional":   {params: []param{text}, least: 1, carries: true, run: modifier(optionalOpen, optionalClose)},
	"only":       {params: []param{text}, least: 1, carries: true, run: modifier(onlyOpen, onlyClose)},
	"identifier": {params: []param{text, whole}, least: 1, run: identifierForm},
	"integer":    {params: []param{text, whole, whole}, least: 3, run: integerForm},
	"rest":       {params: []param{text}, least: 1, run: restForm},
}

func onText(f func(string) string) function {
	return function{params: []param{text}, least: 1, run: func(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
		return cty.StringVal(f(args[0].AsString())), nil
	}}
}

func onTwo(f func(s, t string) cty.Value) function {
	return function{params: []param{text, text}, least: 2, run: func(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
		return f(args[0].AsString(), args[1].AsString()), nil
	}}
}

func same(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) { return args[0], nil }

func replaced(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	s, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
	c.p.bounds.spend(strings.Count(s, old) * (1 + len(with)/8))
	return cty.StringVal(strings.ReplaceAll(s, old, with)), nil
}

func parted(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	sep, s := args[0].AsString(), args[1].AsString()
	c.p.bounds.spend(strings.Count(s, sep))
	var out []cty.Value
	for _, t := range strings.Split(s, sep) {
		out = append(out, cty.StringVal(t))
	}
	return cty.TupleVal(out), nil
}

// joined is the separator between the strings of a list, holes and marks kept.
func joined(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	sep, marks := args[0].Unmark()
	var all []cty.ValueMarks
	var parts []string
	for _, l := range args[1:] {
		for _, e := range l.AsValueSlice() {
			s, ok := convertTo(e, text)
			if !ok {
				d := wrongType(c.argument(1), "an element that join joins", "a string", e)
				return cty.NilVal, &d
			}
			s, m := s.Unmark()
			all = append(all, m)
			parts = append(parts, s.AsString())
		}
	}
	if len(parts) > 1 {
		all = append(all, marks)
	}
	c.p.bounds.spend(len(sep.AsString()) / 8 * len(parts))
	return cty.StringVal(strings.Join(parts, sep.AsString())).WithMarks(all...), nil
}

func length(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	switch v := args[0]; {
	case v.IsNull():
	case v.Type() == cty.String:
		return cty.NumberIntVal(int64(len([]rune(v.AsString())))), nil
	case v.CanIterateElements():
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	}
	d := wrongType(c.argument(0), "the argument of length", "a list, a map or a string", args[0])
	return cty.NilVal, &d
}

func contains(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	for _, e := range args[0].AsValueSlice() {
		if e.Type().Equals(args[1].Type()) && e.RawEquals(args[1]) {
			return cty.True, nil
		}
	}
	return cty.False, nil
}

// textsOf are the elements of a list that must be strings.
func textsOf(c *call, l cty.Value) ([]string, *diag.Diagnostic) {
	var out []string
	for _, e := range l.AsValueSlice() {
		s, ok := convertTo(e, text)
		if !ok {
			d := wrongType(c.argument(0), "an element of the list for "+c.Name, "a string", e)
			return nil, &d
		}
		out = append(out, s.AsString())
	}
	return out, nil
}

func tuple(texts []string) cty.Value {
	out := make([]cty.Value, len(texts))
	for i, t := range texts {
		out[i] = cty.StringVal(t)
	}
	return cty.TupleVal(out)
}

func distinct(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	texts, d := textsOf(c, args[0])
	if d != nil {
		return cty.NilVal, d
	}
	seen := map[string]bool{}
	var out []string
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return tuple(out), nil
}

func sorted(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	texts, d := textsOf(c, args[0])
	if d != nil {
		return cty.NilVal, d
	}
	slices.Sort(texts)
	return tuple(texts), nil
}

func concatenated(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	var out []cty.Value
	for _, l := range args {
		out = append(out, l.AsValueSlice()...)
	}
	return cty.TupleVal(out), nil
}

func flattened(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	var out []cty.Value
	var walk func(l cty.Value)
	walk = func(l cty.Value) {
		for _, e := range l.AsValueSlice() {
			if _, ok := convertTo(e, list); ok && !e.IsMarked() {
				walk(e)
			} else {
				out = append(out, e)
			}
		}
	}
	walk(args[0])
	return cty.TupleVal(out), nil
}

func reversed(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	out := args[0].AsValueSlice()
	slices.Reverse(out)
	return cty.TupleVal(out), nil
}

func element(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	l := args[0].AsValueSlice()
	i, ok := integerOf(args[1])
	if !ok || i < 0 || i >= int64(len(l)) {
		return cty.NilVal, badArgument(c.argument(1), "the list has no such element", "count from 0")
	}
	return l[i], nil
}

func keys(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	var out []string
	for it := args[0].ElementIterator(); it.Next(); {
		k, _ := it.Element()
		out = append(out, k.AsString())
	}
	return tuple(out), nil
}

func values(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	var out []cty.Value
	for it := args[0].ElementIterator(); it.Next(); {
		_, v := it.Element()
		out = append(out, v)
	}
	return cty.TupleVal(out), nil
}

func merged(_ *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	out := map[string]cty.Value{}
	for _, m := range args {
		for it := m.ElementIterator(); it.Next(); {
			k, v := it.Element()
			out[k.AsString()] = v
		}
	}
	return cty.ObjectVal(out), nil
}

func lookup(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	if args[1].IsMarked() {
		d := slotInFunction(at(c.Range()), c.Name)
		return cty.NilVal, &d
	}
	for it := args[0].ElementIterator(); it.Next(); {
		if k, v := it.Element(); k.AsString() == args[1].AsString() {
			return v, nil
		}
	}
	if len(args) == 3 {
		return args[2], nil
	}
	return cty.NilVal, badArgument(c.argument(1), "the map has no such key", "give a default as third argument")
}

// coalesced is the first argument that is neither null nor an empty string.
func coalesced(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	for _, v := range args {
		plain, _ := v.Unmark()
		if !plain.IsNull() && (plain.Type() != cty.String || plain.AsString() != "") {
			return v, nil
		}
	}
	return cty.NilVal, badArgument(at(c.Range()), "every argument of coalesce is null or empty", "add a last one that is not")
}

func toNumber(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	v := args[0]
	switch {
	case v.IsNull():
	case v.Type() == cty.Number:
		return v, nil
	case v.Type() == cty.String && smallNumber(v.AsString()):
		if n, err := cty.ParseNumberVal(v.AsString()); err == nil {
			return n, nil
		}
	}
	return cty.NilVal, badArgument(c.argument(0), "the argument of tonumber is no number", `write digits, as in tonumber("443")`)
}

func toBool(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	if v, err := convert.Convert(args[0], cty.Bool); err == nil && !v.IsNull() {
		return v, nil
	}
	return cty.NilVal, badArgument(c.argument(0), "the argument of tobool is neither true nor false", `write "true" or "false"`)
}
