package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check holds a report to what the table says.
func (t trial) check(s system, r report) error {
	if r.Fault != "" {
		return errors.New(r.Fault)
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !accepts(r.Kernel, s.kernel) || !accepts(r.Bwrap, s.bwrap) {
		fault("Linux %s and bubblewrap %s, want %s and %s", r.Kernel, r.Bwrap, s.kernel, s.bwrap)
	}
	if lacks := t.lacks("landlock"); lacks != (r.ABI == 0) || !lacks && r.ABI != s.abi && !(s.moving() && r.ABI > s.abi) {
		fault("Landlock ABI %d, want %d", r.ABI, s.abi)
	}
	faults = append(faults, t.checkDoctor(r.Doctor))
	for name, want := range t.wants() {
		if err := t.checkRun(want, r.Runs[name]); err != nil {
			fault("policy %s: %w", name, err)
		}
	}
	if t.demo && (r.Demo == nil || r.Demo.Exit != 0) {
		fault("the demo: %+v", r.Demo)
	}
	for _, name := range t.tests {
		if r.Tests == nil || r.Tests.Exit != 0 || !strings.Contains(r.Tests.Stdout, "--- PASS: "+name+" ") {
			fault("%s: %+v", name, r.Tests)
			break
		}
	}
	return errors.Join(faults...)
}

func (t trial) lacks(name string) bool {
	return slices.ContainsFunc(t.missing, func(f finding) bool { return f.name == name })
}

// checkDoctor: the doctor finds what the table says and nothing else.
func (t trial) checkDoctor(r ran) error {
	var have struct {
		Can      bool `json:"ok"`
		Findings []struct{ Name, State, Found string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &have); err != nil {
		return fmt.Errorf("the doctor: %w: %+v", err, r)
	}
	can := true
	left := map[string]finding{}
	for _, f := range t.missing {
		left[f.name] = f
		can = can && f.state == "limited"
	}
	var faults []error
	for _, f := range have.Findings {
		want, named := left[f.Name]
		delete(left, f.Name)
		if !named {
			want.state = "ok"
		}
		if f.State != want.state || !strings.Contains(f.Found, want.says) {
			faults = append(faults, fmt.Errorf("the doctor: %s is %s (%s), want %s with %q", f.Name, f.State, f.Found, want.state, want.says))
		}
	}
	for name := range left {
		faults = append(faults, fmt.Errorf("the doctor says nothing of %s", name))
	}
	if have.Can != can || (r.Exit == 0) != can || !can && r.Exit != 3 {
		faults = append(faults, fmt.Errorf("the doctor says ok %v with exit %d, want %v", have.Can, r.Exit, can))
	}
	return errors.Join(faults...)
}

// checkRun: the command ran, or the machine is why it did not.
func (t trial) checkRun(w want, r ran) error {
	var have struct {
		Outcome, Reason string
		Code            int
		Limits          []struct{ Name, Scope string }
	}
	if err := json.Unmarshal(r.Evidence, &have); err != nil {
		return fmt.Errorf("evidence: %w: %+v", err, r)
	}
	if w.refused != "" {
		if r.Exit != 125 || have.Code != 3 || !strings.Contains(r.Stderr, w.refused) {
			return fmt.Errorf("exit %d, code %d, want a refusal with code 3 and %q\n%s", r.Exit, have.Code, w.refused, r.Stderr)
		}
		return nil
	}
	if r.Exit != 0 || have.Outcome != "exited" {
		return fmt.Errorf("exit %d, %s, want a run\n%s", r.Exit, have.Outcome, r.Stderr)
	}
	var scopes []string
	for _, l := range have.Limits {
		if l.Name == "memory" || l.Name == "processes" {
			scopes = append(scopes, l.Name+" "+l.Scope)
		}
	}
	if got := strings.Join(scopes, ", "); got != t.scopes {
		return fmt.Errorf("limits held: %s, want %s", got, t.scopes)
	}
	return nil
}
