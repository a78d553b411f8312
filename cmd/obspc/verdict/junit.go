package verdict

import (
	"encoding/xml"
	"strings"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/verify"
)

// The elements of JUnit's report format that its readers agree on (the schema of
// the Jenkins xUnit plugin, junit-10.xsd).
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Skipped *junitOutcome `xml:"skipped"`
		Failure *junitOutcome `xml:"failure"`
	}
	junitOutcome struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is the report as JUnit XML: a case for each check, and one for the verdict,
// which fails also where no check does.
func (s Subject) JUnit() []byte {
	suite := junitSuite{Name: "verify"}
	add := func(c junitCase) {
		c.Class = "obspc.verify"
		suite.Cases, suite.Tests = append(suite.Cases, c), suite.Tests+1
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
	}
	for _, r := range s.Report.Checks {
		c := junitCase{Name: r.Check}
		switch r.Outcome {
		case verify.NotAskedFor:
			c.Skipped = &junitOutcome{Message: "not asked for"}
		case verify.NotReached:
			c.Failure = &junitOutcome{Message: "not reached"}
		case verify.Failed:
			var lines []string
			for _, f := range r.Failures {
				lines = append(lines, f.String())
			}
			c.Failure = &junitOutcome{Message: lines[0], Text: strings.Join(lines, "\n")}
		}
		add(c)
	}
	verdict := junitCase{Name: "verdict"}
	if !s.Report.Verified() {
		verdict.Failure = &junitOutcome{Message: s.Report.Verdict()}
	}
	add(verdict)
	data, err := xml.MarshalIndent(junitSuites{Name: "obspc verify", Tests: suite.Tests, Failures: suite.Failures, Suite: suite}, "", "  ")
	if err != nil {
		diag.Bug("a report has no JUnit form: %v", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...)
}
