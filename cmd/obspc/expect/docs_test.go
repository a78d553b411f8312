package expect

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/targets/models"
)

// TestLanguagePage holds the policies of docs/language.md to the tests of that
// page.
func TestLanguagePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, tests := lang.Sources{}, lang.Sources{}
	for i, part := range strings.Split(string(page), "```") {
		body, ok := strings.CutPrefix(part, "hcl\n")
		switch name := fmt.Sprintf("block %d", i/2+1); {
		case !ok || i%2 == 0 || strings.HasPrefix(body, "verify "):
		case strings.HasPrefix(body, "test "):
			tests[name] = []byte(body)
		default:
			sources[name] = []byte(body)
		}
	}
	cfg, diags := lang.Parse(sources, lang.Options{Tests: tests})
	library := func(name string) (*lang.Body, bool) {
		file, text, ok := policies.Source(name)
		if !ok {
			return nil, false
		}
		library, _ := lang.Parse(lang.Sources{file: text}, lang.Options{Library: true})
		return library.Templates[0], true
	}
	results, more := compiler.Compile(cfg, compiler.Options{Library: library, LibraryNames: policies.Names()})
	diags.Add(more...)
	typed, more := compiler.Tests(cfg, results)
	diags.Add(more...)
	if diags.HasErrors() {
		t.Fatalf("docs/language.md: %v", diags)
	}
	r := Run(typed, results, func(string) bool { return true }, Options{
		Models: models.All(), Place: func(r diag.Range) diag.Range { return r }, Because: func(r ir.Reason) string { return string(r) },
	})
	if s := r.Sum(); s.Tests < 2 || s.Expectations < 9 || r.Failed() {
		t.Errorf("docs/language.md: %+v\n%v", s, answers(r))
	}
}
