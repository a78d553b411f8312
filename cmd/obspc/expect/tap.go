package expect

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// WriteTAP writes the report by the Test Anything Protocol, version 14
// (testanything.org), which readers of version 13 understand as well: a point for
// each expectation, and one more for each that was to be tried against the kernel.
func (r *Report) WriteTAP(w io.Writer) error {
	var all []point
	for _, c := range r.Tests {
		all = append(all, c.points()...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "TAP version 14\n1..%d\n", len(all))
	for i, p := range all {
		p.tap(&b, i+1)
	}
	for _, u := range r.Unasked {
		fmt.Fprintf(&b, "# %s was not asked about policy %s: %s\n", u.Target, u.Policy, u.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p point) tap(b *strings.Builder, n int) {
	ok := "ok"
	if p.status == Failed {
		ok = "not ok"
	}
	fmt.Fprintf(b, "%s %d - %s", ok, n, tapText(p.test+": "+p.name))
	if p.status == Skipped {
		fmt.Fprintf(b, " # SKIP %s", tapText(p.message))
	}
	b.WriteString("\n")
	if p.status == Failed {
		fmt.Fprintf(b, "  ---\n  message: %s\n  policy: %s\n  at:\n    file: %s\n    line: %d\n    column: %d\n  ...\n",
			yamlText(p.message), yamlText(p.policy), yamlText(p.at.File), p.at.Start.Line, p.at.Start.Column)
	}
}

// tapText is text as a description: what would begin a directive is escaped.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(s)
}

// yamlText is a string in YAML's double quotes, whose escapes include JSON's
// (YAML 1.2.2, section 5.7).
func yamlText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		diag.Bug("%q has no JSON: %v", s, err)
	}
	return string(text)
}
