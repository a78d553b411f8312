package diff

import (
	"fmt"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// large is a policy of n rules in the mix of design 11: a fifth about files, in
// all roots, the rest endpoints.
func large(n int) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	levels := []ir.Level{ir.Read, ir.Write, ir.Deny, ir.Read}
	tops := []string{"/srv", "/opt/data", "${home}/w", "${workspace}", "/usr/share"}
	for i := range n / 5 {
		p.Files = append(p.Files, ir.FileRule{
			Path:  ir.MustPath(fmt.Sprintf("%s/%d/%d/%d", tops[i%5], i%7, i%101, i)),
			Level: levels[i%4], Origin: ir.Origin(fmt.Sprintf("p/filesystem[%d]", i)),
		})
	}
	for i := range 4 * n / 5 {
		p.Endpoints = append(p.Endpoints, ir.Endpoint{
			Name: fmt.Sprintf("e%d", i), Ports: []uint16{443, 8443},
			Host: ir.HostPattern{Wildcard: ir.Wildcard(i % 3), Name: fmt.Sprintf("h%d.d%d.example.com", i, i%50)},
		})
	}
	return p
}

// files is a policy of n rules about files alone.
func largeFiles(n int) *ir.Policy {
	p := large(5 * n)
	p.Endpoints = nil
	return p
}

// edited is p with one of every hundred rules changed.
func edited(p *ir.Policy) *ir.Policy {
	q := *p
	q.Files, q.Endpoints = slices.Clone(p.Files), slices.Clone(p.Endpoints)
	for i := 0; i < len(q.Files); i += 100 {
		q.Files[i].Level = (q.Files[i].Level + 1) % 3
	}
	for i := 0; i < len(q.Endpoints); i += 100 {
		q.Endpoints[i].Ports = []uint16{443}
	}
	return &q
}

// BenchmarkPolicies is the budget of two policies of 10,000 rules: below two
// seconds, and linear.
func BenchmarkPolicies(b *testing.B) {
	empty := func(*ir.Policy) *ir.Policy { return &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}} }
	for _, bb := range []struct {
		name string
		make func(int) *ir.Policy
		edit func(*ir.Policy) *ir.Policy
	}{
		{"mixed", large, edited}, {"files", largeFiles, edited}, {"new", large, empty},
	} {
		for _, n := range []int{1_000, 10_000, 20_000} {
			old := bb.make(n)
			new := bb.edit(old)
			b.Run(fmt.Sprintf("%s/%d", bb.name, n), func(b *testing.B) {
				for b.Loop() {
					Policies(old, new, nil)
				}
			})
		}
	}
}
