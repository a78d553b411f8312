package rego

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

// TestResult is what one test_ rule of a *_test.rego file came out as.
type TestResult struct {
	File   string
	Line   int
	Name   string // "house.network_test.test_private"
	Passed bool
	Detail string // why it did not pass, or what it printed
}

// Coverage tells which lines of the rules no test reached.
type Coverage struct {
	Percent    float64
	NotCovered map[string][]int // file → lines, from 1
}

// Test runs the tests of the rules. The error is Errors when they do not compile,
// and says so when there are none.
func (r *Rules) Test(ctx context.Context) ([]TestResult, Coverage, error) {
	if len(r.tests) == 0 {
		return nil, Coverage{}, Errors{{Code: "no-tests", Message: "there is no *_test.rego file here"}}
	}
	modules := maps.Clone(r.modules)
	maps.Copy(modules, r.tests)
	covered := cover.New()
	// A test's own input is not held to the schema: it may be a part of a policy.
	runner := tester.NewRunner().SetCompiler(compiler().WithSchemas(nil).WithEnablePrintStatements(true).WithRewriteTestRules(true)).
		SetStore(inmem.New()).SetTimeout(maxTime).RaiseBuiltinErrors(true).CapturePrintOutput(true).SetCoverageQueryTracer(covered).
		SetModules(modules).AddCustomBuiltins([]*tester.Builtin{{Decl: &ast.Builtin{Name: changeName, Decl: changeType}, Func: changeFunction()}})
	ctx, stop := limited(ctx)
	defer stop()
	results, err := runner.RunTests(ctx, nil)
	if err != nil {
		return nil, Coverage{}, faults(err)
	}
	var out []TestResult
	for result := range results {
		out = append(out, testResult(result))
	}
	slices.SortFunc(out, func(a, b TestResult) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out, coverage(covered.Report(r.modules)), nil
}

func testResult(r *tester.Result) TestResult {
	out := TestResult{Name: strings.TrimPrefix(r.Package, "data.") + "." + r.Name, Passed: r.Pass(), Detail: strings.TrimSpace(string(r.Output))}
	if r.Location != nil {
		out.File, out.Line = r.Location.File, r.Location.Row
	}
	var why string
	switch {
	case r.Error != nil:
		why = faults(r.Error).Error()
	case r.Skip:
		why = "it is skipped; nothing was tested"
		out.Passed = false
	case r.Fail:
		why = "it does not hold"
	}
	if why != "" {
		out.Detail = strings.TrimSpace(why + "\n" + out.Detail)
	}
	return out
}

func coverage(report cover.Report) Coverage {
	c := Coverage{Percent: report.Coverage, NotCovered: map[string][]int{}}
	for file, f := range report.Files {
		for _, missed := range f.NotCovered {
			for line := missed.Start.Row; line <= missed.End.Row; line++ {
				c.NotCovered[file] = append(c.NotCovered[file], line)
			}
		}
	}
	return c
}

// Lines names the lines that no test reached, "FILE:LINE", sorted.
func (c Coverage) Lines() []string {
	var out []string
	for _, file := range slices.Sorted(maps.Keys(c.NotCovered)) {
		for _, line := range c.NotCovered[file] {
			out = append(out, fmt.Sprintf("%s:%d", file, line))
		}
	}
	return out
}
