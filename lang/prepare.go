package lang

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// place is where an expression stands, as far as wording depends on it.
type place int

const (
	elsewhere place = iota
	inPaths         // a list of paths, executables or executable
	constant        // a default: neither names nor calls
)

// preparer walks one expression before it is evaluated: it reports what needs no
// evaluation to be seen, notes which variables and locals are used, and replaces
// what must be bounded or must not depend on a slot.
type preparer struct {
	p      *parser
	where  place
	fors   int
	nodes  int      // of the expression walked so far
	scope  []string // names that for expressions introduce
	faulty bool
	vars   []string
	locals []string
}

func (w *preparer) fault(d diag.Diagnostic) {
	w.faulty = true
	w.p.add(d)
}

func (w *preparer) bounded(e hclsyntax.Expression) bounded {
	before := w.nodes
	ready := w.expr(e)
	return bounded{ready, &w.p.bounds, w.nodes - before}
}

func (w *preparer) plain(e hclsyntax.Expression) hclsyntax.Expression { return plain{w.bounded(e)} }

// expr is e, ready for evaluation.
func (w *preparer) expr(e hclsyntax.Expression) hclsyntax.Expression {
	w.nodes++
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		w.literal(e)
	case *hclsyntax.TemplateExpr:
		w.template(e)
	case *hclsyntax.TemplateWrapExpr:
		e.Wrapped = w.expr(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		e.Expression = w.expr(e.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		w.name(e)
	case *hclsyntax.RelativeTraversalExpr:
		e.Source = w.source(e.Source)
	case *hclsyntax.FunctionCallExpr:
		return w.call(e)
	case *hclsyntax.ConditionalExpr:
		e.Condition = w.plain(e.Condition)
		e.TrueResult = w.bounded(e.TrueResult)
		e.FalseResult = w.bounded(e.FalseResult)
		return conditional{e}
	case *hclsyntax.IndexExpr:
		e.Collection, e.Key = w.source(e.Collection), w.plain(e.Key)
	case *hclsyntax.TupleConsExpr:
		for i := range e.Exprs {
			e.Exprs[i] = w.expr(e.Exprs[i])
		}
	case *hclsyntax.ObjectConsExpr:
		w.object(e)
	case *hclsyntax.ForExpr:
		w.forExpr(e)
	case *hclsyntax.SplatExpr:
		e.Source = w.bounded(e.Source)
		e.Each = w.expr(e.Each)
	case *hclsyntax.BinaryOpExpr:
		return w.binary(e)
	case *hclsyntax.UnaryOpExpr:
		return w.unary(e)
	case *hclsyntax.AnonSymbolExpr, *hclsyntax.ExprSyntaxError:
	default: // TemplateJoinExpr is refused by the scan
		diag.Bug("no case for the expression %T", e)
	}
	return e
}

// source is what an element is taken from. Taking one from a named value costs
// nothing; from a list or map made on the spot, all of it is made.
func (w *preparer) source(e hclsyntax.Expression) hclsyntax.Expression {
	if _, named := e.(*hclsyntax.ScopeTraversalExpr); named {
		return w.expr(e)
	}
	return w.bounded(e)
}

func (w *preparer) literal(e *hclsyntax.LiteralValueExpr) {
	if e.Val.Type() != cty.String {
		return
	}
	if text := e.Val.AsString(); strings.Contains(text, nul) {
		w.fault(controlCharacter(at(e.SrcRange), w.where))
	} else if r, ok := hidden(text); ok {
		w.fault(hiddenCharacter(at(e.SrcRange), r, w.where))
	}
}

func (w *preparer) template(e *hclsyntax.TemplateExpr) {
	for i, part := range e.Parts {
		if lit, ok := part.(*hclsyntax.LiteralValueExpr); ok {
			w.literal(lit)
		} else {
			e.Parts[i] = w.bounded(part)
		}
	}
}

func (w *preparer) object(e *hclsyntax.ObjectConsExpr) {
	for i, item := range e.Items {
		// A bare word is a key, not a name; HCL's parser makes every key of
		// this type.
		key := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if key.ForceNonLiteral || hcl.ExprAsKeyword(key.Wrapped) == "" {
			key.Wrapped = w.plain(key.Wrapped)
		}
		e.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: item.KeyExpr, ValueExpr: w.expr(item.ValueExpr)}
	}
}

func (w *preparer) forExpr(e *hclsyntax.ForExpr) {
	e.CollExpr = w.bounded(e.CollExpr)
	if w.fors++; w.fors > maxForNesting {
		w.fault(forTooDeep(at(e.OpenRange)))
		w.fors--
		return
	}
	outer := w.scope
	for _, name := range []string{e.KeyVar, e.ValVar} {
		if slices.Contains(roots, name) {
			w.fault(reservedName(at(e.OpenRange), name))
		}
		if name != "" {
			w.scope = append(w.scope, name)
		}
	}
	if e.KeyExpr != nil {
		e.KeyExpr = w.plain(e.KeyExpr)
	}
	e.ValExpr = w.bounded(e.ValExpr)
	if e.CondExpr != nil {
		e.CondExpr = w.plain(e.CondExpr)
	}
	w.scope = outer
	w.fors--
}

func (w *preparer) binary(e *hclsyntax.BinaryOpExpr) hclsyntax.Expression {
	params := e.Op.Impl.Params()
	if params[0].Type != cty.Number {
		e.LHS, e.RHS = w.plain(e.LHS), w.plain(e.RHS)
		return e
	}
	e.LHS, e.RHS = number{plain{w.bounded(e.LHS)}}, number{plain{w.bounded(e.RHS)}}
	return arithmetic{e}
}

func (w *preparer) unary(e *hclsyntax.UnaryOpExpr) hclsyntax.Expression {
	if e.Op != hclsyntax.OpNegate {
		e.Val = w.plain(e.Val)
		return e
	}
	e.Val = number{plain{w.bounded(e.Val)}}
	return arithmetic{e}
}

// roots are the first words of names; for expressions may not take them.
var roots = append([]string{"var", "local", "template"}, slotNames...)

// name checks a name and notes what it needs.
func (w *preparer) name(e *hclsyntax.ScopeTraversalExpr) {
	root := e.Traversal.RootName()
	if slices.Contains(w.scope, root) {
		return
	}
	r := at(e.SrcRange)
	if w.where == constant && slices.Contains(slotNames, root) {
		w.fault(slotInVariable(r, root))
		return
	}
	if w.where == constant {
		w.fault(notConstant(r))
		return
	}
	switch {
	case slices.Contains(slotNames, root):
	case root == "var":
		w.vars = member(w, e, w.vars, w.p.vars)
	case root == "local":
		w.locals = member(w, e, w.locals, w.p.locals)
	case root == "template":
		w.fault(templateName(r))
	default:
		w.fault(unknownName(r, root, append(slices.Clone(w.scope), "var", "local", "workspace", "home", "tmp")))
	}
}

// member appends the name after the root to those used, once it is known to be
// declared.
func member[V any](w *preparer, e *hclsyntax.ScopeTraversalExpr, used []string, declared map[string]V) []string {
	root := e.Traversal.RootName()
	var step hcl.TraverseAttr
	if len(e.Traversal) > 1 {
		step, _ = e.Traversal[1].(hcl.TraverseAttr)
	}
	if step.Name == "" {
		w.fault(noMember(at(e.SrcRange), root))
		return used
	}
	if _, ok := declared[step.Name]; ok {
		return append(used, step.Name)
	}
	w.fault(unknownMember(at(e.SrcRange), root, step.Name, known(declared)))
	return used
}

// known are the keys of m.
func known[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	return names
}

// hidden is the first character of the text that no reader sees.
func hidden(text string) (rune, bool) {
	i := strings.IndexFunc(text, diag.Hidden)
	if i < 0 {
		return 0, false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r, true
}

func controlCode(where place) string {
	if where == inPaths {
		return "path-control-character"
	}
	return "control-character"
}

func hiddenCharacter(r diag.Range, hidden rune, where place) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    controlCode(where),
		At:      r,
		Message: fmt.Sprintf("a string holds the character U+%04X, which no reader sees", hidden),
		Help:    "remove it; a file whose name holds one is renamed, or its directory named",
	}
}

func turningCharacter(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "control-character",
		At:      r,
		Message: "a character turns the direction of the text, so that it reads as what it is not",
		Help:    "remove it",
	}
}

func controlCharacter(r diag.Range, where place) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    controlCode(where),
		At:      r,
		Message: "there is a NUL character here",
		Help:    "remove it; slots are written by name, as in ${workspace}",
	}
}

func unknownName(r diag.Range, name string, candidates []string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: fmt.Sprintf("nothing is called %s here", short(name)),
		Help:    helpForName(name, candidates),
	}
}

func helpForName(name string, candidates []string) string {
	if nearest(name, candidates) != "" || len(candidates) > 12 {
		return DidYouMean(name, candidates)
	}
	return fmt.Sprintf("write %s, in quotes, if text is meant; %s", quoted(name), DidYouMean(name, candidates))
}

func noMember(r diag.Range, root string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: fmt.Sprintf("%s is not a value by itself", root),
		Help:    fmt.Sprintf("write %s.NAME", root),
	}
}

func unknownMember(r diag.Range, root, name string, declared []string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: fmt.Sprintf("nothing is called %s.%s here", root, short(name)),
		Help:    fmt.Sprintf("declare it in a locals block: %s = …", short(name)),
	}
	if n := nearest(name, declared); n != "" {
		d.Help = fmt.Sprintf("did you mean %s.%s?", root, n)
	} else if root == "var" {
		d.Help = fmt.Sprintf("declare it: variable %s { type = string }", quoted(name))
	}
	return d
}

func templateName(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: "a template is no value",
		Help:    "template.NAME stands as an element of extends, and nowhere else",
	}
}

func reservedName(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "reserved-name",
		At:      r,
		Message: fmt.Sprintf("a for expression calls its element %s, which already means something", short(name)),
		Help:    "choose another name",
	}
}

func slotInVariable(r diag.Range, slot string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-constant",
		At:      r,
		Message: fmt.Sprintf("the value of a variable holds the slot %s, and slots are known only when the command runs", slot),
		Help:    fmt.Sprintf(`put the slot where the variable is used, as in "${%s}/${var.NAME}", or use locals`, slot),
	}
}

func notConstant(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-constant",
		At:      r,
		Message: "the value of a variable is computed from something else",
		Help:    "write it out; compute in locals",
	}
}
