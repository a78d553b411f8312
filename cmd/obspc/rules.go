package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/rego"
)

// standardRules is what --rules calls the embedded ones.
const standardRules = "std"

func rulesCommand() *cli.Command {
	return &cli.Command{
		Name:      "rules",
		Usage:     "say whether the house allows what policies grant",
		ArgsUsage: "[PATH]",
		Description: `House rules are Rego over each policy's ir.json: deny, violation and warn rules
whose elements are findings, shown at the policy's own line. A rule that cannot
be asked is an error. "std" names the rules that obspc brings; a directory is
yours, with its exemptions.txt. With --test the rules' own tests run.

   obspc rules .
   obspc rules . --rules std --rules house/ --base release/
   obspc rules --test --rules house/
   obspc rules --schema > ir.schema.json`,
		Flags: []cli.Flag{
			rulesFlag(),
			baseFlag(),
			&cli.BoolFlag{Name: "test", Usage: "run the rules' *_test.rego and show what they do not reach"},
			&cli.BoolFlag{Name: "schema", Usage: "write the JSON Schema of ir.json, which rules are checked against"},
			&cli.StringFlag{Name: "at", Usage: "judge exemptions at `TIME` (RFC 3339) instead of now"},
			varFlag(), formatFlag(),
		},
		Action: rules,
	}
}

func rulesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "rules", Usage: "house rules: `DIR` of Rego, or std; may be repeated"}
}

func rules(c *cli.Context) error {
	if c.Bool("schema") {
		fmt.Fprintf(c.App.Writer, "%s\n", ir.JSONSchema())
		return nil
	}
	names := c.StringSlice("rules")
	if len(names) == 0 {
		names = []string{standardRules}
	}
	sets, err := readRules(names)
	if err != nil {
		return err
	}
	if c.Bool("test") {
		return testRules(c, sets)
	}
	path, err := oneArgument(c, "PATH")
	if err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	now, err := at(c)
	if err != nil {
		return err
	}
	base, err := basePolicies(c, c.String("base"))
	if err != nil {
		return err
	}
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, asJSON)
	}
	conf.diags = nil // the compiler's warnings are lint's; these are the house's
	if err := conf.hold(sets, base, now); err != nil {
		return err
	}
	if err := conf.report(c, asJSON); err != nil {
		return &exitError{Code: exitNo}
	}
	if !asJSON {
		asked := 0
		for _, set := range sets {
			asked += set.Count()
		}
		fmt.Fprintf(c.App.Writer, "allowed: %d rules, %d policies\n", asked, len(conf.results))
	}
	return nil
}

// hold asks all sets of rules about every policy.
func (conf *configuration) hold(sets []*rego.Rules, base map[string]*ir.Policy, now time.Time) error {
	var findings []rego.Finding
	var asked []string
	for _, r := range conf.results {
		for _, set := range sets {
			found, err := set.Evaluate(context.Background(), r.Policy, base[r.Policy.Name])
			if err != nil {
				return &exitError{exitInput, fmt.Errorf("the rules cannot be asked: %w", err)}
			}
			findings = append(findings, found...)
		}
		asked = append(asked, r.Policy.Name)
	}
	useless := rego.Exempt(sets, findings, asked, day(now))
	for _, f := range findings {
		conf.diags.Add(conf.houseFinding(f))
	}
	for _, text := range useless {
		conf.diags.Add(diag.Diagnostic{Severity: diag.Error, Code: "exemption-useless", Message: text})
	}
	return nil
}

// houseFinding is a finding at the policy's own line.
func (conf *configuration) houseFinding(f rego.Finding) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Code: f.Code, Message: f.Message, Help: "this is a house rule; change the policy, or let the house exempt it by name, in the exemptions.txt of a directory given with --rules"}
	for _, r := range conf.results {
		if r.Policy.Name == f.Policy {
			d.At = r.Ranges[f.Origin]
			if f.Origin == "" {
				d.At = r.Ranges[ir.Origin("builtin/proc")] // the policy's header
			}
		}
	}
	switch {
	case f.Exempt != nil:
		d.Severity, d.Help = diag.Warning, fmt.Sprintf("exempt until %s: %s", f.Exempt.Until, f.Exempt.Reason)
	case f.Kind == rego.Warn:
		d.Severity, d.Help = diag.Warning, ""
	}
	return d
}

// houseChecks are the checks that --rules asks for: one, over all sets.
func houseChecks(names []string, base map[string]*ir.Policy) ([]verify.Check, error) {
	sets, err := readRules(names)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	return []verify.Check{&rego.Check{Sets: sets, Base: base}}, nil
}

// readRules loads each set that is named: a directory, or std.
func readRules(names []string) ([]*rego.Rules, error) {
	var sets []*rego.Rules
	for _, name := range names {
		fsys := fs.FS(policies.Rules())
		if name != standardRules {
			if info, err := os.Stat(name); err != nil || !info.IsDir() {
				return nil, wrongCall("--rules %s: there is no such directory (std names the rules that obspc brings)", name)
			}
			fsys = os.DirFS(name)
		}
		set, err := rego.Load(fsys)
		if err != nil {
			return nil, wrongCall("%s", placed(name, err))
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// placed is what is wrong with rules, each fault with the file as it can be
// opened from here.
func placed(dir string, err error) string {
	var faults rego.Errors
	if !errors.As(err, &faults) {
		return fmt.Sprintf("%s: %v", dir, err)
	}
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = strings.TrimSuffix(dir, "/") + "/" + f.String()
		if f.File == "" {
			lines[i] = dir + ": " + f.String()
		}
	}
	return strings.Join(lines, "\nobspc: ")
}

func testRules(c *cli.Context, sets []*rego.Rules) error {
	failed := false
	for _, set := range sets {
		results, coverage, err := set.Test(context.Background())
		if err != nil {
			return wrongCall("%w", err)
		}
		passed := 0
		for _, r := range results {
			if r.Passed {
				passed++
				continue
			}
			failed = true
			fmt.Fprintf(c.App.Writer, "--- FAIL: %s (%s:%d)\n", r.Name, r.File, r.Line)
			for line := range strings.Lines(r.Detail) {
				fmt.Fprintf(c.App.Writer, "    %s", line)
			}
			fmt.Fprintln(c.App.Writer)
		}
		fmt.Fprintf(c.App.Writer, "%d of %d tests passed, %.1f%% of the rules' lines reached\n", passed, len(results), coverage.Percent)
		for _, missed := range coverage.Lines() {
			fmt.Fprintf(c.App.Writer, "not reached: %s\n", missed)
		}
	}
	if failed {
		return &exitError{Code: exitNo}
	}
	return nil
}

// at is the time of --at, or now.
func at(c *cli.Context) (time.Time, error) {
	text := c.String("at")
	if text == "" {
		return time.Now(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, wrongCall("--at %q is no time; write it as in 2027-06-30T00:00:00Z", text)
	}
	return t, nil
}

// day is the day of a time in UTC.
func day(t time.Time) diff.Date {
	year, month, d := t.UTC().Date()
	return diff.Date{Year: year, Month: int(month), Day: d}
}
