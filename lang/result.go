package lang

import (
	"github.com/obspc/obspc/lang/diag"
)

// result reads the schema of what a command prints.
func (b *block) result(c *Command) {
	r := b.single("result")
	if r == nil {
		return
	}
	r.checkName(identifierName.MatchString, identifierHelp)
	c.Result = &Result{Name: r.name, Range: r.header}
	taken := b.p.names()
	for _, hb := range r.blocks {
		f := b.p.open(hb)
		f.checkName(fieldName.MatchString, "use letters, digits, _ and -, at most 63, beginning with a letter or _")
		taken.take("field", f.name)
		c.Result.Fields = append(c.Result.Fields, f.resultField())
	}
}

func (b *block) resultField() ResultField {
	f := ResultField{
		Kind:  String{b.kind, diag.Range{File: b.header.File, Start: b.header.Start, End: b.header.Start}},
		Name:  b.name,
		Range: b.header,
	}
	f.Kind.Range.End.Column += len(b.kind)
	f.Kind.Range.End.Byte += len(b.kind)
	f.Minimum, f.Maximum = b.bound("minimum"), b.bound("maximum")
	if f.Minimum != nil && f.Maximum != nil && f.Minimum.Value > f.Maximum.Value {
		b.p.add(integerRange(f.Maximum.Range, f.Minimum.Value, f.Maximum.Value))
	}
	f.MaxBytes = b.bound("max_bytes")
	if n := f.MaxBytes; n != nil && (n.Value < 1 || n.Value > maxIdentifierBytes) {
		b.p.add(identifierLength(n.Range))
		f.MaxBytes = nil
	}
	if b.kind == "enum" {
		f.Values = b.enumValues()
	}
	return f
}

func (b *block) bound(name string) *Integer {
	n, ok := b.integer(name)
	if !ok {
		return nil
	}
	return &n
}

func (b *block) enumValues() []String {
	if b.attrs["values"] == nil {
		b.p.add(missingAttribute(b.header, "enum", "values", `list them, as in values = ["ok", "failed"]`))
		return nil
	}
	values := b.strs("values")
	if e := b.attrs["values"].Expr; values != nil && len(values) == 0 && !holdsElements(e) {
		b.p.add(enumEmpty(at(e.Range())))
	}
	taken := b.p.names()
	for _, v := range values {
		taken.take("value", v)
	}
	return values
}

func enumEmpty(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "enum-empty",
		At:      r,
		Message: "an enum admits no value",
		Help:    `list them, as in values = ["ok", "failed"]`,
	}
}
