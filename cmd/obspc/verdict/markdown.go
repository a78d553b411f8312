package verdict

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/verify"
)

// Markdown is the report as a comment on a pull request: the verdict and what it
// rests on, each check, the findings, then More. What comes from outside stands in
// code spans, where it mentions nobody and is no markup. It has at most MaxMarkdown
// bytes.
func (s Subject) Markdown() []byte {
	r := s.Report
	var b strings.Builder
	mark := map[bool]string{true: "✅", false: "❌"}[r.Verified()]
	fmt.Fprintf(&b, "### %s obspc: %s\n\n", mark, (verdictLine(r)))
	if r.Product != "" {
		fmt.Fprintf(&b, "Release %s, serial %d, `SHA256SUMS` `%s`\n\n", code(r.Product), r.Serial, r.Digest)
	}
	b.WriteString("| check | outcome |\n|---|---|\n")
	for _, c := range r.Checks {
		outcome := c.Outcome.String()
		if n := len(c.Failures) + c.More; n > 0 {
			outcome = fmt.Sprintf("**%s** (%d)", outcome, n)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", c.Check, outcome)
	}
	for _, c := range r.Checks {
		for _, f := range c.Failures {
			file, line, _ := s.location(f)
			place := file
			if line > 0 {
				place = fmt.Sprintf("%s:%d", file, line)
			}
			fmt.Fprintf(&b, "\n- **%s** %s: %s", c.Check, code(place), code(text(f)))
		}
		if c.More > 0 {
			fmt.Fprintf(&b, "\n- **%s**: and %d more", c.Check, c.More)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n- warning: %s", code(w))
	}
	b.WriteString("\n")
	if s.More != "" {
		b.WriteString("\n" + s.More)
	}
	return bounded(b.String(), MaxMarkdown)
}

// verdictLine is the verdict without its first failure, which stands below.
func verdictLine(r *verify.Report) string {
	line, _, _ := strings.Cut(r.Verdict(), "; first: ")
	return line
}

// code is text in a code span that holds it whatever it contains.
func code(s string) string {
	s = verify.Plain(s)
	fence, pad := "`", ""
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return fence + pad + s + pad + fence
}
