package expect

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/obspc/obspc/lang/diag"
)

// TextOptions say how much of a report people want.
type TextOptions struct {
	Verbose bool // passed expectations too
	Cover   bool // statements that no test touches
}

// WriteText writes the report for people, in the manner of go test: a line for
// each test, failed expectations below it, and a last line that sums up.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	var b strings.Builder
	given := map[string]bool{}
	for _, c := range r.Tests {
		c.text(&b, o, given)
	}
	for _, u := range r.Unasked {
		fmt.Fprintf(&b, "note: %s was not asked about policy %s: %s\n", u.Target, u.Policy, u.Why)
	}
	if o.Cover {
		for _, c := range r.Coverage {
			c.text(&b)
		}
	}
	r.Sum().text(&b)
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// visible is text as it may go to a terminal: characters that would move the
// cursor or turn the direction of the text are spelt out.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is text of a policy or a tool within a line of ours.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// text is one test. Given are the reasons why something was not tried, by policy:
// each is told once, and then counted.
func (c Case) text(b *strings.Builder, o TextOptions, given map[string]bool) {
	word := "PASS"
	if c.Failed() {
		word = "FAIL"
	}
	fmt.Fprintf(b, "--- %s: %s (policy %s, %s)\n", word, c.Name, c.Policy, plural(len(c.Outcomes), "expectation"))
	again := 0
	for _, out := range c.Outcomes {
		if out.Failed() || o.Verbose {
			out.text(b)
			continue
		}
		if out.Live == nil || out.Live.Status != Skipped {
			continue
		}
		why := c.Policy + ": " + oneLine(out.Live.Why)
		if given[why] {
			again++
			continue
		}
		given[why] = true
		fmt.Fprintf(b, "    %s: SKIP live: %s: %s\n", place(out.At), out.Request, oneLine(out.Live.Why))
	}
	if again > 0 {
		fmt.Fprintf(b, "    SKIP live: %d more, for reasons that stand above; --verbose lists them\n", again)
	}
}

// text is one expectation: what was asked, what was answered and by which
// statement. Of one that failed, why, and every target's answer.
func (o Outcome) text(b *strings.Builder) {
	if !o.Failed() {
		by := o.Because
		if o.Rule != nil {
			by = fmt.Sprintf("%s at %s", o.Rule.Text, o.Rule.place())
		}
		fmt.Fprintf(b, "    %s: PASS: %s: %s, %s\n", place(o.At), o.Request, word(o.Allow), by)
		for _, a := range o.Targets {
			if a.Status == Waived {
				fmt.Fprintf(b, "        %-8s %s, by %s: %s\n", a.Target, word(a.Allow), a.Layer, oneLine(a.Why))
			}
		}
		o.liveText(b)
		return
	}
	fmt.Fprintf(b, "    %s: FAIL: %s: %s\n", place(o.At), o.Request, o.message())
	fmt.Fprintf(b, "        because  %s\n", o.Because)
	if o.Rule != nil {
		fmt.Fprintf(b, "        rule     %s\n        at       %s (%s)\n", o.Rule.Text, o.Rule.place(), o.Rule.Statement)
	}
	if len(o.Depends) > 0 {
		fmt.Fprintf(b, "        depends  on where %s; a bind block says where\n", strings.Join(o.Depends, " and ")+lie(len(o.Depends)))
	}
	for _, a := range o.Targets {
		fmt.Fprintf(b, "        %-8s %s, by %s\n", a.Target, word(a.Allow), a.Layer)
		if a.Why != "" {
			fmt.Fprintf(b, "                 %s\n", oneLine(a.Why))
		}
	}
	o.liveText(b)
}

// lie is the verb for so many slots.
func lie(n int) string {
	if n == 1 {
		return " lies"
	}
	return " lie"
}

func (o Outcome) liveText(b *strings.Builder) {
	if o.Live != nil {
		fmt.Fprintf(b, "        live     %s: %s\n", o.Live.Status, oneLine(o.Live.Why))
	}
}

func (c Coverage) text(b *strings.Builder) {
	fmt.Fprintf(b, "coverage of %s: %d of %s", c.Policy, c.Touched(), plural(len(c.Statements), "statement"))
	for _, e := range c.Embedded {
		fmt.Fprintf(b, "; %d of %d in %s", e.Touched, e.Statements, e.File)
	}
	b.WriteString("\n")
	if c.Tests == 0 {
		b.WriteString("    no test asks this policy\n")
		return
	}
	for _, s := range c.Statements {
		if s.Decides+s.Covers == 0 {
			fmt.Fprintf(b, "    %s: no test touches %s (%s)\n", place(s.At), s.Text, s.Statement)
		}
	}
}

func (s Sum) text(b *strings.Builder) {
	if s.Tried+s.Untried > 0 {
		fmt.Fprintf(b, "live: %d tried, %d failed, %d not tried\n", s.Tried, s.LiveFailed, s.Untried)
	}
	if s.Waived > 0 {
		fmt.Fprintf(b, "waived: %s of targets\n", plural(s.Waived, "answer"))
	}
	if s.FailedTests > 0 {
		fmt.Fprintf(b, "FAIL: %d of %s, %d of %s\n", s.FailedTests, plural(s.Tests, "test"), s.Failed, plural(s.Expectations, "expectation"))
		return
	}
	fmt.Fprintf(b, "PASS: %s, %s\n", plural(s.Tests, "test"), plural(s.Expectations, "expectation"))
}

// place is a range as file:line:column, "built in" for none.
func place(r diag.Range) string {
	if r.IsZero() {
		return "built in"
	}
	return r.String()
}

func (r Rule) place() string { return place(r.At) }

func word(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
