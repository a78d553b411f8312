package ir

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/obspc/obspc/lang/diag"
)

// Wildcards are the signs of a pattern (glob(7)), which no path of a policy holds.
const Wildcards = "*?[{"

// proc is the sandbox's own, whatever a policy says.
var procDirectory = MustPath("/proc")

// Unstatable is why no policy can state the path, "" when one can: requests are about
// paths of machines, which may have names that the language refuses.
func (p Path) Unstatable() string {
	switch {
	case strings.ContainsAny(p.rel, Wildcards):
		return fmt.Sprintf("paths have no wildcards, and %q looks like one", p)
	case strings.ContainsFunc(p.rel, diag.Hidden):
		return fmt.Sprintf("%q holds a character that no reader sees, and no policy does", p)
	case !norm.NFC.IsNormalString(p.rel):
		return fmt.Sprintf("%q is not in Unicode normal form C, and strings of a policy are", p)
	case procDirectory.Covers(p):
		return fmt.Sprintf("%s lies in /proc, which is the sandbox's own, whatever a policy says", p)
	case p.root == Tmp && p.rel != "":
		return "the tmp slot is empty when a run starts, and is written as a whole or not at all"
	}
	return ""
}
