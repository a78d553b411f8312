package obspc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/targets"
)

// tenThousand is a policy of 2,000 paths and 8,000 endpoints.
func tenThousand() []byte {
	var b strings.Builder
	b.WriteString("policy \"p\" {\n  version = 1\n  targets = [\"bwrap\"]\n  filesystem {\n    write = [workspace]\n    read = [\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "      \"/opt/tree/d%d/f%d\",\n", i/20, i)
	}
	b.WriteString("    ]\n  }\n  network {\n")
	for i := range 8000 {
		fmt.Fprintf(&b, "    endpoint \"e%d\" {\n      host  = \"h%d.d%d.example.com\"\n      ports = [443]\n    }\n", i, i, i%100)
	}
	b.WriteString("  }\n}\n")
	return []byte(b.String())
}

// BenchmarkTenThousand is the whole way of a policy of 10,000 rules, validation
// included, and how many times that is what parsing the same text costs by itself.
func BenchmarkTenThousand(b *testing.B) {
	text := tenThousand()
	parse := func() {
		if _, diags := hclsyntax.ParseConfig(text, "p.policy.hcl", hcl.InitialPos); diags.HasErrors() {
			b.Fatal(diags)
		}
	}
	whole := func() {
		cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": text}, lang.Options{})
		results, more := compiler.Compile(cfg, compiler.Options{})
		if diags.HasErrors() || more.HasErrors() {
			b.Fatal(diags, more)
		}
		if _, err := targets.Compile(results[0].Policy); err != nil {
			b.Fatal(err)
		}
	}
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		parse()
		parsed := time.Since(start)
		whole()
		ratios = append(ratios, float64(time.Since(start)-parsed)/float64(parsed))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-parsing")
}
