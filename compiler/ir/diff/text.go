package diff

import (
	"fmt"
	"strings"
	"unicode"
)

// mostExcept is how many exceptions people are shown of one change; JSON has all.
const mostExcept = 8

// signs mark a change by its effect.
var signs = map[Effect]string{Widened: "+", Narrowed: "-", Mixed: "~"}

// plain is text for people with everything that cannot be seen made visible: a
// name may hold what turns the direction of text.
func plain(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }

// Headline is the whole report in one line.
func (r Report) Headline() string {
	verdict := r.Verdict()
	if verdict == Same {
		switch n := len(r.Artifacts); n {
		case 0:
			return "same meaning"
		case 1:
			return "same meaning, 1 artifact differs"
		default:
			return fmt.Sprintf("same meaning, %d artifacts differ", n)
		}
	}
	changed := 0
	for _, c := range r.Policies {
		if len(c.Changes) > 0 {
			changed++
		}
	}
	return fmt.Sprintf("%s: %d of %s changed", verdict, changed, counted(len(r.Policies), "policy", "policies"))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Headline())
	for _, c := range r.Policies {
		fmt.Fprintf(&b, "\npolicy %s: %s%s\n", c.Policy, c.Verdict(), c.versions())
		for _, change := range c.Changes {
			r.changeText(&b, c, change)
		}
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "  note: %s\n", plain(note))
		}
		if n := c.widenings(); n > 1 {
			fmt.Fprintf(&b, "  digest of all %d that widen: %s\n", n, c.Digest())
		}
	}
	r.reviewText(&b)
	for _, a := range r.Artifacts {
		fmt.Fprintf(&b, "\nartifact %s differs\n", plain(a.Name))
		for line := range strings.Lines(a.Diff) {
			fmt.Fprintf(&b, "  %s\n", plain(strings.TrimSuffix(line, "\n")))
		}
	}
	return b.String()
}

// widenings counts the changes that widen.
func (c Comparison) widenings() int {
	n := 0
	for _, change := range c.Changes {
		if change.Effect().Widens() {
			n++
		}
	}
	return n
}

// versions tells both versions, where both are there and differ.
func (c Comparison) versions() string {
	if c.OldVersion == 0 || c.NewVersion == 0 || c.OldVersion == c.NewVersion {
		return ""
	}
	return fmt.Sprintf(" (version %d, was %d)", c.NewVersion, c.OldVersion)
}

func (r Report) changeText(b *strings.Builder, policy Comparison, c Change) {
	fmt.Fprintf(b, "  %s %s\n", signs[c.Effect()], plain(c.title()))
	line := func(word, text string) { fmt.Fprintf(b, "      %-8s %s\n", word, plain(text)) }
	if len(c.Except) > 0 {
		line("except", listed(c.Except, mostExcept))
	}
	for _, w := range c.shown() {
		line("witness", w)
	}
	line("was", c.Old.text())
	line("now", c.New.text())
	for _, part := range c.Parts {
		line(signs[part.Effect()], part.title()+": "+part.witnessText())
	}
	if a, ok := r.approval(policy, c); ok {
		line("approved", fmt.Sprintf("until %s: %s", a.Until, a.Reason))
	} else if c.Effect().Widens() {
		line("digest", c.Digest(policy.Policy))
	}
}

// title says which words of what changed, and how.
func (c Change) title() string {
	if len(c.Words) == 0 {
		return string(c.Kind) + ": " + c.Subject
	}
	return string(c.Kind) + ": " + strings.Join(c.grants(mostTops), "; ")
}

// grants are the words of the change with the places where each is granted, at most
// so many of them. One that is about no files says its words of all it is about.
func (c Change) grants(most int) []string {
	if len(c.spans) == 0 {
		words := make([]string, len(c.Words))
		for i, w := range c.Words {
			words[i] = string(w)
		}
		return []string{strings.Join(words, ", ") + " " + c.Subject}
	}
	at := map[*node][2]words{}
	var nodes []*node
	for _, s := range c.spans {
		have, known := at[s.node]
		if !known {
			nodes = append(nodes, s.node)
		}
		for depth, meant := range s.depth {
			if meant {
				have[depth] |= s.words
			}
		}
		at[s.node] = have
	}
	shared := map[words][]string{}
	var order []words
	for _, n := range nodes {
		for _, s := range spans(n, at[n][itself], at[n][beneath]) {
			if shared[s.words] == nil {
				order = append(order, s.words)
			}
			shared[s.words] = append(shared[s.words], s.place)
		}
	}
	out := make([]string, len(order))
	for i, w := range order {
		out[i] = w.String() + " " + listed(shared[w], most)
	}
	return out
}

// shown is the telling witness, and those that another binding brings about.
func (c Change) shown() []string {
	out := []string{c.witnessText()}
	for i, w := range c.Witnesses[1:] {
		if w.Binding != c.Witnesses[i].Binding {
			out = append(out, w.String())
		}
	}
	return out
}

// witnessText is the telling witness.
func (c Change) witnessText() string { return c.Witnesses[0].String() }

// text is the statement with its origin.
func (s *Statement) text() string {
	switch {
	case s == nil:
		return "no rule"
	case s.Origin == "":
		return s.Text
	}
	return fmt.Sprintf("%s (%s)", s.Text, s.Origin)
}

func (r Report) reviewText(b *strings.Builder) {
	for _, line := range r.faults() {
		fmt.Fprintf(b, "\n%s\n", plain(line))
	}
}

// faults are what is wrong with the approvals, a line each.
func (r Report) faults() []string {
	if r.Review == nil {
		return nil
	}
	var out []string
	for _, a := range r.Review.Expired {
		out = append(out, fmt.Sprintf("approval in line %d expired on %s: %s", a.Line, a.Until, a.Digest))
	}
	for _, a := range r.Review.Unmatched {
		out = append(out, fmt.Sprintf("approval in line %d matches no widening: %s", a.Line, a.Digest))
	}
	return out
}
