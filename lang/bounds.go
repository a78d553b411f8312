package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// Limits of evaluation. The scan bounds the text; these bound what a short text
// can make: nested for expressions, templates that double a string, functions
// whose result is larger than their arguments.
const (
	workLimit     = 4 << 20 // units of one Parse: a value is one, and each 8 bytes of a string
	stepWork      = 8       // units of computing one node of an expression
	maxValueDepth = 128     // lists and maps in each other, also through locals
	maxForNesting = 2       // for expressions in each other
	maxNumberBits = 512     // binary exponent of a computed number, either sign
	maxElements   = 100_000 // elements of all lists of a configuration
)

// bounds is the work that one Parse may still do.
type bounds struct{ left int }

// exhausted is what spend panics with: HCL's evaluator has no other way out of
// its loops. evaluate recovers it.
type exhausted struct{}

func (b *bounds) spend(units int) {
	b.left -= units
	if b.left < 0 {
		panic(exhausted{})
	}
}

// charge spends the size of v, shared parts counted each time: that is what a
// walk over v costs.
func (b *bounds) charge(v cty.Value) { b.weigh(v, 0) }

func (b *bounds) weigh(v cty.Value, depth int) {
	b.spend(1)
	if depth > maxValueDepth {
		panic(exhausted{})
	}
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() {
		return
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		b.spend(len(v.AsString()) / 8)
	case ty == cty.Number:
		b.spend(20) // as text it has up to 160 digits
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			b.weigh(e, depth+1)
		}
	}
}

// bounded is an expression that is charged every time it is computed: for its
// own size, which is what a for expression repeats, and for that of its value.
type bounded struct {
	hclsyntax.Expression
	bounds *bounds
	nodes  int
}

func (e bounded) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	e.bounds.spend(stepWork * e.nodes)
	v, diags := e.Expression.Value(ctx)
	e.bounds.charge(v)
	return v, diags
}

// plain is an expression that decides something: an operand, a condition, an
// index, a key. What decides must not hold a slot or a form, whose value is not
// known before the run.
type plain struct{ bounded }

func (e plain) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.bounded.Value(ctx)
	if v.ContainsMarked() {
		return cty.DynamicVal, append(diags, raise(slotDecides(at(e.Range()))))
	}
	return v, diags
}

// arithmetic is an operation on numbers: its operands are numbers, not text that
// looks like one, and its result stays of a size that can be written down.
type arithmetic struct{ hclsyntax.Expression }

func (e arithmetic) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	if !v.IsKnown() || v.IsNull() || v.Type() != cty.Number {
		return v, diags
	}
	f := v.AsBigFloat()
	if f.IsInf() {
		return cty.DynamicVal, append(diags, raise(divisionByZero(at(e.Range()))))
	}
	if f.Sign() != 0 && abs(f.MantExp(nil)) > maxNumberBits {
		return cty.DynamicVal, append(diags, raise(numberTooLarge(at(e.Range()))))
	}
	return v, diags
}

// number is an operand that must be a number.
type number struct{ plain }

func (e number) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.plain.Value(ctx)
	if v.IsKnown() && !v.IsNull() && v.Type() != cty.Number {
		return cty.DynamicVal, append(diags, raise(wrongType(at(e.Range()), "an operand", "a number", v)))
	}
	return v, diags
}

// conditional is a conditional whose result is the chosen one as it is. HCL's own
// gives it the marks of the other one as well, so that a slot that was not chosen
// would look like one that was cut; and it converts both to a common type.
type conditional struct{ *hclsyntax.ConditionalExpr }

func (e conditional) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	c, diags := e.Condition.Value(ctx)
	yes, yesDiags := e.TrueResult.Value(ctx)
	no, noDiags := e.FalseResult.Value(ctx)
	switch {
	case diags.HasErrors() || !c.IsKnown():
		return cty.DynamicVal, diags
	case c.IsNull() || c.Type() != cty.Bool:
		return cty.DynamicVal, append(diags, raise(wrongType(at(e.Condition.Range()), "a condition", "true or false", c)))
	}
	known := yes.IsKnown() && no.IsKnown() && !yes.IsNull() && !no.IsNull()
	if known && friendly(yes) != friendly(no) {
		return cty.DynamicVal, append(diags, raise(resultsDiffer(at(e.SrcRange), yes, no)))
	}
	if c.True() {
		return yes, yesDiags
	}
	return no, noDiags
}

// raise hands a finding through HCL's evaluator; expressionFindings takes it out.
func raise(d diag.Diagnostic) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: d.Code, Detail: d.Message, Extra: d}
}

func slotDecides(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-in-function",
		At:      r,
		Message: "what decides here depends on a slot or a form, whose value is known only when the command runs",
		Help:    "decide by a variable",
	}
}

func resultsDiffer(r diag.Range, yes, no cty.Value) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "wrong-type",
		At:      r,
		Message: fmt.Sprintf("one result of the conditional is %s, the other %s", friendly(yes), friendly(no)),
		Help:    "give both the same type",
	}
}

func divisionByZero(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "expression",
		At:      r,
		Message: "the operation has no result: it divides by zero",
		Help:    "check the divisor first",
	}
}

func evaluationLimit(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "evaluation-limit",
		At:      r,
		Message: "evaluating this takes more work than a configuration may take",
		Help:    fmt.Sprintf("make lists shorter than %d elements, and repeat less", maxElements),
	}
}

func forTooDeep(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "nesting-too-deep",
		At:      r,
		Message: fmt.Sprintf("for expressions nest deeper than %d", maxForNesting),
		Help:    "name the inner list in locals",
	}
}
