package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A slot, optional(…), only(…) and an argument form are strings with a hole, NUL
// name NUL, and a cty mark of the same name while expressions are evaluated, so
// that templates, locals and join carry them along. A NUL of the user's own is
// refused before evaluation, so a hole cannot be forged; a string whose marks
// and holes differ was cut, changed or compared.
const nul = "\x00"

// hole is the mark.
type hole string

// Names of holes other than slots. A modifier has an opening and a closing hole,
// so that text glued to either end shows.
const (
	optionalOpen, optionalClose = "optional", "/optional"
	onlyOpen, onlyClose         = "only", "/only"
	formPrefix                  = "form " // and the number of the call
)

var slotNames = []string{"workspace", "home", "tmp"}

// slotValues are the slots as names in expressions.
var slotValues = func() map[string]cty.Value {
	m := map[string]cty.Value{}
	for _, s := range slotNames {
		m[s] = holeValue(s)
	}
	return m
}()

func holeValue(name string) cty.Value { return cty.StringVal(nul + name + nul).Mark(hole(name)) }

// enclose puts v, a string, between the holes open and close.
func enclose(v cty.Value, open, close string) cty.Value {
	s, marks := v.Unmark()
	return cty.StringVal(nul + open + nul + s.AsString() + nul + close + nul).
		WithMarks(marks).Mark(hole(open)).Mark(hole(close))
}

// piece is a stretch of literal text, or the name of a hole.
type piece struct {
	hole bool
	text string
}

// piecesOf takes a string value apart; ok is false when its marks and its holes
// differ.
func piecesOf(v cty.Value) (pieces []piece, ok bool) {
	v, marks := v.Unmark()
	s := v.AsString()
	seen := map[hole]bool{}
	for i, text := range strings.Split(s, nul) {
		if i%2 == 1 {
			if _, marked := marks[hole(text)]; !marked {
				return nil, false
			}
			seen[hole(text)] = true
		} else if text == "" {
			continue
		}
		pieces = append(pieces, piece{hole: i%2 == 1, text: text})
	}
	return pieces, len(seen) == len(marks) && strings.Count(s, nul)%2 == 0
}

// literal is the value of a quoted string without holes or interpolation, for
// which no evaluation is needed.
func literal(e hclsyntax.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return "", false
	}
	v, _ := t.Value(nil)
	return v.AsString(), true
}
