package compiler

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/testdata/cases"
)

// FuzzCompile takes any text through lang and the compiler: no panic (a diag.Bug
// is one), results only without errors, each of them written and read back.
func FuzzCompile(f *testing.F) {
	for _, tt := range findings {
		f.Add(cases.Wrap(tt.where, tt.text))
	}
	f.Add(tenThousand(2))
	f.Add(cases.Policy(everyKind))
	f.Add(own(`read = [for x in ["a", "b"] : "/${x}"]`))
	f.Fuzz(func(t *testing.T, text string) {
		cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
		results, more := Compile(cfg, options)
		if (diags.HasErrors() || len(cfg.Policies) == 0) && len(results) > 0 {
			t.Errorf("%d policies compile of a configuration with errors", len(results))
		}
		if !diags.HasErrors() && !more.HasErrors() && len(results) != len(cfg.Policies) {
			t.Errorf("%d of %d policies compile, and nothing says why", len(results), len(cfg.Policies))
		}
		for _, r := range results {
			if _, err := ir.ParseJSON(r.Policy.JSON()); err != nil {
				t.Errorf("policy %s: %v", r.Policy.Name, err)
			}
			r.MapJSON()
			r.Policy.Uses()
		}
	})
}
