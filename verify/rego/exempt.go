package rego

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obspc/obspc/compiler/ir/diff"
)

// Exemption lets one policy off one rule: up to the end of a day in UTC, for a
// reason. Line is where it stands, from 1.
type Exemption struct {
	Code   string
	Policy string
	Until  diff.Date
	Reason string
	Line   int
}

// String names the exemption for people.
func (e Exemption) String() string {
	return fmt.Sprintf("%s:%d: %s of policy %s until %s (%s)", ExemptionsName, e.Line, e.Code, e.Policy, e.Until, e.Reason)
}

// Exempt marks the findings of all sets that an exemption of one of them is about,
// as of a day in UTC: so a house lets its policies off rules that it did not write.
// What it returns are the exemptions of no use: expired ones, and of the policies
// asked about those that match no finding. They fail a check, so that the file
// cannot rot.
func Exempt(sets []*Rules, findings []Finding, policies []string, today diff.Date) (useless []string) {
	var all []*Exemption
	for _, r := range sets {
		for i := range r.exemptions {
			all = append(all, &r.exemptions[i])
		}
	}
	used := map[*Exemption]bool{}
	for i := range findings {
		f := &findings[i]
		for _, e := range all {
			if e.Code == f.Code && e.Policy == f.Policy && !e.Until.Before(today) {
				f.Exempt, used[e] = e, true
			}
		}
	}
	asked := map[string]bool{}
	for _, p := range policies {
		asked[p] = true
	}
	for _, e := range all {
		switch {
		case e.Until.Before(today):
			useless = append(useless, e.String()+": its last day is over; mend the policy or write a new day")
		case asked[e.Policy] && !used[e]:
			useless = append(useless, e.String()+": the rule finds nothing there; remove the line")
		}
	}
	return useless
}

// parseExemptions reads exemptions, one a line: code, policy, last day and reason,
// with one space between them. Empty lines and lines that begin with "#" say
// nothing.
func parseExemptions(data []byte) ([]Exemption, error) {
	var out []Exemption
	first := map[string]int{}
	line := 0
	for text := range strings.SplitSeq(string(data), "\n") {
		line++
		if text == "" || text[0] == '#' {
			continue
		}
		e, err := parseExemption(text)
		key := e.Code + " " + e.Policy
		if at := first[key]; err == nil && at > 0 {
			err = fmt.Errorf("the policy is exempt in line %d already", at)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", ExemptionsName, line, err)
		}
		e.Line, first[key] = line, line
		out = append(out, e)
	}
	return out, nil
}

func parseExemption(text string) (e Exemption, err error) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return e, errors.New("the line holds what is no text")
	}
	words := strings.SplitN(text, " ", 4)
	if len(words) < 4 || words[3] != strings.TrimSpace(words[3]) || words[3] == "" {
		return e, errors.New("want a code, a policy, a last day and a reason, with one space between them")
	}
	e.Code, e.Policy, e.Reason = words[0], words[1], words[3]
	if !codeForm.MatchString(e.Code) {
		return e, fmt.Errorf("%q is no code of a rule", e.Code)
	}
	e.Until, err = diff.ParseDate(words[2])
	return e, err
}
