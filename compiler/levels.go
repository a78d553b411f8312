package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// levels leaves one statement for each path in a body. A path at two levels is an
// error; the same level twice is one rule that covers what either covers.
func levels(c *compilation) {
	for _, b := range c.bodies {
		var kept []*statement
		first := map[key]*statement{}
		for _, s := range inReadingOrder(b.statements) {
			before, ok := first[s.key]
			if !ok || s.key.kind != fileKind && s.key.kind != executeKind {
				first[s.key] = s
				kept = append(kept, s)
				continue
			}
			if !sameLevel(before, s) {
				c.find(b, pathTwoLevels(before, s))
				continue
			}
			c.find(b, pathTwice(before, s))
			before.value = widest(before.value, s.value)
		}
		b.statements = kept
	}
}

// inReadingOrder is the statements as a reader meets them.
func inReadingOrder(list []*statement) []*statement {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(x, y *statement) int { return earlier(x.at, y.at) })
	return out
}

func earlier(x, y diag.Range) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Start.Byte, y.Start.Byte))
}

func sameLevel(a, b *statement) bool {
	x, ok := a.value.(ir.FileRule)
	y, ok2 := b.value.(ir.FileRule)
	return !ok || !ok2 || x.Level == y.Level
}

// widest covers what either of two statements about one path at one level covers,
// and demands what either demands.
func widest(a, b any) any {
	switch x := a.(type) {
	case ir.FileRule:
		y := b.(ir.FileRule)
		x.Only, x.Optional = x.Only && y.Only, x.Optional && y.Optional
		return x
	case ir.ExecuteRule:
		y := b.(ir.ExecuteRule)
		x.Only, x.Optional = x.Only && y.Only, x.Optional && y.Optional
		return x
	}
	return a
}

// verb is the list a statement about a path stands in.
func verb(s *statement) string {
	if r, ok := s.value.(ir.FileRule); ok {
		return r.Level.String()
	}
	return "execute"
}

// pathTwoLevels reports a path that one body gives two levels.
func pathTwoLevels(first, second *statement) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "path-two-levels",
		At:      second.at,
		Message: fmt.Sprintf("%s is stated as %s and as %s", second.key.path, verb(first), verb(second)),
		Help:    "keep one of the two: write includes read, and deny includes neither",
		Related: []diag.Related{{At: first.at, Message: verb(first) + " is stated here"}},
	}
}

// pathTwice warns of a path stated again.
func pathTwice(first, second *statement) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "path-twice",
		At:       second.at,
		Message:  fmt.Sprintf("%s is stated twice in %s", second.key.path, verb(first)),
		Help:     "keep one of the two",
		Related:  []diag.Related{{At: first.at, Message: "first stated here"}},
	}
}
