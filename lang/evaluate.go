package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// evaluate is the value of e. When it has none, the reason has been reported: at
// e, or where the variable or local that e uses was found faulty.
func (p *parser) evaluate(e hclsyntax.Expression, where place) (cty.Value, bool) {
	if s, ok := literal(e); ok && !strings.Contains(s, nul) && !strings.ContainsFunc(s, diag.Hidden) {
		return cty.StringVal(s), true
	}
	w := &preparer{p: p, where: where}
	ready := w.expr(e)
	if w.faulty {
		return cty.NilVal, false
	}
	ctx, ok := p.context(w)
	if !ok {
		p.faults++
		return cty.NilVal, false
	}
	v, diags, ok := p.run(ready, ctx)
	if !ok {
		p.faults++
		return cty.NilVal, false
	}
	if diags.HasErrors() {
		p.add(expressionFindings(diags, at(e.Range()))...)
		return cty.NilVal, false
	}
	if !v.IsWhollyKnown() {
		diag.Bug("%s has an unknown value", at(e.Range()))
	}
	return v, true
}

// context holds what the expression uses and nothing else, so that its cost does
// not grow with the number of locals.
func (p *parser) context(w *preparer) (*hcl.EvalContext, bool) {
	names := make(map[string]cty.Value, len(slotValues)+2)
	for n, v := range slotValues {
		names[n] = v
	}
	vars := map[string]cty.Value{}
	for _, n := range w.vars {
		if !p.vars[n].ok {
			return nil, false
		}
		vars[n] = p.vars[n].value
	}
	locals := map[string]cty.Value{}
	for _, n := range w.locals {
		if !p.locals[n].ok {
			return nil, false
		}
		locals[n] = p.locals[n].value
	}
	names["var"], names["local"] = cty.ObjectVal(vars), cty.ObjectVal(locals)
	return &hcl.EvalContext{Variables: names}, true
}

// run evaluates within the bounds; ok is false when they are used up, which is
// reported the first time.
func (p *parser) run(e hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics, ok bool) {
	spent := p.bounds.left < 0
	defer func() {
		switch r := recover(); r {
		case nil:
		case exhausted{}:
			if !spent {
				p.add(evaluationLimit(at(e.Range())))
				p.bounds.left = -1
			}
			ok = false
		default:
			panic(r)
		}
	}()
	v, diags = e.Value(ctx)
	p.bounds.charge(v)
	return v, diags, true
}

// expressionFindings are the faults of one evaluation, each once: a for
// expression meets the same fault for every element.
func expressionFindings(diags hcl.Diagnostics, whole diag.Range) diag.List {
	var own, theirs diag.List
	type key struct {
		r    diag.Range
		code string
	}
	seen := map[key]bool{}
	for _, d := range diags {
		f, mine := d.Extra.(diag.Diagnostic)
		if !mine {
			f = expression(d, whole)
		}
		if k := (key{f.At, f.Code}); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		if mine {
			own.Add(f)
		} else {
			theirs.Add(f)
		}
	}
	if len(own) > 0 {
		return own // the rest follows from these
	}
	return theirs
}

// evaluationWords says what HCL's evaluator found, by its summary (hcl v2.25.0).
var evaluationWords = map[string]words{
	"Ambiguous attribute key":                  {"a key of a map could be a name or a text", "put it into quotes, or into parentheses"},
	"Attempt to get attribute from null value": {"null has no attributes", "check the value before the dot"},
	"Attempt to index null value":              {"null has no elements", "check the value before the bracket"},
	"Condition is null":                        {"a condition is null", "write true or false"},
	"Duplicate object key":                     {"two entries of a map have the same key", "make the keys differ, or group them with ... after the value"},
	"Incorrect key type":                       {"a key of a map is no string", "write a string"},
	"Invalid 'for' condition":                  {"the condition of a for expression is neither true nor false", "compare with == or !="},
	"Invalid index":                            {"there is no such element", "count from 0, and look up only keys that are there"},
	"Invalid object key":                       {"a key of a map is no string", "write a string"},
	"Invalid operand":                          {"an operand has the wrong type", "+ - * / % take numbers, && || ! take true and false"},
	"Invalid template interpolation value":     {"a value in ${…} is neither a string, a number nor a boolean", `join lists, as in join(",", list)`},
	"Iteration over non-iterable value":        {"for takes a list or a map, and this is neither", "put it into brackets"},
	"Iteration over null value":                {"for takes a list or a map, and this is null", "write [] for an empty list"},
	"Missing map element":                      {"the map has no such key", "use lookup(map, key, default)"},
	"Null value as key":                        {"a key of a map is null", "write a string"},
	"Operation failed":                         {"the operation has no result", "division by zero is the usual reason"},
	"Splat of null value":                      {"[*] takes a list, and this is null", "write [] for an empty list"},
	"Unsupported attribute":                    {"the value has no such attribute", "look at what stands before the dot"},
}

// expression is a refusal of HCL's evaluator, with its range.
func expression(d *hcl.Diagnostic, whole diag.Range) diag.Diagnostic {
	f := diag.Diagnostic{Code: "expression", At: whole}
	if d.Subject != nil {
		f.At = at(*d.Subject)
	}
	w, ok := evaluationWords[d.Summary]
	if !ok {
		w = words{"the value cannot be computed: " + strings.ToLower(d.Summary), "write it in a simpler way"}
	}
	f.Message, f.Help = w.message, w.help
	return f
}

// friendly names a value's type for a message.
func friendly(v cty.Value) string {
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case v.IsNull():
		return "null"
	case ty == cty.String:
		return "a string"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "a boolean"
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return "a list"
	case ty.IsObjectType(), ty.IsMapType():
		return "a map"
	}
	return "something else"
}

// wrongType reports a value that is not of the type that what needs.
func wrongType(r diag.Range, what, want string, got cty.Value) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "wrong-type",
		At:      r,
		Message: fmt.Sprintf("%s is %s, not %s", what, friendly(got), want),
		Help:    "write " + want,
	}
	if plain, marks := got.Unmark(); len(marks) == 0 && !plain.IsNull() {
		switch {
		case plain.Type() == cty.String && strings.HasPrefix(want, "a ") && strings.HasSuffix(want, "number"):
			if s := plain.AsString(); smallNumber(s) && numeric(s) {
				d.Help = "write " + s + ", without quotes"
			}
		case plain.Type() == cty.Number && want == "a string":
			d.Help = fmt.Sprintf("write %q, in quotes", plain.AsBigFloat().Text('f', -1))
		}
	}
	return d
}

// numeric reports whether s reads as a number.
func numeric(s string) bool {
	_, err := cty.ParseNumberVal(s)
	return err == nil
}
