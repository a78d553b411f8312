package models

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
)

func policy(files ...ir.FileRule) *ir.Policy {
	return &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap, ir.Seatbelt}, Files: files, Unix: ir.UnixRule{Origin: "builtin/unix"},
	}
}

// TestAll asks every model about one policy, and each again without artifacts.
func TestAll(t *testing.T) {
	p := policy(
		ir.FileRule{Path: ir.MustPath("/usr"), Level: ir.Read, Origin: "p/filesystem.read[0]"},
		ir.FileRule{Path: ir.MustPath("${workspace}"), Level: ir.Write, Origin: "p/filesystem.write[0]"},
		ir.FileRule{Path: ir.MustPath("${workspace}/keys"), Level: ir.Deny, Origin: "p/filesystem.deny[0]"},
	)
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	asked := map[ir.Target]bool{}
	for _, m := range All() {
		asked[m.Target] = true
		answers, err := m.Model(p, files, ir.Binding{}.With(ir.Workspace, ir.MustPath("/srv/w")))
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			word ir.RequestKind
			path string
			want bool
		}{
			{ir.ReadRequest, "/usr/x", true},
			{ir.ReadRequest, "/etc/shadow", false},
			{ir.WriteRequest, "${workspace}/x", true},
			{ir.WriteRequest, "/srv/w/x", true},
			{ir.ReadRequest, "${workspace}/keys/x", false},
		} {
			r := ir.Request{Kind: tt.word, Path: ir.MustPath(tt.path)}
			if got, layer := answers.Decide(r); got != tt.want || layer == "" {
				t.Errorf("the model of %s says %v to %s by %q, want %v", m.Target, got, r, layer, tt.want)
			}
		}
		if _, err := m.Model(p, nil, ir.Binding{}); err == nil {
			t.Errorf("the model of %s reads artifacts that are missing", m.Target)
		}
	}
	if !asked[ir.Bwrap] || !asked[ir.Seatbelt] {
		t.Errorf("All() = %v, want every target of ir", asked)
	}
}

// TestNetwork asks about connections and requests: what goes by the proxy, what a
// profile lets be reached by itself, and what neither opens.
func TestNetwork(t *testing.T) {
	p := policy()
	p.Targets = []ir.Target{ir.Seatbelt}
	p.Endpoints = []ir.Endpoint{
		{
			Name: "api", Host: ir.HostPattern{Name: "api.test"}, Ports: []uint16{443}, Protocol: ir.REST, Origin: "p/network.endpoint.api",
			Requests: []ir.RequestRule{{Allow: true, Methods: []string{"GET"}, Path: "/a/**", Origin: "p/network.endpoint.api.allow[0]"}},
		},
		{Name: "ssh", Host: ir.HostPattern{Name: "ssh.test"}, Ports: []uint16{22}, Executables: []ir.Path{ir.MustPath("/usr/bin/ssh")}, Origin: "p/network.endpoint.ssh"},
	}
	p.DeniedHosts = []ir.HostRule{{Host: ir.HostPattern{Name: "bad.test"}, Origin: "p/network.deny[0]"}}
	p.Waivers = []ir.Waiver{{Target: ir.Seatbelt, Feature: ir.FeatureEndpointProgram, Reason: "r", Origin: "p/waive"}}
	open := *p
	open.Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
	closed := *policy()
	closed.Targets = p.Targets
	for _, tt := range []struct {
		request                  []string
		endpoints, open, nothing string // layer, "!" before one that denies
	}{
		{[]string{"connect", "api.test:443"}, "proxy", "proxy", "!Seatbelt"},
		{[]string{"connect", "api.test:80"}, "!proxy", "!proxy", "!Seatbelt"},
		{[]string{"connect", "bad.test:443"}, "!proxy", "!proxy", "!Seatbelt"},
		{[]string{"request", "GET", "https://api.test/a/b"}, "proxy", "proxy", "!Seatbelt"},
		{[]string{"request", "PUT", "https://api.test/a/b"}, "!proxy", "!proxy", "!Seatbelt"},
		{[]string{"connect", "ssh.test:22"}, "!proxy", "!proxy", "!Seatbelt"}, // no program is seen
		{[]string{"connect", "127.0.0.1:49152"}, "!proxy", "Seatbelt", "!Seatbelt"},
		{[]string{"connect", "localhost:49152"}, "!proxy", "Seatbelt", "!Seatbelt"},
		{[]string{"connect", "[::1]:5432"}, "!proxy", "Seatbelt", "!Seatbelt"},
		{[]string{"request", "GET", "http://localhost:8080/"}, "!proxy", "Seatbelt", "!Seatbelt"},
		{[]string{"connect", "127.0.0.2:80"}, "!proxy", "!" + Undecided, "!Seatbelt"}, // nobody measured it
		{[]string{"connect", "192.0.2.1:443"}, "!proxy", "!proxy", "!Seatbelt"},
	} {
		r, err := ir.ParseRequest(tt.request)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			policy *ir.Policy
			want   string
		}{"endpoints": {p, tt.endpoints}, "loopback": {&open, tt.open}, "nothing": {&closed, tt.nothing}} {
			allow, layer := answer(t, c.policy, r)
			if !allow {
				layer = "!" + layer
			}
			if layer != c.want {
				t.Errorf("%s: %s is %s, want %s", name, r, layer, c.want)
			}
			if means := ir.Decide(c.policy, r); allow && !means.Allow {
				t.Errorf("%s: %s is allowed by the model and denied by the policy (%s)", name, r, means.Reason)
			}
		}
	}
	r := ir.Request{Kind: ir.ConnectRequest, Host: "ssh.test", Port: 22, By: ir.MustPath("/usr/bin/ssh"), HasBy: true}
	if allow, layer := answer(t, p, r); allow {
		t.Errorf("%s is allowed by %s, which sees no program", r, layer)
	}
}

// answer is what the model of macOS says to r.
func answer(t *testing.T, p *ir.Policy, r ir.Request) (allow bool, layer string) {
	t.Helper()
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	m, err := seatbelt(p, files, ir.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Decide(r)
}
