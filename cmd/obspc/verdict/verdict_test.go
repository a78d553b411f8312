package verdict

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/obspc/obspc/verify"
)

// refused is a report with a failure of every kind, and text that would steer each
// reader if it could.
func refused() Subject {
	return Subject{
		Release: "release", Sources: "src", More: "MORE\n",
		Report: &verify.Report{
			Source: "release", Product: "acme", Serial: 3, Digest: strings.Repeat("a", 64),
			Checks: []verify.Result{
				{Check: verify.Structure, Outcome: verify.Passed},
				{Check: verify.Checksums, Outcome: verify.Failed, Failures: []verify.Failure{
					{File: "p/bwrap.json", Reason: verify.Tampered, Message: "the bytes differ", Wanted: "1", Found: "2"},
				}, More: 4},
				{Check: verify.Pins, Outcome: verify.NotAskedFor},
				{Check: verify.Artifacts, Outcome: verify.Failed, Failures: []verify.Failure{
					{File: "p/seatbelt.sb", Reason: verify.Unproven, Message: "read /x\n::error::| <b> @all 100%", Stated: &verify.Place{File: "p.policy.hcl", Line: 7, Column: 9}},
					{File: "p/run.json", Reason: verify.Unproven, Message: "from a template", Stated: &verify.Place{File: "std/base/base.policy.hcl", Line: 2, Column: 1}},
				}},
				{Check: verify.Rules, Outcome: verify.Failed, Failures: []verify.Failure{{Reason: verify.Violation, Message: "of the release as a whole"}}},
				{Check: verify.Golden},
			},
			Warnings: []string{"it expires\nsoon"},
		},
	}
}

func accepted() Subject {
	return Subject{Release: "release", Report: &verify.Report{
		Source: "release", Product: "acme", Serial: 3, Anchors: []string{verify.Pins},
		Checks: []verify.Result{{Check: verify.Structure, Outcome: verify.Passed}, {Check: verify.Pins, Outcome: verify.Passed}, {Check: verify.Golden, Outcome: verify.NotAskedFor}},
	}}
}

var forms = map[string]func(Subject) []byte{"sarif": Subject.SARIF, "junit": Subject.JUnit, "github": Subject.GitHub, "markdown": Subject.Markdown}

// Each form of each report is as committed. OBSPC_UPDATE=1 writes them anew.
func TestForms(t *testing.T) {
	for form, write := range forms {
		for name, s := range map[string]Subject{"refused": refused(), "accepted": accepted()} {
			file := filepath.Join("testdata", name+"."+form)
			got := strings.ReplaceAll(string(write(s)), `"version": "`+version()+`"`, `"version": "VERSION"`)
			if os.Getenv("OBSPC_UPDATE") == "1" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Errorf("%s is written anew; read the diff", file)
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s: %v; got\n%s", file, err, got)
			}
		}
	}
}

func TestSARIFIsValid(t *testing.T) {
	for _, s := range []Subject{refused(), accepted()} {
		log, err := sarif.FromBytes(s.SARIF())
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Validate(); err != nil {
			t.Errorf("not valid against the schema of SARIF 2.1.0: %v", err)
		}
	}
	// The control: a log without its tool is not valid.
	log, err := sarif.FromBytes([]byte(`{"version":"2.1.0","runs":[{"results":[]}]}`))
	if err == nil && log.Validate() == nil {
		t.Error("the schema accepts a run without a tool")
	}
}

func TestJUnitIsRead(t *testing.T) {
	var suites junitSuites
	if err := xml.Unmarshal(refused().JUnit(), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Failures != 5 || suites.Tests != 7 || suites.Suite.Skipped != 1 {
		t.Errorf("%+v", suites)
	}
	if err := xml.Unmarshal(accepted().JUnit(), &suites); err != nil || suites.Failures != 0 {
		t.Errorf("an accepted release fails: %+v, %v", suites, err)
	}
}

// No text from outside begins a workflow command, a mention or markup.
func TestNothingSteers(t *testing.T) {
	for line := range strings.Lines(string(refused().GitHub())) {
		if !strings.HasPrefix(line, "::error title=") && !strings.HasPrefix(line, "::warning title=") {
			t.Errorf("a line of its own: %q", line)
		}
	}
	text := string(refused().Markdown())
	if !strings.Contains(text, "@all") {
		t.Fatal("what should be quoted is not there")
	}
	if rest := span.ReplaceAllString(text, ""); strings.ContainsAny(rest, "<@") {
		t.Errorf("markup or a mention outside of code spans:\n%s", rest)
	}
}

var span = regexp.MustCompile("`[^`\n]+`")

// TestCodeHolds: a code span ends where the text ends, whatever is in it.
func TestCodeHolds(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                 "`plain`",
		"a`b":                   "``a`b``",
		"`":                     "`` ` ``",
		"":                      "`  `",
		"![x](http://y) \u202e": "`![x](http://y) \\u202e`",
		"a\n\n# b":              "`a; ; # b`",
	} {
		if got := code(text); got != want {
			t.Errorf("code(%q) = %s, want %s", text, got, want)
		}
	}
}

// TestBounded cuts a long text everywhere: what remains fits, is whole lines of it,
// and leaves neither a code block nor a fold open.
func TestBounded(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "| row %d |\n\n<details><summary>x</summary>\n\n````diff\n```\n</details>\n+%s\n````\n\n</details>\n", i, strings.Repeat("é", i))
	}
	for limit := 300; limit < long.Len(); limit += 7 {
		got := string(bounded(long.String(), limit))
		if len(got) > limit {
			t.Fatalf("limit %d: %d bytes", limit, len(got))
		}
		kept, _, ok := strings.Cut(got, "\n**This is too long for a comment: ")
		if !ok {
			t.Fatalf("limit %d: nothing says that it was cut:\n%s", limit, got)
		}
		open, folds := false, 0
		for line := range strings.Lines(kept) {
			switch {
			case strings.HasPrefix(line, "````"):
				open = !open
			case open:
			case strings.HasPrefix(line, "<details>"):
				folds++
			case strings.HasPrefix(line, "</details>"):
				folds--
			}
		}
		if open || folds != 0 {
			t.Fatalf("limit %d: open block %v, %d open folds:\n%s", limit, open, folds, got)
		}
	}
	if got := string(bounded(long.String(), long.Len())); got != long.String() {
		t.Error("what fits was changed")
	}
	s := refused()
	s.More = strings.Repeat("`x`\n", MaxMarkdown)
	if got := s.Markdown(); len(got) > MaxMarkdown || !strings.HasPrefix(string(got), "### ❌") {
		t.Errorf("a report of %d bytes", len(got))
	}
}
