package diff

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Approval acknowledges a widening by the digest of its change (Change.Digest), or
// all of a policy's at once (Comparison.Digest), up to the end of a day in UTC, for
// a reason. Line is where it stands, from 1.
type Approval struct {
	Digest string
	Until  Date
	Reason string
	Line   int
}

// Date is a day of the Gregorian calendar.
type Date struct{ Year, Month, Day int }

// String is the date as YYYY-MM-DD (ISO 8601).
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// Before reports whether d is an earlier day.
func (d Date) Before(e Date) bool {
	if d.Year != e.Year {
		return d.Year < e.Year
	}
	if d.Month != e.Month {
		return d.Month < e.Month
	}
	return d.Day < e.Day
}

// ParseDate reads YYYY-MM-DD, a day that the calendar has.
func ParseDate(text string) (Date, error) {
	var d Date
	_, err := fmt.Sscanf(text, "%4d-%2d-%2d", &d.Year, &d.Month, &d.Day)
	if err != nil || d.String() != text || d.Year < 1 || d.Month < 1 || d.Month > 12 || d.Day < 1 || d.Day > daysIn(d.Year, d.Month) {
		return Date{}, fmt.Errorf("%q is no day, written as 2026-12-31", text)
	}
	return d, nil
}

func daysIn(year, month int) int {
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days++
	}
	return days
}

// maxApprovals bounds a file of approvals, in bytes.
const maxApprovals = 1 << 20

// ParseApprovals reads approvals, one a line: the digest, the last day, and the
// reason, with one space between them. Empty lines and lines that begin with "#"
// say nothing. All faults are reported, each with its line.
func ParseApprovals(data []byte) ([]Approval, error) {
	if len(data) > maxApprovals {
		return nil, fmt.Errorf("%d bytes of approvals; at most %d are read", len(data), maxApprovals)
	}
	var out []Approval
	var faults []error
	first := map[string]int{}
	line := 0
	for text := range strings.SplitSeq(string(data), "\n") {
		line++
		if text == "" || text[0] == '#' {
			continue
		}
		a, err := parseApproval(text)
		if at := first[a.Digest]; err == nil && at > 0 {
			err = fmt.Errorf("digest %s is approved in line %d already", a.Digest, at)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", line, err))
			continue
		}
		a.Line, first[a.Digest] = line, line
		out = append(out, a)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return out, nil
}

func parseApproval(text string) (Approval, error) {
	if !utf8.ValidString(text) || plain(text) != text {
		return Approval{}, errors.New("holds a byte that is no text")
	}
	digest, rest, _ := strings.Cut(text, " ")
	day, reason, ok := strings.Cut(rest, " ")
	switch {
	case len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "":
		return Approval{}, fmt.Errorf("%q is no digest of 64 lower-case hex digits", digest)
	case !ok || reason == "":
		return Approval{}, errors.New("wants a digest, a last day and a reason, with one space between them")
	case strings.TrimSpace(reason) != reason:
		return Approval{}, errors.New("has space around the reason")
	}
	until, err := ParseDate(day)
	return Approval{Digest: digest, Until: until, Reason: reason}, err
}

// Review is what approvals say about a report.
type Review struct {
	Approved  map[string]Approval // by digest
	Expired   []Approval          // their day is over, whether they match or not
	Unmatched []Approval          // they match no widening
}

// Digest names all changes of the policy that widen, taken together: one more, or
// one less, and it is another. "" if there are none.
func (c Comparison) Digest() string {
	all := Change{Kind: "policy-widened", Subject: c.Policy}
	for _, change := range c.Changes {
		if change.Effect().Widens() {
			all.Parts = append(all.Parts, change)
		}
	}
	if len(all.Parts) == 0 {
		return ""
	}
	return all.Digest(c.Policy)
}

// Approve holds the report against approvals, as of a day in UTC. Only changes that
// widen are approved.
func (r *Report) Approve(approvals []Approval, today Date) {
	widenings := map[string]bool{}
	for _, c := range r.Policies {
		if all := c.Digest(); all != "" {
			widenings[all] = true
		}
		for _, change := range c.Changes {
			if change.Effect().Widens() {
				widenings[change.Digest(c.Policy)] = true
			}
		}
	}
	out := &Review{Approved: map[string]Approval{}}
	for _, a := range approvals {
		switch {
		case a.Until.Before(today):
			out.Expired = append(out.Expired, a)
		case !widenings[a.Digest]:
			out.Unmatched = append(out.Unmatched, a)
		default:
			out.Approved[a.Digest] = a
		}
	}
	r.Review = out
}

// FailOn says what makes a difference fail a check.
type FailOn string

// What fails: nothing, a widening that is not approved, or any change that is not.
const (
	FailOnNothing FailOn = ""
	FailOnWidened FailOn = "widened"
	FailOnChanged FailOn = "changed"
)

// Fails reports whether the report fails the check. Approvals that are expired or
// match nothing always fail.
func (r Report) Fails(on FailOn) bool {
	if r.Review != nil && len(r.Review.Expired)+len(r.Review.Unmatched) > 0 {
		return true
	}
	for _, c := range r.Policies {
		for _, change := range c.Changes {
			_, approved := r.approval(c, change)
			if !approved && (on == FailOnChanged || on == FailOnWidened && change.Effect().Widens()) {
				return true
			}
		}
	}
	return false
}

// approval is the approval of a change that widens.
func (r Report) approval(c Comparison, change Change) (Approval, bool) {
	if r.Review == nil || len(r.Review.Approved) == 0 || !change.Effect().Widens() {
		return Approval{}, false
	}
	a, ok := r.Review.Approved[change.Digest(c.Policy)]
	if !ok {
		a, ok = r.Review.Approved[c.Digest()]
	}
	return a, ok
}
