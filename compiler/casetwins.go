package compiler

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// caseTwins reports paths that differ by case alone where macOS is a target: its
// usual volumes take both for one file.
func caseTwins(c *compilation) {
	for _, d := range c.drafts {
		if !has(d.body.targets, ir.Seatbelt) {
			continue
		}
		first := map[string]*statement{}
		for _, s := range placesInReadingOrder(d) {
			k := s.key.path.Root().String() + "\x00" + fold(s.key.path.Rel())
			switch twin := first[k]; {
			case twin == nil:
				first[k] = s
			case twin.key.path != s.key.path:
				c.find(d.body, pathCaseTwins(twin, s))
			}
		}
	}
}

// placesInReadingOrder are the statements about paths, inherited ones first, so
// that a finding stands in the policy's own text where it can.
func placesInReadingOrder(d *draft) []*statement {
	var inherited, own []*statement
	for _, s := range d.merged {
		switch {
		case s.key.kind != fileKind && s.key.kind != executeKind:
		case s.body == d.body:
			own = append(own, s)
		default:
			inherited = append(inherited, s)
		}
	}
	return slices.Concat(inReadingOrder(inherited), inReadingOrder(own))
}

// fold maps texts that differ by case alone to one text (Unicode simple case
// folding: each character becomes the least of its orbit).
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			if 'a' <= r && r <= 'z' {
				r -= 'a' - 'A'
			}
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}

// pathCaseTwins reports two rules that name one file on a volume that does not
// tell case apart.
func pathCaseTwins(first, second *statement) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "path-case-twins",
		At:      second.at,
		Message: fmt.Sprintf("%s and %s differ by case alone, and seatbelt is a target: macOS may take them for one file", first.key.path, second.key.path),
		Help:    `keep one of the two, or leave "seatbelt" out of targets`,
		Related: []diag.Related{{At: first.at, Message: first.key.path.String() + " is stated here"}},
	}
}
