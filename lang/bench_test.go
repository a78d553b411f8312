package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// tenThousandRules is the policy of the budget in design.md, section 11: 2,000
// paths and 8,000 endpoints.
func tenThousandRules() []byte {
	var out strings.Builder
	out.WriteString("policy \"p\" {\n  version = 1\n  filesystem {\n    read = [\n")
	for i := range 2000 {
		fmt.Fprintf(&out, "      \"${workspace}/dir%d/file%d\",\n", i%40, i)
	}
	out.WriteString("    ]\n  }\n  network {\n")
	for i := range 8000 {
		fmt.Fprintf(&out, "    endpoint \"e%d\" {\n      host  = \"h%d.example.com\"\n      ports = [443]\n    }\n", i, i)
	}
	out.WriteString("  }\n}\n")
	return []byte(out.String())
}

func BenchmarkParse(b *testing.B) {
	src := tenThousandRules()
	b.Run("hclsyntax", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if _, diags := hclsyntax.ParseConfig(src, "p", hcl.InitialPos); diags.HasErrors() {
				b.Fatal(diags)
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if _, diags := Parse(Sources{"p": src}, Options{}); len(diags) > 0 {
				b.Fatal(diags)
			}
		}
	})
}
