package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// mostInteger is the largest whole number that every JSON reader keeps exactly
// (RFC 8785, appendix D). It bounds what a policy may state, and the members of a
// result that states no bounds.
const mostInteger = 1<<53 - 1

// commands types every command block.
func commands(c *compilation) {
	for _, b := range c.bodies {
		for _, cmd := range b.source.Commands {
			c.command(b, cmd)
		}
	}
}

func (c *compilation) command(b *body, cmd *lang.Command) {
	if !c.promised(!cmd.Executable.Range.IsZero(), "a command without executable", cmd.Range) {
		return
	}
	out := ir.Command{Name: cmd.Name.Value, SHA256: cmd.SHA256.Value}
	at, whole := c.program(b, cmd.Executable)
	out.Executable = at
	if s := cmd.SHA256; !s.Range.IsZero() && !isDigest(s.Value) {
		c.find(b, digestMalformed(s))
		whole = false
	}
	for _, n := range bounds(cmd) {
		if n.Value < -mostInteger || n.Value > mostInteger {
			c.find(b, integerTooLarge(n))
			whole = false
		}
	}
	out.Fields = fields(cmd.Fields)
	for _, a := range cmd.Arguments {
		if f, ok := restField(a, out.Fields); ok {
			out.Rest = f
			continue
		}
		out.Arguments = append(out.Arguments, value(a))
	}
	if cmd.Result != nil {
		out.Result = result(cmd.Result)
	}
	if whole {
		b.add(key{kind: commandKind, name: out.Name}, out, "command."+out.Name, cmd.Executable.Range)
	}
}

// bounds are the whole numbers that the command's fields and results state.
func bounds(cmd *lang.Command) []lang.Integer {
	var out []lang.Integer
	for _, f := range cmd.Fields {
		out = append(out, lang.Integer{Value: f.Min, Range: f.Range}, lang.Integer{Value: f.Max, Range: f.Range})
	}
	if cmd.Result == nil {
		return out
	}
	for _, f := range cmd.Result.Fields {
		for _, n := range []*lang.Integer{f.Minimum, f.Maximum} {
			if n != nil {
				out = append(out, *n)
			}
		}
	}
	return out
}

// fields are the fields of all arguments, each once, sorted by name.
func fields(used []lang.Field) []ir.Field {
	var out []ir.Field
	for _, f := range used {
		out = append(out, ir.Field{Name: f.Name, Form: ir.FormKind(f.Form), MaxBytes: f.MaxBytes, Min: f.Min, Max: f.Max})
	}
	slices.SortStableFunc(out, func(x, y ir.Field) int { return cmp.Compare(x.Name, y.Name) })
	return slices.CompactFunc(out, func(x, y ir.Field) bool { return x.Name == y.Name })
}

// restField is the rest field that an argument consists of.
func restField(a lang.Text, fields []ir.Field) (string, bool) {
	if len(a.Parts) != 1 || a.Parts[0].Kind != lang.FieldPart {
		return "", false
	}
	name := a.Parts[0].Text
	return name, slices.ContainsFunc(fields, func(f ir.Field) bool { return f.Name == name && f.Form == ir.RestForm })
}

// result is the schema of what a command prints, its bounds filled in.
func result(r *lang.Result) *ir.Result {
	out := &ir.Result{Name: r.Name.Value}
	for _, f := range r.Fields {
		field := ir.ResultField{Name: f.Name.Value, Kind: ir.ResultKind(f.Kind.Value)}
		switch field.Kind {
		case ir.IntegerResult:
			field.Min, field.Max = stated(f.Minimum, -mostInteger), stated(f.Maximum, mostInteger)
		case ir.IdentifierResult:
			field.MaxBytes = stated(f.MaxBytes, ir.DefaultIdentifierBytes)
		case ir.EnumResult:
			for _, v := range f.Values {
				field.Values = append(field.Values, v.Value)
			}
			slices.Sort(field.Values)
		case ir.BooleanResult:
		default:
			diag.Bug("result field of kind %q at %s", f.Kind.Value, f.Range)
		}
		out.Fields = append(out.Fields, field)
	}
	slices.SortFunc(out.Fields, func(x, y ir.ResultField) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

func stated(n *lang.Integer, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	return n.Value
}

func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// integerTooLarge reports a number that some reader of the release would round.
func integerTooLarge(n lang.Integer) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "integer-range",
		At:      n.Range,
		Message: fmt.Sprintf("%d is further from zero than a number may be", n.Value),
		Help:    fmt.Sprintf("numbers go from %d to %d", -mostInteger, mostInteger),
	}
}

// digestMalformed reports text that no SHA-256 digest is written as.
func digestMalformed(s lang.String) diag.Diagnostic {
	help := "write what sha256sum prints for the executable: 64 hexadecimal digits"
	if isDigest(strings.ToLower(s.Value)) {
		help = fmt.Sprintf("write it in lower case: %q", strings.ToLower(s.Value))
	}
	return diag.Diagnostic{
		Code:    "sha256-malformed",
		At:      s.Range,
		Message: "sha256 is not 64 lower-case hexadecimal digits",
		Help:    help,
	}
}
