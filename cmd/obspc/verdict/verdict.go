// Package verdict writes what verification found in the forms that other programs
// read: SARIF, JUnit, annotations of GitHub's workflows, Markdown for a comment.
// Its one rule: each form carries the same facts, and text from outside never
// steers the program that reads it. It is pure.
package verdict

import (
	"path"
	"strings"

	"github.com/obspc/obspc/verify"
)

// Subject is a report and what its reader needs beside it.
type Subject struct {
	Report *verify.Report
	// Release is the release's directory as it can be opened from here.
	Release string
	// Sources is the directory that the names of policy files are relative to; ""
	// when nobody said where they are.
	Sources string
	// More is Markdown that belongs below the findings: what changed in the golden
	// files. It may be empty.
	More string
}

// location is where a failure is shown: the policy's line if it is known and the
// sources are here, else the file of the release. line is 0 for a file as a whole.
func (s Subject) location(f verify.Failure) (file string, line, column int) {
	if f.Stated != nil && s.Sources != "" && !strings.HasPrefix(f.Stated.File, "std/") {
		return path.Join(s.Sources, f.Stated.File), f.Stated.Line, f.Stated.Column
	}
	if f.File == "" {
		return s.Release, 0, 0
	}
	return path.Join(s.Release, f.File), 0, 0
}

// text is a failure without its file, for readers that show the file themselves.
func text(f verify.Failure) string {
	f.File, f.Stated = "", nil
	return f.String()
}
