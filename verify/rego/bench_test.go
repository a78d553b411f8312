package rego

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/policies"
)

// many are policies as houses have them: some twenty rules each, none like another.
func many(n int) []*ir.Policy {
	out := make([]*ir.Policy, n)
	for i := range out {
		p := sample()
		p.Name = fmt.Sprintf("p%d", i)
		for j := range 20 {
			p.Files = append(p.Files, ir.FileRule{
				Path: ir.MustPath(fmt.Sprintf("/usr/lib/house-%d-%d", i, j)), Level: ir.Read, Origin: ir.Origin(fmt.Sprintf("%s/filesystem.read[%d]", p.Name, j)),
			})
		}
		slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return strings.Compare(a.Path.String(), b.Path.String()) })
		out[i] = p
	}
	return out
}

// BenchmarkRules asks the standard rules about 10,000 policies. ×opa is the time of
// Evaluate against that of OPA alone, which gets ir.json and answers: the median of
// interleaved hundreds.
func BenchmarkRules(b *testing.B) {
	r, err := Load(policies.Rules())
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	list := many(10_000)
	for b.Loop() {
		var ratios []float64
		var whole time.Duration
		for chunk := range slices.Chunk(list, 100) {
			texts := make([][]byte, len(chunk))
			for i, p := range chunk {
				texts[i] = p.JSON()
			}
			start := time.Now()
			for _, text := range texts {
				alone(b, r, text)
			}
			opa := time.Since(start)
			start = time.Now()
			for _, p := range chunk {
				if _, err := r.Evaluate(ctx, p, nil); err != nil {
					b.Fatal(err)
				}
			}
			took := time.Since(start)
			whole += took
			ratios = append(ratios, float64(took)/float64(opa))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "×opa")
		b.ReportMetric(whole.Seconds(), "s/10k")
	}
}

// alone is OPA's own part: the input read, the query evaluated.
func alone(b *testing.B, r *Rules, text []byte) {
	input, err := ast.ValueFromReader(strings.NewReader(string(text)))
	if err != nil {
		b.Fatal(err)
	}
	// That an evaluation can be stopped is OPA's, and costs a goroutine there.
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), changeKey{}, (*change)(nil)))
	defer cancel()
	if _, err := r.query.Eval(ctx, oparego.EvalParsedInput(input)); err != nil {
		b.Fatal(err)
	}
}
