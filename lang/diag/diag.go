// Package diag holds what obspc says about a policy: a finding with a stable
// code, the smallest range it concerns, one clause and one line of help. Its one
// rule: wording belongs to whoever found the fault; diag only carries, orders
// and renders it. It is a leaf and imports nothing of obspc.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Pos is a place in a source file. Line and Column count from 1; Column counts
// characters as a reader sees them (grapheme clusters, as HCL does), Byte counts
// bytes from 0.
type Pos struct {
	Line, Column, Byte int
}

// Range is a stretch of one source file, End exclusive. The zero Range means
// "nowhere in particular", as for a finding about a whole call.
type Range struct {
	File       string
	Start, End Pos
}

// IsZero reports whether r names no place.
func (r Range) IsZero() bool { return r == Range{} }

// String is r as file:line:column, the form editors jump to.
func (r Range) String() string {
	if r.File == "" {
		return "<no file>"
	}
	if r.Start.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)
}

// Severity tells what a finding does to the call that raised it.
type Severity int

// Error refuses the policy; Warning lets it pass and says why it was raised.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Related is a second place that explains a finding ("first stated here").
type Related struct {
	At      Range
	Message string
}

// Diagnostic is one finding. Code is a kebab-case word that is never renamed or
// reused; Message is one clause, lower case, without a final period, and names
// the user's thing; Help says what to write instead.
type Diagnostic struct {
	Severity Severity
	Code     string
	At       Range
	Message  string
	Help     string
	Related  []Related
}

func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s: %s [%s]", d.At, d.Severity, d.Message, d.Code)
}

// List collects findings. The zero List is empty and ready for use.
type List []Diagnostic

// Add appends findings in the order in which they were met.
func (l *List) Add(d ...Diagnostic) { *l = append(*l, d...) }

// HasErrors reports whether the list refuses the policy.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted is the list in reading order: by file, then place, then code. A finding
// that says word for word what another said at the same place is dropped.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.At.File, b.At.File),
			cmp.Compare(a.At.Start.Byte, b.At.Start.Byte),
			cmp.Compare(a.At.End.Byte, b.At.End.Byte),
			cmp.Compare(a.Code, b.Code),
		)
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.At == b.At && a.Code == b.Code && a.Message == b.Message
	})
}

// Bug stops the program because obspc itself is wrong: a state that no input may
// reach. cmd turns the panic into exit code 70.
func Bug(format string, args ...any) {
	panic(BugError{fmt.Sprintf(format, args...)})
}

// BugError is the value that Bug panics with.
type BugError struct{ What string }

func (e BugError) Error() string { return "bug in obspc: " + e.What }
