package lang

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// Bytes of an identifier: what it may have unless said, and at most.
const (
	defaultIdentifierBytes = 128
	maxIdentifierBytes     = 4096
)

// fieldName is what the fields of commands and results may be called.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

// modifier is optional(path) or only(path).
func modifier(open, close string) func(*call, []cty.Value) (cty.Value, *diag.Diagnostic) {
	return func(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
		pieces, ok := piecesOf(args[0])
		if !ok {
			d := slotInFunction(at(c.Range()), c.Name)
			return cty.NilVal, &d
		}
		for _, p := range pieces {
			if p.hole && modifierHole(p.text) {
				d := modifierNested(at(c.Range()), c.Name)
				return cty.NilVal, &d
			}
		}
		return enclose(args[0], open, close), nil
	}
}

func modifierHole(name string) bool {
	return name == optionalOpen || name == optionalClose || name == onlyOpen || name == onlyClose
}

func identifierForm(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	f := Field{Form: IdentifierForm, MaxBytes: defaultIdentifierBytes}
	if len(args) == 2 {
		n, ok := integerOf(args[1])
		if !ok || n < 1 || n > maxIdentifierBytes {
			d := identifierLength(c.argument(1))
			return cty.NilVal, &d
		}
		f.MaxBytes = n
	}
	return c.form(f, args[0])
}

func integerForm(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	f := Field{Form: IntegerForm}
	for i, bound := range []*int64{&f.Min, &f.Max} {
		n, ok := integerOf(args[i+1])
		if !ok {
			d := notWhole(c.argument(i+1), "a bound of integer")
			return cty.NilVal, &d
		}
		*bound = n
	}
	if f.Min > f.Max {
		d := integerRange(at(c.Range()), f.Min, f.Max)
		return cty.NilVal, &d
	}
	return c.form(f, args[0])
}

func restForm(c *call, args []cty.Value) (cty.Value, *diag.Diagnostic) {
	return c.form(Field{Form: RestForm}, args[0])
}

// form is a hole for f. The same call makes the same hole, however often it is
// evaluated; another call makes another, even with the same arguments.
func (c *call) form(f Field, name cty.Value) (cty.Value, *diag.Diagnostic) {
	f.Name, f.Range = name.AsString(), at(c.Range())
	if !fieldName.MatchString(f.Name) {
		d := fieldMalformed(c.argument(0), f.Name)
		return cty.NilVal, &d
	}
	n, ok := c.p.formIndex[f]
	if !ok {
		n = len(c.p.forms)
		c.p.forms = append(c.p.forms, f)
		c.p.formIndex[f] = n
	}
	return holeValue(formPrefix + strconv.Itoa(n)), nil
}

// fieldOf is the field that a hole stands for.
func (p *parser) fieldOf(hole string) (Field, bool) {
	digits, ok := strings.CutPrefix(hole, formPrefix)
	if !ok {
		return Field{}, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n >= len(p.forms) {
		diag.Bug("no form for the hole %q", hole)
	}
	return p.forms[n], true
}

// integerOf is v as a whole number of 64 bits.
func integerOf(v cty.Value) (int64, bool) {
	v, _ = v.Unmark()
	if v.IsNull() || v.Type() != cty.Number {
		return 0, false
	}
	f := v.AsBigFloat()
	n, accuracy := f.Int64()
	return n, f.IsInt() && accuracy == 0
}

func modifierNested(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "modifier-nested",
		At:      r,
		Message: fmt.Sprintf("%s wraps a path that is wrapped already", name),
		Help:    "use one of optional and only",
	}
}

func identifierLength(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "identifier-length",
		At:      r,
		Message: "the length of an identifier is out of range",
		Help:    fmt.Sprintf("write a whole number of bytes from 1 to %d", maxIdentifierBytes),
	}
}

func integerRange(r diag.Range, low, high int64) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "integer-range",
		At:      r,
		Message: fmt.Sprintf("no number is at least %d and at most %d", low, high),
		Help:    "write the smaller bound first",
	}
}

func fieldMalformed(r diag.Range, name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "name-malformed",
		At:      r,
		Message: fmt.Sprintf("a field cannot be called %s", quoted(name)),
		Help:    "use letters, digits, _ and -, at most 63, beginning with a letter or _",
	}
}

func notWhole(r diag.Range, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "wrong-type",
		At:      r,
		Message: what + " is not a whole number, or one too large",
		Help:    fmt.Sprintf("write digits without a fraction, at most %d", int64(math.MaxInt64)),
	}
}
