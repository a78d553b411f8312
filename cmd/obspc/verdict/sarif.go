package verdict

import (
	"encoding/json"
	"net/url"
	"path/filepath"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// The elements of SARIF 2.1.0 (OASIS Standard, 27 March 2020) that are written:
// sections 3.13 to 3.30.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool     sarifTool     `json:"tool"`
		Language string        `json:"language"`
		Newlines []string      `json:"newlineSequences"`
		Results  []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name     string      `json:"name"`
		Version  string      `json:"version"`
		URI      string      `json:"informationUri"`
		Language string      `json:"language"`
		Rules    []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string       `json:"id"`
		Short sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// english is the language of all messages (RFC 5646).
const english = "en-US"

// unanchored is the rule of a release for which nobody vouches.
const unanchored = "unanchored"

// SARIF is the report as a SARIF 2.1.0 log: a result for each failure and warning,
// at the policy's own line where that is known.
func (s Subject) SARIF() []byte {
	run := sarifRun{
		Tool:     sarifTool{sarifDriver{"obspc", release.Version, "https://github.com/obspc/obspc", english, []sarifRule{}}},
		Language: english, Newlines: []string{"\n"}, Results: []sarifResult{},
	}
	seen := map[string]bool{}
	add := func(rule, level, message string, locations ...sarifLocation) {
		if !seen[rule] {
			seen[rule] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule, sarifMessage{"verification: " + rule}})
		}
		run.Results = append(run.Results, sarifResult{rule, level, sarifMessage{message}, locations})
	}
	for _, f := range s.Report.Failures() {
		add(string(f.Reason), "error", text(f), s.sarifLocation(f))
	}
	if s.Report.Unanchored {
		add(unanchored, "error", s.Report.Verdict())
	}
	for _, w := range s.Report.Warnings {
		add("warning", "warning", verify.Plain(w))
	}
	data, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
	if err != nil {
		diag.Bug("a report has no SARIF: %v", err)
	}
	return append(data, '\n')
}

func (s Subject) sarifLocation(f verify.Failure) sarifLocation {
	file, line, column := s.location(f)
	l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: filepath.ToSlash(file)}).String()}}}
	if line > 0 {
		l.Physical.Region = &sarifRegion{line, column}
	}
	return l
}
