package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// item is a value with the smallest range that shows where it comes from.
type item struct {
	value cty.Value
	at    diag.Range
}

// item is the value of an attribute; absent and faulty ones are not ok.
func (b *block) item(name string, where place) (item, bool) {
	a, ok := b.attrs[name]
	if !ok {
		return item{}, false
	}
	v, ok := b.p.evaluate(a.Expr, where)
	return item{v, at(a.Expr.Range())}, ok
}

// items are the elements of an attribute that holds a list: nil when the
// attribute is absent or no list, empty when the list is. Faulty elements are
// left out.
func (b *block) items(name string, where place) []item {
	a, ok := b.attrs[name]
	if !ok {
		return nil
	}
	return b.p.list(a.Expr, where, name)
}

// list takes a list apart: a literal one, also inside concat, by its elements;
// any other is evaluated, and its elements have the range of the whole.
func (p *parser) list(e hclsyntax.Expression, where place, what string) []item {
	out := []item{}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return p.list(e.Expression, where, what)
	case *hclsyntax.TupleConsExpr:
		for _, element := range e.Exprs {
			if v, ok := p.evaluate(element, where); ok {
				out = append(out, item{v, at(element.Range())})
			}
		}
	case *hclsyntax.FunctionCallExpr:
		if e.Name != "concat" || e.ExpandFinal || len(e.Args) == 0 {
			return p.computed(e, where, what)
		}
		for _, arg := range e.Args {
			out = append(out, p.list(arg, where, "an argument of concat")...)
		}
		return out
	default:
		return p.computed(e, where, what)
	}
	return p.counted(out, at(e.Range()))
}

func (p *parser) computed(e hclsyntax.Expression, where place, what string) []item {
	v, ok := p.evaluate(e, where)
	if !ok {
		return nil
	}
	r := at(e.Range())
	if _, ok := convertTo(v, list); !ok {
		p.add(p.notList(r, what, v))
		return nil
	}
	if v.IsMarked() {
		p.add(slotChanged(r))
		return nil
	}
	out := []item{}
	for _, element := range v.AsValueSlice() {
		out = append(out, item{element, r})
	}
	return p.counted(out, r)
}

// notList reports a value where a list stands, and shows it as one.
func (p *parser) notList(r diag.Range, what string, v cty.Value) diag.Diagnostic {
	d := wrongType(r, what, "a list", v)
	plain, _ := v.Unmark()
	source := p.config.Sources[r.File]
	if plain.IsNull() || plain.Type() != cty.String && plain.Type() != cty.Number || r.End.Byte > len(source) {
		return d
	}
	const most = 80
	text := string(source[r.Start.Byte:r.End.Byte])
	if len(text) > most || strings.Contains(text, "\n") {
		return d
	}
	d.Help = fmt.Sprintf("write it as a list: [%s]", text)
	if hclsyntax.ValidIdentifier(what) {
		d.Help = fmt.Sprintf("write it as a list: %s = [%s]", what, text)
	}
	return d
}

// counted drops a list once the configuration has too many elements.
func (p *parser) counted(items []item, r diag.Range) []item {
	before := p.elements
	p.elements += len(items)
	if p.elements <= maxElements {
		return items
	}
	if before <= maxElements {
		p.add(tooManyRules(r))
	}
	return nil
}

// str is an attribute that is a string without slots.
func (b *block) str(name string) String {
	it, ok := b.item(name, elsewhere)
	if !ok {
		return String{}
	}
	s, _ := b.p.str(it, name)
	return s
}

func (p *parser) str(it item, what string) (String, bool) {
	t, ok := p.pieces(it, what)
	if !ok {
		return String{}, false
	}
	if len(t) > 1 || len(t) == 1 && t[0].hole {
		p.add(holeMisplaced(it.at, what))
		return String{}, false
	}
	if len(t) == 0 {
		return String{"", it.at}, true
	}
	return String{t[0].text, it.at}, true
}

// strs is an attribute that is a list of strings without slots.
func (b *block) strs(name string) []String {
	items := b.items(name, elsewhere)
	if items == nil {
		return nil
	}
	out := []String{}
	for _, it := range items {
		if s, ok := b.p.str(it, "an element of "+name); ok {
			out = append(out, s)
		}
	}
	return out
}

// choice is an attribute that is one of a few words.
func (b *block) choice(name string, words ...string) String {
	it, ok := b.item(name, elsewhere)
	if !ok {
		return String{}
	}
	if plain, _ := it.value.Unmark(); plain.IsNull() || plain.Type() != cty.String {
		b.p.add(notOneOf(it, name, words))
		return String{}
	}
	s, _ := b.p.str(it, name)
	if s.Range.IsZero() || slices.Contains(words, s.Value) {
		return s
	}
	b.p.add(unknownValue(s, name, words))
	return String{}
}

// integer is an attribute that is a whole number.
func (b *block) integer(name string) (Integer, bool) {
	it, ok := b.item(name, elsewhere)
	if !ok {
		return Integer{}, false
	}
	return b.p.integer(it, name)
}

func (p *parser) integer(it item, what string) (Integer, bool) {
	if it.value.IsNull() || it.value.Type() != cty.Number {
		p.add(wrongType(it.at, what, "a whole number", it.value))
		return Integer{}, false
	}
	n, ok := integerOf(it.value)
	if !ok {
		p.add(notWhole(it.at, what))
		return Integer{}, false
	}
	return Integer{n, it.at}, true
}

// pieces takes a string apart at its holes.
func (p *parser) pieces(it item, what string) ([]piece, bool) {
	if it.value.IsNull() || it.value.Type() != cty.String {
		p.add(wrongType(it.at, what, "a string", it.value))
		return nil, false
	}
	pieces, ok := piecesOf(it.value)
	if !ok {
		p.add(slotChanged(it.at))
	}
	return pieces, ok
}

// text is a string that may hold slots, and fields where fields says so.
func (p *parser) text(it item, what string, fields bool) (Text, bool) {
	pieces, ok := p.pieces(it, what)
	if !ok {
		return Text{}, false
	}
	return p.parts(pieces, it.at, what, fields)
}

// parts ends the holes: from here on they are parts of their own.
func (p *parser) parts(pieces []piece, r diag.Range, what string, fields bool) (Text, bool) {
	t := Text{Range: r}
	for _, piece := range pieces {
		field, isField := Field{}, false
		if piece.hole {
			field, isField = p.fieldOf(piece.text)
		}
		switch {
		case !piece.hole && len(t.Parts) > 0 && t.Parts[len(t.Parts)-1].Kind == LiteralPart:
			t.Parts[len(t.Parts)-1].Text += piece.text
		case !piece.hole:
			t.Parts = append(t.Parts, Part{LiteralPart, piece.text})
		case modifierHole(piece.text):
			p.add(modifierMisplaced(r, strings.TrimPrefix(piece.text, "/")))
			return Text{}, false
		case isField && !fields:
			p.add(fieldMisplaced(r, field, what))
			return Text{}, false
		case isField:
			t.Parts = append(t.Parts, Part{FieldPart, field.Name})
		default:
			t.Parts = append(t.Parts, Part{SlotPart, piece.text})
		}
	}
	return t, true
}

// paths is an attribute that is a list of paths.
func (b *block) paths(name string) []Path {
	items := b.items(name, inPaths)
	if items == nil {
		return nil
	}
	out := []Path{}
	for _, it := range items {
		if path, ok := b.p.path(it, "an element of "+name); ok {
			out = append(out, path)
		}
	}
	return out
}

// path is an element of a list of paths, its modifier taken off.
func (p *parser) path(it item, what string) (Path, bool) {
	pieces, ok := p.pieces(it, what)
	if !ok {
		return Path{}, false
	}
	path := Path{}
	if n := len(pieces); n >= 2 && pieces[0].hole && pieces[n-1].hole && pieces[n-1].text == "/"+pieces[0].text {
		switch pieces[0].text {
		case optionalOpen:
			path.Modifier = Optional
		case onlyOpen:
			path.Modifier = Only
		}
		pieces = pieces[1 : n-1]
	}
	path.Text, ok = p.parts(pieces, it.at, what, false)
	return path, ok
}

func slotChanged(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-in-function",
		At:      r,
		Message: "a slot or a form was cut, changed or compared on the way here",
		Help:    "write slots and forms whole, as in ${workspace}/x",
	}
}

func holeMisplaced(r diag.Range, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-misplaced",
		At:      r,
		Message: what + " holds a slot or a form, whose value is known only when the command runs",
		Help:    "write it out; slots stand in paths, environment values and arguments",
	}
}

func modifierMisplaced(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "modifier-misplaced",
		At:      r,
		Message: fmt.Sprintf("%s(…) does not wrap a whole element of a list of paths here", name),
		Help:    fmt.Sprintf("write %s(\"/the/whole/path\") as an element of read, write, deny, execute or executables", name),
	}
}

func fieldMisplaced(r diag.Range, f Field, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "field-misplaced",
		At:      r,
		Message: fmt.Sprintf("%s holds %s(%q), which a caller fills in", what, f.Form, f.Name),
		Help:    "argument forms stand in the arguments of a command, and nowhere else",
	}
}

func unknownValue(s String, name string, words []string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "unknown-value",
		At:      s.Range,
		Message: fmt.Sprintf("%s cannot be %s", name, quoted(s.Value)),
		Help:    "write " + oneOf(words),
	}
	if n := nearest(s.Value, words); n != "" {
		d.Help = fmt.Sprintf("write %q", n)
	}
	return d
}

// notOneOf reports a value of another type where one of a few words stands.
func notOneOf(it item, name string, words []string) diag.Diagnostic {
	d := wrongType(it.at, name, "a string", it.value)
	d.Help = "write " + oneOf(words)
	return d
}

// oneOf is a choice of strings as they are written.
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, " or ")
}

func missingAttribute(r diag.Range, kind, name, help string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "missing-attribute",
		At:      r,
		Message: fmt.Sprintf("%s has no %s", article(kind), name),
		Help:    help,
	}
}

func tooManyRules(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-rules",
		At:      r,
		Message: fmt.Sprintf("the lists of the configuration have more than %d elements", maxElements),
		Help:    "name directories instead of the files in them",
	}
}
