package rego

import (
	"context"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// Check is the check that the house allows every policy of a release: each of the
// sets of rules. Base holds the policies that were in use before, by name; it may
// be nil.
type Check struct {
	Sets []*Rules
	Base map[string]*ir.Policy
}

// Name is verify.Rules.
func (*Check) Name() string { return verify.Rules }

// Anchors is false: a policy that the house allows may come from anybody.
func (*Check) Anchors() bool { return false }

// Run asks the rules about each policy of the release.
func (c *Check) Run(s *verify.Subject) (failures []verify.Failure, warnings []string) {
	var asked []string
	var findings []Finding
	for _, name := range s.Manifest().Policies() {
		file := name + "/" + release.IRName
		p := s.IR(name)
		if p == nil {
			failures = append(failures, verify.Failure{File: file, Reason: verify.Violation, Message: "its meaning cannot be read, so no rule was asked about it"})
			continue
		}
		for _, set := range c.Sets {
			found, err := set.Evaluate(context.Background(), p, c.Base[name])
			if err != nil {
				failures = append(failures, verify.Failure{File: file, Reason: verify.Violation, Message: "the rules could not be asked: " + err.Error()})
			}
			findings = append(findings, found...)
		}
		asked = append(asked, name)
	}
	now := s.Trust().Now.UTC()
	useless := Exempt(c.Sets, findings, asked, diff.Date{Year: now.Year(), Month: int(now.Month()), Day: now.Day()})
	for _, f := range findings {
		switch {
		case f.Refuses():
			failures = append(failures, verify.Failure{File: f.Policy + "/" + release.IRName, Reason: verify.Violation, Message: f.about(), Stated: s.Stated(f.Policy, f.Origin)})
		case f.Exempt != nil:
			warnings = append(warnings, fmt.Sprintf("policy %s: %s: exempt until %s (%s)", f.Policy, f.about(), f.Exempt.Until, f.Exempt.Reason))
		default:
			warnings = append(warnings, fmt.Sprintf("policy %s: %s", f.Policy, f.about()))
		}
	}
	for _, text := range useless {
		failures = append(failures, verify.Failure{Reason: verify.Violation, Message: text})
	}
	return failures, warnings
}

// about is the finding without its policy.
func (f Finding) about() string {
	if f.Origin == "" {
		return fmt.Sprintf("%s [%s]", f.Message, f.Code)
	}
	return fmt.Sprintf("%s: %s [%s]", f.Origin, f.Message, f.Code)
}
