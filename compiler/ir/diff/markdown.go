package diff

import (
	"fmt"
	"strings"
)

// Markdown is the report as a comment on a pull request (GitHub flavoured
// Markdown, version 0.29): a table for each policy that changed, the textual
// differences of artifacts folded below.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Policy meaning: %s\n", r.Headline())
	var same []string
	for _, c := range r.Policies {
		if len(c.Changes)+len(c.Notes) == 0 {
			same = append(same, code(c.Policy))
			continue
		}
		fmt.Fprintf(&b, "\n### %s: %s%s\n", code(c.Policy), c.Verdict(), c.versions())
		r.tables(&b, c)
		for i, note := range c.Notes {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "- %s\n", escaped(note))
		}
		if n := c.widenings(); n > 1 {
			fmt.Fprintf(&b, "\nDigest of all %d that widen: %s\n", n, code(c.Digest()))
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(&b, "\nSame: %s\n", strings.Join(same, ", "))
	}
	for _, line := range r.faults() {
		fmt.Fprintf(&b, "\n**%s**\n", escaped(line))
	}
	for _, a := range r.Artifacts {
		if a.Diff == "" {
			fmt.Fprintf(&b, "\nArtifact %s differs.\n", code(a.Name))
			continue
		}
		fence := fenceFor(a.Diff)
		fmt.Fprintf(&b, "\n<details><summary>Artifact %s differs</summary>\n\n%sdiff\n", htmlEscaped(plain(a.Name)), fence)
		for line := range strings.Lines(a.Diff) {
			fmt.Fprintf(&b, "%s\n", plain(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprintf(&b, "%s\n\n</details>\n", fence)
	}
	return b.String()
}

// tables are the changes of a policy, those that need a decision first.
func (r Report) tables(b *strings.Builder, c Comparison) {
	for _, effect := range []Effect{Widened, Mixed, Narrowed} {
		started := false
		for _, change := range c.Changes {
			if change.Effect() != effect {
				continue
			}
			if !started {
				started = true
				name := effect.String()
				fmt.Fprintf(b, "\n| %s | witness | was | now |\n|---|---|---|---|\n", strings.ToUpper(name[:1])+name[1:])
			}
			r.row(b, c, change)
		}
	}
}

func (r Report) row(b *strings.Builder, policy Comparison, c Change) {
	title := cell(c.title())
	if len(c.Except) > 0 {
		title += "<br>except " + cell(listed(c.Except, mostExcept))
	}
	for _, part := range c.Parts {
		title += "<br>" + cell(signs[part.Effect()]+" "+part.title())
	}
	if a, ok := r.approval(policy, c); ok {
		title += fmt.Sprintf("<br>approved until %s: %s", a.Until, cellText(a.Reason))
	} else if c.Effect().Widens() {
		title += "<br>digest " + cell(c.Digest(policy.Policy))
	}
	shown := c.shown()
	for i := range shown {
		shown[i] = cell(shown[i])
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", title, strings.Join(shown, "<br>"), cell(c.Old.text()), cell(c.New.text()))
}

// code is text as a code span: its fence is longer than any run of backticks in
// it.
func code(s string) string {
	s = plain(s)
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	fence, pad := strings.Repeat("`", longest+1), ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s == "" {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// cell is a code span within a table, where a bar ends the cell even inside code.
func cell(s string) string { return strings.ReplaceAll(code(s), "|", `\|`) }

func cellText(s string) string { return strings.ReplaceAll(escaped(s), "|", `\|`) }

// escaped is text without any mark-up of its own. An escaped "@" or "#" would still
// mention somebody or refer to something: what renders these looks at the text that
// comes out, so an invisible word joiner keeps them from what follows.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range noLink.Replace(plain(s)) {
		if strings.ContainsRune("\\`*_[]<>&#~!@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if r == '@' || r == '#' {
			b.WriteRune('\u2060')
		}
	}
	return b.String()
}

// noLink takes apart what would become a link by itself (GitHub flavoured Markdown,
// section 6.9).
var noLink = strings.NewReplacer("://", ":\u2060//", "www.", "www\u2060.")

func htmlEscaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// fenceFor is a fence that the text does not close.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
