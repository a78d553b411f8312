package obspc_test

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
)

// TestLanguagePolicies: a reader who copies a policy of the language's page can
// compile it for Linux.
func TestLanguagePolicies(t *testing.T) {
	seen := 0
	for _, b := range blocks(t, "hcl") {
		if b.file != "docs/language.md" || !strings.Contains(b.text, "policy \"") || strings.HasPrefix(b.text, "test ") {
			continue
		}
		seen++
		results, diags := compileText(t, b.file, []byte(b.text))
		if diags.HasErrors() {
			t.Errorf("%s: %v\n%s", b.file, diags, b.text)
		}
		for _, r := range results {
			if _, err := targets.Compile(r.Policy); err != nil || !r.Policy.HasTarget(ir.Bwrap) {
				t.Errorf("%s: policy %s does not compile for bwrap: %v", b.file, r.Policy.Name, err)
			}
		}
	}
	if seen < 7 {
		t.Errorf("docs/language.md has %d policies, want at least 7", seen)
	}
}
