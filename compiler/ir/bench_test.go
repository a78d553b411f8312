package ir

import (
	"fmt"
	"testing"
)

// large is a policy of n rules: a quarter about files, three quarters endpoints.
func large(n int) *Policy {
	p := &Policy{Name: "p", Version: 1, Targets: []Target{Bwrap}}
	levels := []Level{Read, Write, Deny, Read}
	for i := range n / 4 {
		p.Files = append(p.Files, FileRule{Path: MustPath(fmt.Sprintf("/srv/%d/%d/%d", i%7, i%101, i)), Level: levels[i%4]})
	}
	for i := range 3 * n / 4 {
		p.Endpoints = append(p.Endpoints, Endpoint{
			Name: fmt.Sprintf("e%d", i), Ports: []uint16{443},
			Host: HostPattern{Wildcard: Wildcard(i % 3), Name: fmt.Sprintf("h%d.example.com", i)},
		})
	}
	return p
}

// BenchmarkDecide is design 11's "one decision, 10,000 rules, canonical input".
func BenchmarkDecide(b *testing.B) {
	d := NewDecider(large(10_000))
	for _, words := range [][]string{
		{"read", "/srv/3/50/1000/deep/down/file"},
		{"stat", "/srv/3/50/nothing"},
		{"rename", "/srv/1/1/1/a", "/srv/1/1/1/b"},
		{"execute", "/usr/bin/env"},
		{"connect", "a.b.h4001.example.com:443"},
		{"connect", "nowhere.example.org:443"},
	} {
		r, err := ParseRequest(words)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(words[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Decide(r)
			}
		})
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	d := NewDecider(large(400))
	for _, words := range [][]string{
		{"read", "/srv/3/50/1000/deep"}, {"list", "/srv"}, {"stat", "/srv/3/50/nothing"}, {"write", "/srv/1/1/1/a"},
		{"create", "/srv/1/1/1/a"}, {"remove", "${workspace}/a"}, {"rename", "/srv/1/1/1/a", "/srv/1/1/1/b"}, {"link", "/srv/1/1/1/a", "${home}/x"},
		{"execute", "/usr/bin/env"}, {"connect", "a.b.h41.example.com:443"}, {"connect", "10.0.0.1:443"}, {"connect-unix", "/run/x"},
	} {
		r, err := ParseRequest(words)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(50, func() { d.Decide(r) }); n != 0 {
			t.Errorf("Decide(%s) allocates %v times, want 0", r, n)
		}
	}
}
