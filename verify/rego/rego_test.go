package rego

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/policies"
)

// sample is a policy with a little of everything that rules look at.
func sample() *ir.Policy {
	return &ir.Policy{
		Name: "p", Version: 3, Targets: []ir.Target{ir.Bwrap},
		Files: []ir.FileRule{
			{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS, Origin: "builtin/proc"},
			{Path: ir.MustPath("/srv/out"), Level: ir.Write, Origin: "p/filesystem.write[0]"},
		},
		Unix: ir.UnixRule{Origin: "builtin/unix"},
	}
}

func load(t *testing.T, files map[string]string) (*Rules, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Load(fsys)
}

const writes = `package house.writes

deny contains {"message": "no writes", "path": ["files", i]} if {
	some i, rule in input.files
	rule.level == "write"
}

warn contains "short"
`

func TestEvaluate(t *testing.T) {
	r, err := load(t, map[string]string{"writes.rego": writes})
	if err != nil {
		t.Fatal(err)
	}
	found, err := r.Evaluate(context.Background(), sample(), nil)
	if err != nil || len(found) != 2 {
		t.Fatalf("Evaluate = %v, %v", found, err)
	}
	if f := found[0]; f.Kind != Warn || f.Code != "writes" || f.Message != "short" || f.Origin != "" || f.Refuses() {
		t.Errorf("the warning is %+v", f)
	}
	if f := found[1]; f.Kind != Deny || f.Policy != "p" || f.Origin != "p/filesystem.write[0]" || !f.Refuses() {
		t.Errorf("the denial is %+v", f)
	}
	// The twin: without the write nothing is denied.
	clean := sample()
	clean.Files = clean.Files[:1]
	if found, err = r.Evaluate(context.Background(), clean, nil); err != nil || len(found) != 1 {
		t.Errorf("without a write: %v, %v", found, err)
	}
}

// What would switch a rule off without a word is refused, with its place.
func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a member that ir.json lacks", "package h\n\ndeny contains \"x\" if input.hots", "r.rego:3:"},
		{"a member of a member", "package h\n\ndeny contains \"x\" if {\n\tsome f in input.files\n\tf.pth == \"/\"\n}", "undefined ref"},
		{"a slip in the rule's name", "package h\n\ndenny contains \"x\" if true\n\ndeny contains \"y\" if false", "nothing uses denny"},
		{"no rule at all", "package h\n\nf(x) := x\n\ng := f(1)\n\nh if g", "nothing uses h"},
		{"deny as a value", "package h\n\ndeny := true", "deny contains finding"},
		{"deny as a condition", "package h\n\ndeny if true", "deny contains finding"},
		{"deny as an object", "package h\n\ndeny[x] := 1 if x := 2", "deny contains finding"},
		{"the network", "package h\n\ndeny contains \"x\" if http.send({\"method\": \"get\", \"url\": \"http://localhost\"})", "undefined function http.send"},
		{"a look-up of names", "package h\n\ndeny contains \"x\" if net.lookup_ip_addr(\"a\")", "undefined function net.lookup_ip_addr"},
		{"the clock", "package h\n\ndeny contains \"x\" if time.now_ns() > 0", "undefined function time.now_ns"},
		{"the environment", "package h\n\ndeny contains \"x\" if opa.runtime().env.HOME", "undefined function opa.runtime"},
		{"chance", "package h\n\ndeny contains \"x\" if rand.intn(\"a\", 2) == 1", "undefined function rand.intn"},
		{"a builtin that does not exist", "package h\n\ndeny contains \"x\" if startwith(\"a\", \"b\")", "undefined function startwith"},
		{"Rego of version 0", "package h\n\ndeny[x] { x := 1 }", "r.rego:3:"},
		{"a syntax error", "package h\n\ndeny contains", "r.rego:"},
		{"an unused variable", "package h\n\ndeny contains \"x\" if y := 1", "unused"},
		{"upper case in a package", "package House\n\ndeny contains \"x\" if true", "package House"},
		{"nothing", "", "r.rego"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, map[string]string{"r.rego": tt.text})
			var faults Errors
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load = %v, want faults with %q", err, tt.want)
			}
		})
	}
	if _, err := load(t, nil); err == nil || !strings.Contains(err.Error(), "no deny") {
		t.Errorf("Load of nothing = %v", err)
	}
}

// What can be seen only when a rule is asked refuses then, and is no pass.
func TestEvaluateRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a builtin that fails", "package h\n\ndeny contains \"x\" if to_number(input.policy) > 1", "to_number"},
		{"an element that is no finding", "package h\n\ndeny contains 1", "write a message"},
		{"a finding without a message", "package h\n\ndeny contains {\"code\": \"a\"}", "no message"},
		{"an empty message", "package h\n\ndeny contains \"\"", "no message"},
		{"a member too many", "package h\n\ndeny contains {\"message\": \"m\", \"severity\": 1}", "message, code and path"},
		{"a code that is none", "package h\n\ndeny contains {\"message\": \"m\", \"code\": \"A B\"}", "kebab"},
		{"a path that leads nowhere", "package h\n\ndeny contains {\"message\": \"m\", \"path\": [\"files\", 99]}", "nothing at"},
		{"a path that is none", "package h\n\ndeny contains {\"message\": \"m\", \"path\": \"files\"}", "no path"},
		{"a conflict", "package h\n\nf(x) := 1 if x\n\nf(x) := 2 if x\n\ndeny contains \"x\" if f(input.version > 0) == 1", "h.f"},
		{"memory without end", "package h\n\ndeny contains \"x\" if count([z | some a in numbers.range(1, 100000); some b in numbers.range(1, 100000); z := sprintf(\"%d-%d\", [a, b])]) > 1", "stopped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := load(t, map[string]string{"r.rego": tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if found, err := r.Evaluate(context.Background(), sample(), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Evaluate = %v, %v, want an error with %q", found, err, tt.want)
			}
		})
	}
}

func TestExemptions(t *testing.T) {
	files := map[string]string{"writes.rego": writes, ExemptionsName: "# why\nwrites p 2027-01-31 until the spool moves\n"}
	r, err := load(t, files)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(today diff.Date, policies ...string) ([]Finding, []string) {
		found, err := r.Evaluate(context.Background(), sample(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return found, Exempt([]*Rules{r}, found, policies, today)
	}
	found, useless := ask(diff.Date{Year: 2027, Month: 1, Day: 31}, "p")
	if len(useless) != 0 || found[1].Refuses() || found[1].Exempt.Reason != "until the spool moves" {
		t.Errorf("on the last day: %+v, %v", found, useless)
	}
	found, useless = ask(diff.Date{Year: 2027, Month: 2, Day: 1}, "p")
	if len(useless) != 1 || !strings.Contains(useless[0], "last day is over") || !found[1].Refuses() {
		t.Errorf("the day after: %+v, %v", found, useless)
	}
	if useless = Exempt([]*Rules{r}, nil, []string{"p"}, diff.Date{Year: 2027, Month: 1, Day: 1}); len(useless) != 1 || !strings.Contains(useless[0], "finds nothing") {
		t.Errorf("without the finding: %v", useless)
	}
	if useless = Exempt([]*Rules{r}, nil, []string{"q"}, diff.Date{Year: 2027, Month: 1, Day: 1}); len(useless) != 0 {
		t.Errorf("of a policy that is not asked about: %v", useless)
	}
	for _, bad := range []string{"writes p soon x", "writes p 2027-01-31", "writes p 2027-01-31 ", "Writes p 2027-01-31 x", "writes p 2027-02-30 x",
		"writes p 2027-01-31 x\nwrites p 2028-01-31 y", "writes p 2027-01-31 \u202ex"} {
		files[ExemptionsName] = bad
		if _, err := load(t, files); err == nil {
			t.Errorf("the exemptions %q are accepted", bad)
		}
	}
}

// What a digest covers, and what it does not.
func TestDigest(t *testing.T) {
	of := func(files map[string]string) string {
		r, err := load(t, files)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Digest())
	}
	first := of(map[string]string{"a.rego": writes})
	if of(map[string]string{"a.rego": writes, "a_test.rego": "package house.writes_test\n\ntest_x if true"}) != first {
		t.Error("a test changes the digest")
	}
	for _, other := range []map[string]string{
		{"b.rego": writes}, {"a.rego": writes + "\n"}, {"a.rego": writes, ExemptionsName: ""},
	} {
		if of(other) == first {
			t.Errorf("%v have the digest of another set", other)
		}
	}
}

func TestChange(t *testing.T) {
	r, err := load(t, map[string]string{"r.rego": "package h\n\ndeny contains sprintf(\"%s since %d\", [c.verdict, c.version]) if c := obspc.change()\n"})
	if err != nil {
		t.Fatal(err)
	}
	before := sample()
	before.Version, before.Files = 2, before.Files[:1]
	found, err := r.Evaluate(context.Background(), sample(), before)
	if err != nil || len(found) != 1 || found[0].Message != "widened since 2" {
		t.Errorf("Evaluate = %+v, %v", found, err)
	}
	if found, err = r.Evaluate(context.Background(), sample(), nil); err != nil || len(found) != 0 {
		t.Errorf("with nothing to compare = %+v, %v", found, err)
	}
}

// The standard rules hold for their own tests, and each line of them is reached.
func TestStandardRules(t *testing.T) {
	r, err := Load(policies.Rules())
	if err != nil {
		t.Fatal(err)
	}
	results, covered, err := r.Test(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if !result.Passed {
			t.Errorf("%s: %s", result.Name, result.Detail)
		}
	}
	if len(results) < 20 || len(covered.Lines()) > 0 {
		t.Errorf("%d tests reach %.1f%%; not %v", len(results), covered.Percent, covered.Lines())
	}
	if _, err := r.Evaluate(context.Background(), sample(), sample()); err != nil {
		t.Errorf("the standard rules cannot be asked: %v", err)
	}
}

// A failing test and a test that does not compile are seen.
func TestFailingTests(t *testing.T) {
	r, err := load(t, map[string]string{
		"writes.rego":      writes,
		"writes_test.rego": "package house.writes_test\n\nimport data.house.writes\n\ntest_right if count(writes.warn) == 1\n\ntest_wrong if count(writes.warn) == 2\n\ntodo_test_later if false\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	results, covered, err := r.Test(context.Background())
	if err != nil || len(results) != 3 || !results[0].Passed || results[1].Passed || results[2].Passed || results[1].Line != 7 || results[1].Detail == "" {
		t.Errorf("Test = %+v, %v", results, err)
	}
	if len(covered.Lines()) == 0 {
		t.Error("the lines of deny were not reached, and the coverage does not say so")
	}
	if r, err = load(t, map[string]string{"writes.rego": writes}); err != nil {
		t.Fatal(err)
	}
	if _, _, err = r.Test(context.Background()); err == nil {
		t.Error("rules without tests pass them")
	}
}

// Every member of the schema is one of ir.json, and none is missing.
func TestSchemaKnowsIR(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(ir.JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(sample().JSON(), &object); err != nil {
		t.Fatal(err)
	}
	for name := range object {
		if schema.Properties[name] == nil {
			t.Errorf("the schema lacks %s", name)
		}
	}
	for _, name := range schema.Required {
		if object[name] == nil {
			t.Errorf("the schema requires %s, which ir.json lacks", name)
		}
	}
}
