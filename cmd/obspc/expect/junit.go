package expect

import (
	"encoding/xml"
	"io"
)

// The elements of JUnit's report format that its readers agree on (the schema of
// the Jenkins xUnit plugin, junit-10.xsd).
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Tests   int          `xml:"tests,attr"`
		Failed  int          `xml:"failures,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name    string      `xml:"name,attr"`
		Tests   int         `xml:"tests,attr"`
		Failed  int         `xml:"failures,attr"`
		Errors  int         `xml:"errors,attr"`
		Skipped int         `xml:"skipped,attr"`
		Cases   []junitCase `xml:"testcase"`
		Output  string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Skipped *junitSkipped `xml:"skipped"`
		Failure *junitFailure `xml:"failure"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML: a suite for each test, a case for
// each expectation, and one more for each that was to be tried against the kernel.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "obspc test"}
	for _, c := range r.Tests {
		s := c.junit()
		for _, u := range r.Unasked {
			if u.Policy == c.Policy {
				s.Output += string(u.Target) + " was not asked: " + u.Why + "\n"
			}
		}
		all.Tests, all.Failed = all.Tests+s.Tests, all.Failed+s.Failed
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c Case) junit() junitSuite {
	s := junitSuite{Name: c.Name}
	for _, p := range c.points() {
		out := junitCase{Name: p.name, Class: c.Policy + "." + c.Name, File: p.at.File, Line: p.at.Start.Line}
		s.Tests++
		switch p.status {
		case Failed:
			s.Failed++
			out.Failure = &junitFailure{p.message, "expectation", p.detail}
		case Skipped:
			s.Skipped++
			out.Skipped = &junitSkipped{p.message}
		}
		s.Cases = append(s.Cases, out)
	}
	return s
}
