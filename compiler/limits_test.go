package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// bodyOf is a configuration made by hand: some limits lie beyond what lang hands
// out of one text.
func bodyOf(template bool, name string, extends ...string) *lang.Body {
	at := diag.Range{File: name, Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 2, Byte: 1}}
	b := &lang.Body{Template: template, Name: lang.String{Value: name, Range: at}, Range: at}
	if !template {
		b.Version = lang.Integer{Value: 1, Range: at}
	}
	for _, e := range extends {
		b.Extends = append(b.Extends, lang.Extend{Name: lang.String{Value: e, Range: at}})
	}
	return b
}

// reads gives b n reads of its own.
func reads(b *lang.Body, n int) *lang.Body {
	for i := range n {
		text := lang.Text{Parts: []lang.Part{{Kind: lang.LiteralPart, Text: fmt.Sprintf("/srv/%s/%d", b.Name.Value, i)}}, Range: b.Range}
		b.Filesystem.Read = append(b.Filesystem.Read, lang.Path{Text: text})
	}
	return b
}

func TestLimits(t *testing.T) {
	chain := func(n int) []*lang.Body {
		out := []*lang.Body{bodyOf(true, "t0")}
		for i := 1; i < n; i++ {
			out = append(out, bodyOf(true, fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i-1)))
		}
		return out
	}
	// Layers of templates that each extend all of the layer before: few of them
	// repeat one long list very often.
	lattice := func(layers, width int) []*lang.Body {
		var out []*lang.Body
		before := []string{"root"}
		for l := range layers {
			var names []string
			for w := range width {
				names = append(names, fmt.Sprintf("l%dw%d", l, w))
				out = append(out, bodyOf(true, names[w], before...))
			}
			before = names
		}
		return append(out, reads(bodyOf(true, "root"), 20_000))
	}
	for _, tt := range []struct {
		name      string
		templates []*lang.Body
		policy    *lang.Body
		want      string
	}{
		{"as many rules as there may be", nil, reads(bodyOf(false, "p"), maxRules), ""},
		{"one more", nil, reads(bodyOf(false, "p"), maxRules+1), "too-many-rules"},
		{"a template with too many", []*lang.Body{reads(bodyOf(true, "a"), maxRules+1)}, bodyOf(false, "p", "a"), "too-many-rules"},
		{"too many together", []*lang.Body{reads(bodyOf(true, "a"), 60_000), reads(bodyOf(true, "b"), 60_000)}, bodyOf(false, "p", "a", "b"), "too-many-rules"},
		{"a long chain", chain(maxExtends), bodyOf(false, "p", fmt.Sprintf("t%d", maxExtends-1)), ""},
		{"a longer chain", chain(maxExtends + 1), bodyOf(false, "p", fmt.Sprintf("t%d", maxExtends)), "extends-too-deep"},
		{"templates that repeat each other", lattice(12, 12), bodyOf(false, "p", "l11w0"), "too-many-rules"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, diags := Compile(&lang.Config{Templates: tt.templates, Policies: []*lang.Body{tt.policy}}, Options{})
			got := strings.Fields(cases.ErrorCodes(diags))
			if strings.Join(got, " ") != tt.want {
				t.Errorf("found %q, want %q\n%v", got, tt.want, diags)
			}
		})
	}
}

// tenThousand is design 11's policy: 2,000 paths and 8,000 endpoints, scaled.
func tenThousand(scale int) string {
	var b strings.Builder
	b.WriteString("policy \"p\" {\n  version = 1\n  filesystem {\n    write = [workspace]\n    read = [\n")
	for i := range 2 * scale {
		fmt.Fprintf(&b, "      \"/srv/data/%d/%d\",\n", i%97, i)
	}
	b.WriteString("    ]\n  }\n  network {\n")
	for i := range 8 * scale {
		fmt.Fprintf(&b, "    endpoint \"e%d\" {\n      host  = \"h%d.example.com\"\n      ports = [443]\n    }\n", i, i)
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// BenchmarkCompile compiles 1,250 and 10,000 rules; ns/rule must stay level, and
// the compiler's share beside hclsyntax alone is design 11's ratio.
func BenchmarkCompile(b *testing.B) {
	for _, scale := range []int{125, 1000} {
		src := lang.Sources{"p.policy.hcl": []byte(tenThousand(scale))}
		perRule := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(10*scale), "ns/rule")
		}
		b.Run(fmt.Sprintf("hclsyntax/%d", 10*scale), func(b *testing.B) {
			for b.Loop() {
				hclsyntax.ParseConfig(src["p.policy.hcl"], "p.policy.hcl", hcl.InitialPos)
			}
			perRule(b)
		})
		cfg, diags := lang.Parse(src, lang.Options{})
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		b.Run(fmt.Sprintf("lang/%d", 10*scale), func(b *testing.B) {
			for b.Loop() {
				lang.Parse(src, lang.Options{})
			}
			perRule(b)
		})
		b.Run(fmt.Sprintf("compiler/%d", 10*scale), func(b *testing.B) {
			for b.Loop() {
				if _, diags := Compile(cfg, Options{}); len(diags) > 0 {
					b.Fatal(diags)
				}
			}
			perRule(b)
		})
	}
}
