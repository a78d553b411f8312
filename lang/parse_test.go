package lang

import (
	"os"
	"testing"
)

// TestDesignExample parses the example of design.md, section 4.
func TestDesignExample(t *testing.T) {
	src, err := os.ReadFile("testdata/design.policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	config, diags := Parse(Sources{"design.policy.hcl": src}, Options{})
	if len(diags) > 0 {
		t.Fatalf("Parse(design.policy.hcl) has findings: %v", diags)
	}
	if len(config.Policies) != 1 || config.Policies[0].Name.Value != "payment-batch" {
		t.Fatalf("Parse(design.policy.hcl) has no policy payment-batch")
	}
}
