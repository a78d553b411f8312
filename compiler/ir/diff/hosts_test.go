package diff

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"pgregory.net/rapid"
)

var (
	hostNames    = []string{"test", "a.test", "b.a.test", "c.b.a.test", "test.b.a.test", "a.b.test", "any.a.test"}
	hostRequests = append(slices.Clone(hostNames), "x.test", "x.a.test", "y.x.a.test", "x.b.a.test", "y.x.b.a.test", "z.any.a.test", "other")
	hostAddrs    = []netip.Addr{netip.MustParseAddr("10.2.0.7"), netip.MustParseAddr("2001:db8::7")}
	hostPorts    = []uint16{80, 443, 8443}
	programPaths = []ir.Path{ir.MustPath("/"), ir.MustPath("/a"), ir.MustPath("/a/b"), ir.MustPath("${home}/a"), ir.MustPath("${workspace}")}
)

func drawEndpoint(t *rapid.T, name string) ir.Endpoint {
	e := ir.Endpoint{Name: name, Origin: ir.Origin("p/network." + name)}
	if rapid.IntRange(0, 5).Draw(t, "address") == 0 {
		e.Host.Addr = rapid.SampledFrom(hostAddrs).Draw(t, "addr")
	} else {
		e.Host = ir.HostPattern{
			Wildcard: rapid.SampledFrom([]ir.Wildcard{ir.Exact, ir.OneLabel, ir.ManyLabels}).Draw(t, "wildcard"),
			Name:     rapid.SampledFrom(hostNames).Draw(t, "host"),
		}
	}
	e.Ports = rapid.SliceOfNDistinct(rapid.SampledFrom(hostPorts), 1, 2, rapid.ID[uint16]).Draw(t, "ports")
	slices.Sort(e.Ports)
	e.Protocol = rapid.SampledFrom([]ir.Protocol{ir.Web, ir.Web, ir.TLS, ir.HTTP, ir.TCP, ir.REST, ir.REST}).Draw(t, "protocol")
	if e.Protocol == ir.REST {
		e.Requests = append(e.Requests, drawRequest(t, true))
		for rapid.Bool().Draw(t, "more requests") {
			e.Requests = append(e.Requests, drawRequest(t, rapid.Bool().Draw(t, "allow")))
		}
	}
	if rapid.Bool().Draw(t, "has executables") {
		e.Executables = rapid.SliceOfNDistinct(rapid.SampledFrom(programPaths), 1, 3, rapid.ID[ir.Path]).Draw(t, "executables")
		slices.SortFunc(e.Executables, ir.Path.Compare)
	}
	return e
}

func drawRequest(t *rapid.T, allow bool) ir.RequestRule {
	return ir.RequestRule{
		Allow: allow, Methods: rapid.SampledFrom([][]string{nil, {"GET"}, {"GET", "PUT"}}).Draw(t, "methods"),
		Path: rapid.SampledFrom([]ir.PathPattern{"/**", "/a", "/a/*", "/a/**", "/*/b"}).Draw(t, "path"),
	}
}

func drawNetwork(t *rapid.T) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	for i := range rapid.IntRange(0, 5).Draw(t, "endpoints") {
		p.Endpoints = append(p.Endpoints, drawEndpoint(t, fmt.Sprintf("e%d", i)))
	}
	for range rapid.IntRange(0, 1).Draw(t, "denied") {
		p.DeniedHosts = append(p.DeniedHosts, ir.HostRule{Origin: "p/network.deny", Host: ir.HostPattern{
			Wildcard: rapid.SampledFrom([]ir.Wildcard{ir.Exact, ir.OneLabel, ir.ManyLabels}).Draw(t, "denied wildcard"),
			Name:     rapid.SampledFrom(hostNames).Draw(t, "denied host"),
		}})
	}
	return p
}

func drawNetworkPair(t *rapid.T) (*ir.Policy, *ir.Policy) {
	old, new := drawNetwork(t), drawNetwork(t)
	if rapid.Bool().Draw(t, "edit") { // endpoints in common, under other names
		new.Endpoints = append(new.Endpoints[:min(len(new.Endpoints), 1)], old.Endpoints...)
		for i := range new.Endpoints {
			new.Endpoints[i].Name = fmt.Sprintf("f%d", i)
		}
	}
	agreeing(old)
	agreeing(new)
	return old, new
}

// agreeing takes endpoints away that disagree with another, as no policy has them.
func agreeing(p *ir.Policy) {
	for list := p.Disagreements(); len(list) > 0; list = p.Disagreements() {
		name := list[0].B.Name
		p.Endpoints = slices.DeleteFunc(slices.Clone(p.Endpoints), func(e ir.Endpoint) bool { return e.Name == name })
	}
}

// matches reports whether the class that a change's scope names by pattern is one
// that the host lies in.
func inPattern(pattern, host string) bool {
	if name, ok := strings.CutPrefix(pattern, "**."); ok {
		return ir.HostPattern{Wildcard: ir.ManyLabels, Name: name}.Matches(host)
	}
	if name, ok := strings.CutPrefix(pattern, "*."); ok {
		return ir.HostPattern{Wildcard: ir.OneLabel, Name: name}.Matches(host)
	}
	return pattern == host
}

// coversHost reports whether the change tells of the request: some line of its
// scope names a pattern around the host with that port and program.
func coversHost(c Change, r ir.Request) bool {
	host, by := r.Host, ""
	if r.Addr.IsValid() {
		host = r.Addr.String()
	}
	if r.HasBy {
		by = r.By.String()
	}
	return slices.ContainsFunc(c.scope, func(line string) bool {
		words := strings.Fields(line) // pattern connect authority [by program]
		if words[0] == "not" || !inPattern(words[0], host) || !strings.HasSuffix(words[2], fmt.Sprintf(":%d", r.Port)) {
			return false
		}
		return len(words) == 3 || by != "" && ir.MustPath(words[4]).Covers(r.By)
	})
}

func TestEveryConnectionIsTold(t *testing.T) {
	asked, differed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawNetworkPair(t)
		got := Policies(old, new, nil)
		deciders := [2]*ir.Decider{ir.NewDecider(old), ir.NewDecider(new)}
		for range 40 {
			r := ir.Request{Kind: ir.ConnectRequest, Port: rapid.SampledFrom(append(hostPorts, 1)).Draw(t, "port")}
			if rapid.IntRange(0, 5).Draw(t, "by address") == 0 {
				r.Addr = rapid.SampledFrom(hostAddrs).Draw(t, "addr")
			} else {
				r.Host = rapid.SampledFrom(hostRequests).Draw(t, "host")
			}
			if rapid.Bool().Draw(t, "by") {
				r.HasBy, r.By = true, rapid.SampledFrom(programPaths).Draw(t, "program").Join(rapid.SampledFrom([]string{"", "x"}).Draw(t, "below"))
			}
			was, is := deciders[before].Decide(r), deciders[after].Decide(r)
			asked++
			if was.Allow && is.Allow {
				everyRequest(t, deciders, r, got, show(old, new, got))
			}
			if was.Allow == is.Allow || was.Depends|is.Depends != 0 {
				continue
			}
			differed++
			kind := GrantAdded
			if was.Allow {
				kind = GrantRemoved
			}
			if !slices.ContainsFunc(got.Changes, func(c Change) bool { return c.Kind == kind && coversHost(c, r) }) {
				t.Fatalf("%s is %s, and no change tells of it\n%s", r, kind, show(old, new, got))
			}
		}
	})
	if differed < 1000 {
		t.Errorf("%d of %d requests were answered differently, want 1000", differed, asked)
	}
}

// everyRequest asks about requests on a connection that both allow.
func everyRequest(t *rapid.T, deciders [2]*ir.Decider, r ir.Request, got Comparison, shown string) {
	r.Kind = ir.URLRequest
	r.Scheme = rapid.SampledFrom([]string{"http", "https"}).Draw(t, "scheme")
	r.Method = rapid.SampledFrom([]string{"GET", "PUT", "POST"}).Draw(t, "method")
	r.Target = rapid.SampledFrom([]string{"/", "/a", "/a/b", "/x/b", "/a/b/c"}).Draw(t, "target")
	was, is := deciders[before].Decide(r), deciders[after].Decide(r)
	if was.Allow == is.Allow || was.Depends|is.Depends != 0 {
		return
	}
	host, kinds := r.Host, []Kind{GrantAdded, ConnectionWidened}
	if r.Addr.IsValid() {
		host = r.Addr.String()
	}
	if was.Allow {
		kinds = []Kind{GrantRemoved, ConnectionNarrowed}
	}
	if !slices.ContainsFunc(got.Changes, func(c Change) bool {
		return slices.Contains(kinds, c.Kind) && slices.ContainsFunc(c.scope, func(line string) bool {
			words := strings.Fields(line)
			return len(words) > 0 && inPattern(strings.TrimSuffix(words[0], ","), host)
		})
	}) {
		t.Fatalf("%s was %t, is %t, and no change tells of it\n%s", r, was.Allow, is.Allow, shown)
	}
}

func TestEveryConnectionWitnessHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawNetworkPair(t)
		got := Policies(old, new, nil)
		checkWitnesses(t, old, new, got)
		for _, c := range got.Changes {
			for _, w := range c.Witnesses {
				words := strings.Fields(w.String())
				if _, err := ir.ParseRequest(words); err != nil && w.Text == "" {
					t.Fatalf("witness %s is no request: %v", w, err)
				}
			}
		}
		if a, b := mirrored(got), plainly(Policies(new, old, nil)); !slices.Equal(a, b) {
			t.Fatalf("there %v\nback %v\n%s", a, b, show(old, new, got))
		}
	})
}

func TestEndpointsInAnotherOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawNetwork(t)
		q := *p
		q.Endpoints = rapid.Permutation(p.Endpoints).Draw(t, "order")
		for i := range q.Endpoints {
			q.Endpoints[i].Name, q.Endpoints[i].Origin = fmt.Sprintf("other%d", i), "elsewhere"
		}
		if got := Policies(p, &q, nil); len(got.Changes) != 0 {
			t.Fatalf("%s", show(p, &q, got))
		}
	})
}

// TestLongNames: a class whose names would be too long for the protocol is none.
func TestLongNames(t *testing.T) {
	for _, tt := range []struct {
		bytes int
		want  string // what the witness has before the name
	}{
		{245, "any.any."},
		{246, "x.x."},
		{249, "x.x."},
		{250, "x."},
		{251, "x."},
	} {
		name := strings.Repeat(strings.Repeat("a", 62)+".", 3)
		name += strings.Repeat("b", tt.bytes-len(name))
		p := network(ir.HostPattern{Wildcard: ir.ManyLabels, Name: name})
		got := Policies(network(), p, nil)
		if len(got.Changes) != 1 || !strings.HasPrefix(got.Changes[0].Witnesses[0].Request.Host, tt.want+"aaa") {
			t.Errorf("%d bytes: %v", tt.bytes, got.Changes)
		}
		q := network(ir.HostPattern{Wildcard: ir.OneLabel, Name: name})
		if same := Policies(q, p, nil).Verdict() == Same; same != (tt.want == "x.") {
			t.Errorf("%d bytes: *. and **. are the same: %v", tt.bytes, same)
		}
	}
}

// network is a policy with an endpoint for each host.
func network(hosts ...ir.HostPattern) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	for i, h := range hosts {
		p.Endpoints = append(p.Endpoints, ir.Endpoint{Name: fmt.Sprintf("e%d", i), Host: h, Ports: []uint16{443}, Origin: "p/network"})
	}
	return p
}
