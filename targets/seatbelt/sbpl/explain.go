package sbpl

import (
	"fmt"
	"strings"
)

// Explain is the answer in words, a line each: the decision, what decided, the
// operations whose rules were asked, and for an undecided answer what is missing and
// which rules might decide.
func (a Answer) Explain() string {
	var b strings.Builder
	fmt.Fprintln(&b, a.Decision)
	switch {
	case a.Decision == Undecided:
		fmt.Fprintf(&b, "  it depends on: %s\n", strings.Join(a.Unknown, ", "))
		for _, r := range a.Candidates {
			fmt.Fprintf(&b, "  perhaps %s\n", r.Describe())
		}
	case a.Rule != nil:
		fmt.Fprintf(&b, "  by %s\n", a.Rule.Describe())
	default:
		fmt.Fprintf(&b, "  by no rule: %s\n", a.BuiltIn)
	}
	fmt.Fprintf(&b, "  asked: %s\n", strings.Join(a.Path, " → "))
	return b.String()
}

// longestRule is how much of a rule Describe shows, in bytes.
const longestRule = 160

// Describe is the rule and where it stands.
func (r *Rule) Describe() string {
	text := r.String()
	if len(text) > longestRule {
		text = strings.ToValidUTF8(text[:longestRule], "") + "…)"
	}
	if r.Standard {
		return text + " of macOS itself"
	}
	return text + " at " + r.At.String()
}
