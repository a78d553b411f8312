package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/lang/diag"
)

// ReportSchema names the JSON form of a Report.
const ReportSchema = "obspc.verify/v1"

// Outcome is what became of one check. The zero Outcome is NotReached: what
// nobody decided is never taken for passed.
type Outcome uint8

// The outcomes. A check is not reached when what it looks at could not be read.
const (
	NotReached Outcome = iota
	NotAskedFor
	Failed
	Passed
)

var outcomeNames = [...]string{"not reached", "not asked for", "failed", "passed"}

func (o Outcome) String() string { return outcomeNames[o] }

// Result is one check's outcome. Failures has at most 100 elements; More counts
// the rest.
type Result struct {
	Check    string
	Outcome  Outcome
	Failures []Failure
	More     int
}

// maxFailures bounds what one check tells; a directory may hold anything.
const maxFailures = 100

func (r *Result) fail(f Failure) {
	r.Outcome = Failed
	if len(r.Failures) >= maxFailures {
		r.More++
		return
	}
	r.Failures = append(r.Failures, f)
}

// Report is what Open found: every check by name in the order of the pipeline,
// every failure at once.
type Report struct {
	Source   string // what was opened, for people
	Product  string // "" when release.json could not be read
	Serial   int64
	Digest   string // SHA-256 of SHA256SUMS in hexadecimal; "" when it could not be read
	Checks   []Result
	Warnings []string
	// Anchors are the checks that were asked for and passed: first those that
	// vouch for the release, then the others by name. It is empty unless the
	// release is verified.
	Anchors []string
	// Unanchored says that no failure was found and that nothing was asked for
	// that could vouch for the release.
	Unanchored bool

	absent bool // there is no such source
}

// Verified reports whether Open returned a *Verified.
func (r *Report) Verified() bool { return len(r.Anchors) > 0 }

// Failures are all failures in the order of the checks.
func (r *Report) Failures() []Failure {
	var out []Failure
	for _, c := range r.Checks {
		out = append(out, c.Failures...)
	}
	return out
}

// Exit codes of a program that reports a verdict and nothing else.
const (
	exitVerified = 0
	exitNo       = 1
	exitCall     = 2
	exitMachine  = 3
)

// ExitCode is 0 when the release is verified, 2 when there is nothing where it
// should be or another version of obspc must be asked, 3 when the only obstacles are this version's or this machine's (a
// format of another generation, a file that cannot be read), 1 otherwise.
func (r *Report) ExitCode() int {
	switch {
	case r.Verified():
		return exitVerified
	case r.absent:
		return exitCall
	}
	failures := r.Failures()
	if slices.ContainsFunc(failures, func(f Failure) bool { return f.Reason == OtherCompiler }) {
		return exitCall
	}
	ours := func(f Failure) bool { return f.Reason != Unsupported && f.Reason != Unreadable }
	if len(failures) == 0 || slices.ContainsFunc(failures, ours) {
		return exitNo
	}
	return exitMachine
}

// nothingAskedFor is the verdict on a sound release that nobody vouched for.
const nothingAskedFor = "unverified: nothing was asked for; in the repository of the sources use --source PATH, elsewhere --pins obspc.pins (make it with obspc pin)"

// Verdict is the answer on one line, with the first failure.
func (r *Report) Verdict() string {
	verdict := r.verdict()
	if all := r.Failures(); len(all) > 0 && !r.Verified() {
		verdict += fmt.Sprintf("; first: %s", all[0])
	}
	return verdict
}

// verdict is the last line of a report whose failures stand above it.
func (r *Report) verdict() string {
	switch {
	case r.Verified():
		return "verified: " + strings.Join(r.Anchors, ", ")
	case r.Unanchored:
		return nothingAskedFor
	}
	var failed, open []string
	for _, c := range r.Checks {
		switch c.Outcome {
		case Failed:
			failed = append(failed, c.Check)
		case NotReached:
			open = append(open, c.Check)
		}
	}
	if len(failed) == 0 {
		return "unverified: not reached: " + strings.Join(open, ", ")
	}
	return fmt.Sprintf("unverified: %s failed", strings.Join(failed, ", "))
}

// String is the report for people: a line for each check that was asked for or is
// always made, its failures below it, the warnings, the verdict.
func (r *Report) String() string {
	var b strings.Builder
	if r.Product != "" {
		fmt.Fprintf(&b, "release %s serial %d, SHA256SUMS %s\n", r.Product, r.Serial, r.Digest)
	}
	for _, c := range r.Checks {
		if c.Outcome == NotAskedFor {
			continue
		}
		fmt.Fprintf(&b, "%-18s %s\n", c.Check, c.Outcome)
		for _, f := range c.Failures {
			fmt.Fprintf(&b, "  %s\n", f)
		}
		if c.More > 0 {
			fmt.Fprintf(&b, "  and %d more\n", c.More)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", plain(w))
	}
	b.WriteString(r.verdict() + "\n")
	return b.String()
}

// The wire types are the shape of the JSON form.
type (
	wireReport struct {
		Schema   string       `json:"schema"`
		Source   string       `json:"source"`
		Verified bool         `json:"verified"`
		Product  string       `json:"product,omitempty"`
		Serial   int64        `json:"serial"`
		Digest   string       `json:"digest,omitempty"`
		Checks   []wireResult `json:"checks"`
		Warnings []string     `json:"warnings"`
		Anchors  []string     `json:"anchors"`
		Verdict  string       `json:"verdict"`
	}
	wireResult struct {
		Check    string        `json:"check"`
		Outcome  string        `json:"outcome"`
		Failures []wireFailure `json:"failures"`
		More     int           `json:"more,omitempty"`
	}
	wireFailure struct {
		File    string     `json:"file,omitempty"`
		Reason  Reason     `json:"reason"`
		Message string     `json:"message"`
		Wanted  string     `json:"wanted,omitempty"`
		Found   string     `json:"found,omitempty"`
		Stated  *wirePlace `json:"stated,omitempty"`
	}
	wirePlace struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	}
)

// JSON is the report for machines, canonical, with the same facts as String and the
// checks that were not asked for.
func (r *Report) JSON() []byte {
	w := wireReport{
		Schema: ReportSchema, Source: display(r.Source), Verified: r.Verified(), Product: r.Product, Serial: r.Serial, Digest: r.Digest,
		Anchors: r.Anchors, Verdict: r.Verdict(),
	}
	for _, warning := range r.Warnings {
		w.Warnings = append(w.Warnings, plain(warning))
	}
	for _, c := range r.Checks {
		wc := wireResult{Check: c.Check, Outcome: c.Outcome.String(), More: c.More}
		for _, f := range c.Failures {
			wf := wireFailure{display(f.File), f.Reason, plain(f.Message), plain(f.Wanted), plain(f.Found), nil}
			if f.Stated != nil {
				wf.Stated = &wirePlace{display(f.Stated.File), f.Stated.Line, f.Stated.Column}
			}
			wc.Failures = append(wc.Failures, wf)
		}
		w.Checks = append(w.Checks, wc)
	}
	data, err := canon.Marshal(w)
	if err != nil {
		diag.Bug("a report holds what JSON cannot: %v", err)
	}
	return data
}
