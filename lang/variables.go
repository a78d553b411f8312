package lang

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// variable is one variable block. When it is not ok the reason has been
// reported, and what uses it is passed over.
type variable struct {
	name  String
	value cty.Value
	ok    bool
}

// valueVariables gives each variable its value: --var, else the default.
func (p *parser) valueVariables() {
	for _, name := range slices.Sorted(maps.Keys(p.opts.Vars)) {
		if _, ok := p.vars[name]; !ok {
			p.add(unknownVariable(name, known(p.vars)))
		}
	}
	for _, b := range p.varBlocks {
		block := p.open(b)
		v := p.vars[block.name.Value]
		if v == nil || v.name != block.name { // a duplicate, or without a name
			continue
		}
		v.value, v.ok = p.valueOf(block)
		if v.ok {
			p.config.Variables[v.name.Value] = rendered(v.value)
		}
	}
}

func (p *parser) valueOf(b *block) (cty.Value, bool) {
	b.str("description")
	ty, typed := b.typeOf()
	if !typed {
		return cty.NilVal, false
	}
	fallback, hasDefault, ok := b.defaultOf(ty)
	given, isGiven := p.opts.Vars[b.name.Value]
	switch {
	case hasDefault && !ok && !isGiven:
		return cty.NilVal, false
	case isGiven && ty == cty.NilType && ok:
		return p.given(b.name.Value, given, fallback.Type())
	case isGiven && ty == cty.NilType && hasDefault:
		return cty.NilVal, false
	case isGiven:
		return p.given(b.name.Value, given, ty)
	case !hasDefault:
		p.add(variableWithoutValue(b.header, b.name.Value))
		return cty.NilVal, false
	}
	return fallback, true
}

// defaultOf is the default; present tells whether one is written, ok whether it
// can be used.
func (b *block) defaultOf(ty cty.Type) (v cty.Value, present, ok bool) {
	if _, present = b.attrs["default"]; !present {
		return cty.NilVal, false, false
	}
	it, ok := b.item("default", constant)
	if !ok {
		return cty.NilVal, true, false
	}
	if ty == cty.NilType && !it.value.IsNull() && !it.value.Type().IsPrimitiveType() {
		b.p.add(missingAttribute(b.header, "variable", "type", "write type = list(string) or map(string) before such a default"))
		return cty.NilVal, true, false
	}
	v, ok = conform(it.value, ty)
	if !ok {
		b.p.add(wrongType(it.at, "the default of "+short(b.name.Value), typeWords(ty), it.value))
	}
	return v, true, ok
}

// typeOf is the declared type; NilType when none is declared.
func (b *block) typeOf() (cty.Type, bool) {
	a, ok := b.attrs["type"]
	if !ok {
		return cty.NilType, true
	}
	ty, ok := typeExpr(a.Expr)
	if !ok {
		b.p.add(unknownType(at(a.Expr.Range())))
	}
	return ty, ok
}

// typeExpr reads string, number, bool, list(T) and map(T).
func typeExpr(e hclsyntax.Expression) (cty.Type, bool) {
	switch hcl.ExprAsKeyword(e) {
	case "string":
		return cty.String, true
	case "number":
		return cty.Number, true
	case "bool":
		return cty.Bool, true
	}
	call, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok || len(call.Args) != 1 || call.ExpandFinal {
		return cty.NilType, false
	}
	inner, ok := typeExpr(call.Args[0])
	if !ok {
		return cty.NilType, false
	}
	switch call.Name {
	case "list":
		return cty.List(inner), true
	case "map":
		return cty.Map(inner), true
	}
	return cty.NilType, false
}

// conform is v as ty, without turning text into numbers or numbers into text. A
// variable without a type has that of its default, or is a string.
func conform(v cty.Value, ty cty.Type) (cty.Value, bool) {
	switch {
	case v.IsNull():
		return v, false
	case ty == cty.NilType:
		return v, true
	case ty.IsPrimitiveType():
		return v, v.Type() == ty
	case ty.IsListType():
		if _, ok := convertTo(v, list); !ok {
			return v, false
		}
		out := []cty.Value{}
		for _, e := range v.AsValueSlice() {
			e, ok := conform(e, ty.ElementType())
			if !ok {
				return v, false
			}
			out = append(out, e)
		}
		return cty.TupleVal(out), true
	}
	if _, ok := convertTo(v, mapping); !ok {
		return v, false
	}
	out := map[string]cty.Value{}
	for k, e := range v.AsValueMap() {
		e, ok := conform(e, ty.ElementType())
		if !ok {
			return v, false
		}
		out[k] = e
	}
	return cty.ObjectVal(out), true
}

// given reads the text of --var by the type of its variable: a string as it
// stands, anything else as it would be written in a file.
func (p *parser) given(name, text string, ty cty.Type) (cty.Value, bool) {
	r := diag.Range{File: "--var " + name}
	if strings.Contains(text, nul) {
		p.add(controlCharacter(r, elsewhere))
		return cty.NilVal, false
	}
	if c, ok := hidden(text); ok {
		p.add(hiddenCharacter(r, c, elsewhere))
		return cty.NilVal, false
	}
	if !normalForm([]byte(text)) {
		p.add(notNormalForm(r))
		return cty.NilVal, false
	}
	if !utf8.ValidString(text) {
		p.add(variableNotText(r, name))
		return cty.NilVal, false
	}
	if slot, ok := slotText(text); ok {
		p.add(variableSlot(r, name, slot))
		return cty.NilVal, false
	}
	if ty == cty.String || ty == cty.NilType {
		return cty.StringVal(text), true
	}
	tokens, _ := hclsyntax.LexExpression([]byte(text), r.File, hcl.InitialPos)
	if found := scan(tokens); len(found) > 0 {
		p.add(found...)
		return cty.NilVal, false
	}
	e, diags := hclsyntax.ParseExpression([]byte(text), r.File, hcl.InitialPos)
	if diags.HasErrors() || computes(e) {
		p.add(variableText(r, name, text, ty))
		return cty.NilVal, false
	}
	v, ok := p.evaluate(e, constant)
	if !ok {
		return cty.NilVal, false
	}
	v, ok = conform(v, ty)
	if !ok {
		p.add(variableText(r, name, text, ty))
	}
	return v, ok
}

// computes reports whether an expression names or calls something: in --var it is
// text without its quotes.
func computes(e hclsyntax.Expression) bool {
	calls := false
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		_, call := n.(*hclsyntax.FunctionCallExpr)
		calls = calls || call
		return nil
	})
	return calls || len(e.Variables()) > 0
}

// slotText is the slot that text writes down, as if it were in a policy.
func slotText(text string) (string, bool) {
	for _, slot := range slotNames {
		if before, _, ok := strings.Cut(text, "${"+slot+"}"); ok && !strings.HasSuffix(before, "$") {
			return slot, true
		}
	}
	return "", false
}

// rendered is a value as JSON.
func rendered(v cty.Value) string {
	text, err := json.Marshal(native(v))
	if err != nil {
		diag.Bug("a variable's value has no JSON: %v", err)
	}
	return string(text)
}

func native(v cty.Value) any {
	switch ty := v.Type(); {
	case v.IsNull():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return json.Number(v.AsBigFloat().Text('f', -1))
	case ty.IsObjectType():
		m := map[string]any{}
		for k, e := range v.AsValueMap() {
			m[k] = native(e)
		}
		return m
	}
	l := []any{}
	for _, e := range v.AsValueSlice() {
		l = append(l, native(e))
	}
	return l
}

// typeWords names a type for a message.
func typeWords(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "a string"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsListType():
		return "a list of " + plural(ty.ElementType())
	case ty.IsMapType():
		return "a map of " + plural(ty.ElementType())
	}
	return "a value"
}

func plural(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "strings"
	case ty == cty.Number:
		return "numbers"
	case ty == cty.Bool:
		return "booleans"
	case ty.IsListType():
		return "lists"
	}
	return "maps"
}

// listText is text as a list in a file where it is plainly meant as one: words
// between commas. Otherwise it is an example.
func listText(text string, element cty.Type) string {
	const most = 80
	if text == "" || len(text) > most || strings.ContainsAny(text, "\"'\\[](){}$%\n") || element != cty.String {
		switch element {
		case cty.Number:
			return "[1, 2]"
		case cty.Bool:
			return "[true, false]"
		}
		return `["a", "b"]`
	}
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		words = append(words, strconv.Quote(strings.TrimSpace(word)))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func variableSlot(r diag.Range, name, slot string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-in-variable",
		At:      r,
		Message: fmt.Sprintf("the value of variable %s holds the text ${%s}, and a --var holds no slots", quoted(name), slot),
		Help:    fmt.Sprintf(`put the slot in the policy, as in "${%s}/${var.%s}", and give only the rest`, slot, short(name)),
	}
}

func unknownVariable(name string, declared []string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "unknown-variable",
		At:      diag.Range{File: "--var " + name},
		Message: fmt.Sprintf("no variable is called %s", quoted(name)),
		Help:    DidYouMean(name, declared),
	}
	if len(declared) == 0 {
		d.Help = fmt.Sprintf("declare it: variable %s { type = string }", quoted(name))
	}
	return d
}

func variableWithoutValue(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "variable-without-value",
		At:      r,
		Message: fmt.Sprintf("variable %s has no default and was given no value", quoted(name)),
		Help:    fmt.Sprintf("give it one: --var %s=VALUE", short(name)),
	}
}

func unknownType(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-type",
		At:      r,
		Message: "this is no type",
		Help:    "write string, number, bool, list(string) or map(string)",
	}
}

func variableNotText(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-text",
		At:      r,
		Message: fmt.Sprintf("the value of variable %s is not UTF-8 text", quoted(name)),
		Help:    "write it in UTF-8",
	}
}

func variableText(r diag.Range, name, text string, ty cty.Type) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "wrong-type",
		At:      r,
		Message: fmt.Sprintf("variable %s is given %s, not %s", quoted(name), quoted(text), typeWords(ty)),
		Help:    "write " + typeWords(ty),
	}
	switch {
	case ty.IsListType():
		d.Help = fmt.Sprintf("write it as in a file: --var '%s=%s'", name, listText(text, ty.ElementType()))
	case ty.IsMapType():
		d.Help = fmt.Sprintf("write it as in a file: --var '%s={a = \"b\"}'", name)
	}
	return d
}
