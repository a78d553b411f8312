package seatbelt

import (
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestArguments: each bound slot and the port are parameters, and nothing else is.
func TestArguments(t *testing.T) {
	b := ir.Binding{}.With(ir.Workspace, ir.MustPath("/Users/u/a=b -D")).With(ir.Home, ir.MustPath("/Users/u"))
	for _, tt := range []struct {
		proxy uint16
		want  []string
	}{
		{0, []string{"-p", "(version 1)", "-D", "HOME=/Users/u", "-D", "WORKSPACE=/Users/u/a=b -D"}},
		{49152, []string{"-p", "(version 1)", "-D", "HOME=/Users/u", "-D", "WORKSPACE=/Users/u/a=b -D", "-D", "PROXY=49152"}},
	} {
		if got := Arguments("(version 1)", b, tt.proxy); !slices.Equal(got, tt.want) {
			t.Errorf("Arguments(%d) = %q, want %q", tt.proxy, got, tt.want)
		}
	}
}

// TestProxyIsNeeded: a profile that opens the proxy's port is refused without one.
func TestProxyIsNeeded(t *testing.T) {
	p := statements("read=[/usr]")
	p.Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}}
	profile, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for r := range numReleases {
		for _, tt := range []struct {
			params map[string]string
			fails  bool
		}{{nil, true}, {map[string]string{ProxyParameter: "49152"}, false}} {
			if _, err := load(profile, release(r), tt.params); (err != nil) != tt.fails {
				t.Errorf("load on %s with %v = %v", release(r), tt.params, err)
			}
		}
	}
}
