package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/obspc/obspc/lang/diag"
)

// param is what an argument must be.
type param int

const (
	anything param = iota
	text           // a string; a number or boolean is written out
	whole          // a number
	list           // a list
	mapping        // a map
)

var paramWords = map[param]string{text: "a string", whole: "a number", list: "a list", mapping: "a map"}

// function is one function of the language. Carries says that it moves its
// arguments about without looking into them, so that slots and forms may pass;
// any other function given one is slot-in-function.
type function struct {
	params  []param
	least   int  // arguments that must be given; the others are optional
	repeat  bool // the last parameter takes any number of arguments
	carries bool
	run     func(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic)
}

// later are functions that the language will have.
var later = []string{"enum", "path", "text", "secret"}

// call prepares a call: its function is known, its arguments are ready.
func (w *preparer) call(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	for i := range e.Args {
		if name, bare := w.bareField(e, i); bare {
			w.fault(fieldUnquoted(at(e.Args[i].Range()), e.Name, name))
			continue
		}
		e.Args[i] = w.expr(e.Args[i])
	}
	f, ok := functions[e.Name]
	switch {
	case slices.Contains(later, e.Name):
		w.fault(notYet(at(e.NameRange), e.Name+"()"))
	case !ok:
		w.fault(unknownFunction(at(e.NameRange), e.Name))
	case w.where == constant:
		w.fault(notConstant(at(e.Range())))
	}
	return &call{FunctionCallExpr: e, p: w.p, function: f}
}

// formNames are the functions whose first argument names a field.
var formNames = []string{"identifier", "integer", "rest", "enum", "path", "text"}

// bareField is the name of the field that a form is given without quotes.
func (w *preparer) bareField(e *hclsyntax.FunctionCallExpr, argument int) (string, bool) {
	if argument > 0 || !slices.Contains(formNames, e.Name) {
		return "", false
	}
	name := hcl.ExprAsKeyword(e.Args[0])
	return name, name != "" && !slices.Contains(w.scope, name)
}

// call is a function call that is evaluated here, not by HCL.
type call struct {
	*hclsyntax.FunctionCallExpr
	p        *parser
	function function
}

// Value evaluates the arguments, checks them and runs the function.
func (c *call) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	args, diags := c.arguments(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if d, ok := c.count(len(args)); !ok {
		return cty.DynamicVal, append(diags, raise(d))
	}
	for i, a := range args {
		c.p.bounds.charge(a)
		if !a.IsWhollyKnown() { // the first look at the condition of a for expression
			return cty.DynamicVal, diags
		}
		if !c.function.carries && a.ContainsMarked() || a.IsMarked() && a.Type() != cty.String {
			return cty.DynamicVal, append(diags, raise(slotInFunction(at(c.Range()), c.Name)))
		}
		converted, ok := convertTo(a, c.param(i))
		if !ok {
			return cty.DynamicVal, append(diags, raise(c.wrongArgument(i, a)))
		}
		args[i] = converted
	}
	v, d := c.function.run(c, args)
	if d != nil {
		return cty.DynamicVal, append(diags, raise(*d))
	}
	c.p.bounds.charge(v)
	return v, diags
}

// arguments are the values of the arguments, a last one with ... taken apart.
func (c *call) arguments(ctx *hcl.EvalContext) ([]cty.Value, hcl.Diagnostics) {
	var args []cty.Value
	var diags hcl.Diagnostics
	for i, e := range c.Args {
		v, ds := e.Value(ctx)
		diags = append(diags, ds...)
		if !c.ExpandFinal || i < len(c.Args)-1 || ds.HasErrors() {
			args = append(args, v)
			continue
		}
		c.p.bounds.charge(v)
		if inner, ok := convertTo(v, list); ok && !v.IsMarked() && v.IsKnown() {
			args = append(args, inner.AsValueSlice()...)
		} else {
			diags = append(diags, raise(wrongType(at(e.Range()), "what ... takes apart", "a list", v)))
		}
	}
	return args, diags
}

func (c *call) param(i int) param {
	return c.function.params[min(i, len(c.function.params)-1)]
}

// argument is the range of argument i.
func (c *call) argument(i int) diag.Range {
	return at(c.Args[min(i, len(c.Args)-1)].Range())
}

func (c *call) count(n int) (diag.Diagnostic, bool) {
	f := c.function
	if n < f.least || n > len(f.params) && !f.repeat {
		return wrongCount(at(c.Range()), c.Name, f, n), false
	}
	return diag.Diagnostic{}, true
}

// convertTo is v as want asks, marks kept. Text is never read as a number.
func convertTo(v cty.Value, want param) (cty.Value, bool) {
	if want == anything {
		return v, true
	}
	if v.IsNull() {
		return v, false
	}
	ty := v.Type()
	switch want {
	case text:
		s, err := convert.Convert(v, cty.String)
		return s, err == nil
	case whole:
		return v, ty == cty.Number
	case list:
		return v, ty.IsTupleType() || ty.IsListType() || ty.IsSetType()
	default:
		return v, ty.IsObjectType() || ty.IsMapType()
	}
}

func (c *call) wrongArgument(i int, v cty.Value) diag.Diagnostic {
	return wrongType(c.argument(i), fmt.Sprintf("argument %d of %s", i+1, c.Name), paramWords[c.param(i)], v)
}

func fieldUnquoted(r diag.Range, form, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: fmt.Sprintf("%s gives its field the name %s without quotes", form, short(name)),
		Help:    fmt.Sprintf("write %s(%s), in quotes", form, quoted(name)),
	}
}

func slotInFunction(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-in-function",
		At:      r,
		Message: fmt.Sprintf("%s looks into a slot or a form, whose value is known only when the command runs", name),
		Help:    "apply it to the literal part, and put the result beside the slot in a template",
	}
}

func unknownFunction(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-function",
		At:      r,
		Message: fmt.Sprintf("there is no function %s", quoted(name)),
		Help:    helpForFunction(name),
	}
}

func helpForFunction(name string) string {
	switch name {
	case "file", "fileset", "templatefile", "abspath", "pathexpand", "env", "getenv", "timestamp", "uuid":
		return "remove it: no function reads a file, the environment or the clock; give what it would say by --var"
	case "format", "formatlist":
		return `put values into a string, as in "${workspace}/${var.name}"`
	}
	return DidYouMean(name, append(known(functions), later...))
}

func wrongCount(r diag.Range, name string, f function, n int) diag.Diagnostic {
	takes := fmt.Sprint(f.least)
	switch {
	case f.repeat:
		takes += " or more"
	case f.least < len(f.params):
		takes += fmt.Sprintf(" to %d", len(f.params))
	}
	counted := fmt.Sprintf("%d arguments", n)
	if n == 1 {
		counted = "one argument"
	}
	return diag.Diagnostic{
		Code:    "wrong-arguments",
		At:      r,
		Message: fmt.Sprintf("%s is called with %s", name, counted),
		Help:    fmt.Sprintf("it takes %s", takes),
	}
}

func notYet(r diag.Range, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-yet",
		At:      r,
		Message: fmt.Sprintf("%s is not supported by this version of obspc", what),
		Help:    "remove it: it is a word of the language that nothing enforces so far",
	}
}

func badArgument(r diag.Range, message, help string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: "wrong-arguments", At: r, Message: message, Help: help}
}
