package egress

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// generated is a random policy with overlapping endpoints and denied hosts.
func generated(r *rand.Rand) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	for i := range 1 + r.IntN(6) {
		e := ir.Endpoint{
			Name: fmt.Sprintf("e%d", i), Host: pattern(r), Ports: []uint16{443}, Origin: ir.Origin(fmt.Sprintf("p/network.endpoint.e%d", i)),
			Protocol: []ir.Protocol{ir.Web, ir.REST, ir.TLS, ir.HTTP, ir.TCP}[r.IntN(5)],
		}
		if r.IntN(3) == 0 {
			e.Ports = []uint16{80, 443}
		}
		if r.IntN(3) == 0 {
			e.Executables = []ir.Path{ir.MustPath("/usr/bin")}
		}
		if r.IntN(3) == 0 && !e.Host.Addr.IsValid() {
			e.Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		}
		if e.Protocol == ir.REST {
			e.Requests = requests(r, e.Origin)
		}
		p.Endpoints = append(p.Endpoints, e)
	}
	for r.IntN(2) == 0 {
		h := pattern(r)
		if !h.Addr.IsValid() && !slices.ContainsFunc(p.DeniedHosts, func(d ir.HostRule) bool { return d.Host == h }) {
			p.DeniedHosts = append(p.DeniedHosts, ir.HostRule{Host: h, Origin: ir.Origin(fmt.Sprintf("p/network.deny[%d]", len(p.DeniedHosts)))})
		}
	}
	slices.SortFunc(p.DeniedHosts, func(a, b ir.HostRule) int { return strings.Compare(a.Host.String(), b.Host.String()) })
	for list := p.Disagreements(); len(list) > 0; list = p.Disagreements() {
		name := list[0].B.Name
		p.Endpoints = slices.DeleteFunc(p.Endpoints, func(e ir.Endpoint) bool { return e.Name == name })
	}
	return p
}

func requests(r *rand.Rand, o ir.Origin) []ir.RequestRule {
	out := []ir.RequestRule{{Allow: true, Path: ir.PathPattern([]string{"/**", "/a/*", "/a/**/b"}[r.IntN(3)]), Origin: o + ".allow[0]"}}
	if r.IntN(2) == 0 {
		out[0].Methods = []string{"GET", "PUT"}
	}
	if r.IntN(2) == 0 {
		out = append(out, ir.RequestRule{Methods: []string{"PUT"}, Path: ir.PathPattern([]string{"/**", "/a/*/b"}[r.IntN(2)]), Origin: o + ".deny[0]"})
	}
	return out
}

func pattern(r *rand.Rand) ir.HostPattern {
	if r.IntN(8) == 0 {
		return ir.HostPattern{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(2))})}
	}
	return ir.HostPattern{Wildcard: ir.Wildcard(r.IntN(3)), Name: names(r, 2)}
}

func names(r *rand.Rand, most int) string {
	out := "test"
	for range r.IntN(most + 1) {
		out = string('a'+rune(r.IntN(2))) + "." + out
	}
	return out
}

// TestTableAgainstDecide asks both what a policy means: the table of its own text and
// ir.Decide, which share no decision.
func TestTableAgainstDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	var allowed, denied, byRequest int
	for range 400 {
		p := generated(r)
		if err := p.Check(); err != nil {
			t.Fatalf("%v\n%s", err, p.JSON())
		}
		rules, err := Parse(Compile(p).JSON())
		if err != nil {
			t.Fatal(err)
		}
		table, means := NewTable(rules), ir.NewDecider(p)
		for range 250 {
			q := ir.Request{Kind: ir.ConnectRequest, Port: []uint16{80, 443, 22}[r.IntN(3)]}
			if q.Host = names(r, 4); r.IntN(8) == 0 {
				q.Host, q.Addr = "", netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(3))})
			}
			if e := p.Endpoints[r.IntN(len(p.Endpoints))]; r.IntN(3) > 0 {
				q.Host, q.Addr, q.Port = e.Host.Name, e.Host.Addr, e.Ports[0]
				for range e.Host.Wildcard {
					q.Host = "x." + q.Host
				}
			}
			if r.IntN(2) == 0 {
				q.HasBy, q.By = true, ir.MustPath([]string{"/usr/bin/x", "/opt/x"}[r.IntN(2)])
			}
			peer, client := Peer{q.Host, q.Addr, q.Port}, Client{q.HasBy, q.By}
			a := table.Connect(peer, client)
			if r.IntN(2) == 0 {
				q.Kind, q.Method, q.Scheme = ir.URLRequest, []string{"GET", "PUT", "POST"}[r.IntN(3)], []string{"http", "https"}[r.IntN(2)]
				q.Target = []string{"/", "/a", "/a/", "/a/x", "/a/x/b", "/a/b"}[r.IntN(6)]
				a = table.Request(peer, client, q.Scheme, q.Method, q.Target)
			}
			d := means.Decide(q)
			if a.Allow != d.Allow {
				t.Fatalf("%s: the table says %t (%s), the policy %t (%s)\n%s", q, a.Allow, a.Reason(peer), d.Allow, d.Reason, p.JSON())
			}
			if (a.Failed == "") != a.Allow || a.Reason(peer) == "" {
				t.Fatalf("%s: the answer %+v has no reason", q, a)
			}
			switch {
			case !a.Allow:
				denied++
			case q.Kind == ir.URLRequest && a.Endpoint.Protocol == ir.REST:
				byRequest++
			default:
				allowed++
			}
		}
	}
	if all := allowed + denied + byRequest; allowed+byRequest < all/6 || byRequest < all/50 || denied < all/3 {
		t.Errorf("%d allowed, %d of requests, %d denied: one of them says too little", allowed, byRequest, denied)
	}
}

// TestReasons has a row for each dimension.
func TestReasons(t *testing.T) {
	table := NewTable(&Rules{
		Policy: "p",
		Endpoints: []ir.Endpoint{
			{Name: "api", Host: ir.HostPattern{Name: "api.example.com"}, Ports: []uint16{443}, Protocol: ir.REST, Origin: "p/network.endpoint.api", Requests: []ir.RequestRule{
				{Allow: true, Methods: []string{"GET"}, Path: "/repos/**", Origin: "p/network.endpoint.api.allow[0]"},
				{Path: "/repos/secret", Origin: "p/network.endpoint.api.deny[0]"},
			}},
			{Name: "git", Host: ir.HostPattern{Name: "git.example.com"}, Ports: []uint16{443}, Executables: []ir.Path{ir.MustPath("/usr/bin/git")}, Protocol: ir.TLS, Origin: "p/network.endpoint.git"},
			{Name: "ten", Host: ir.HostPattern{Addr: netip.MustParseAddr("10.0.0.7")}, Ports: []uint16{80}, Origin: "p/network.endpoint.ten"},
		},
		Denied: []ir.HostRule{{Host: ir.HostPattern{Wildcard: ir.OneLabel, Name: "ads.example.com"}, Origin: "p/network.deny[0]"}},
	})
	// Of two that are for other ports, the one that this program may use is nearer.
	two := NewTable(&Rules{Policy: "p", Endpoints: []ir.Endpoint{
		{Name: "a", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{1}, Executables: []ir.Path{ir.MustPath("/usr/bin/git")}, Origin: "p/a"},
		{Name: "b", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{2}, Origin: "p/b"},
	}})
	if a := two.Connect(Peer{Host: "a.test", Port: 3}, Client{true, ir.MustPath("/usr/bin/curl")}); a.Failed != Port || a.Rule != "p/b" {
		t.Errorf("the nearest is %+v, want p/b", a)
	}
	known := Client{true, ir.MustPath("/usr/bin/git")}
	for _, tt := range []struct {
		peer   Peer
		answer func(Peer) Answer
		failed Dimension
		rule   ir.Origin
		says   string
	}{
		{Peer{Host: "x.ads.example.com", Port: 443}, func(p Peer) Answer { return table.Connect(p, known) }, DeniedHost, "p/network.deny[0]", "denies the host x.ads.example.com"},
		{Peer{Host: "x.api.example.com", Port: 443}, func(p Peer) Answer { return table.Connect(p, known) }, Host, "p/network.endpoint.api", "the nearest is api.example.com"},
		{Peer{Host: "other.test", Port: 443}, func(p Peer) Answer { return table.Connect(p, known) }, Host, "", "no endpoint of the policy names other.test"},
		{Peer{Addr: netip.MustParseAddr("10.0.0.8"), Port: 80}, func(p Peer) Answer { return table.Connect(p, known) }, Host, "", "names 10.0.0.8"},
		{Peer{Addr: netip.MustParseAddr("10.0.0.7"), Port: 80}, func(p Peer) Answer { return table.Connect(p, known) }, "", "p/network.endpoint.ten", "10.0.0.7:80 is allowed"},
		{Peer{Host: "git.example.com", Port: 22}, func(p Peer) Answer { return table.Connect(p, known) }, Port, "p/network.endpoint.git", "no endpoint for git.example.com is for port 22; the nearest is for port 443"},
		{Peer{Host: "git.example.com", Port: 443}, func(p Peer) Answer { return table.Connect(p, Client{}) }, Program, "p/network.endpoint.git", "by /usr/bin/git alone"},
		{Peer{Host: "git.example.com", Port: 443}, func(p Peer) Answer { return table.Address(p, known, netip.MustParseAddr("127.0.0.1")) }, Address, "p/network.endpoint.git", "127.0.0.0/8"},
		{Peer{Host: "git.example.com", Port: 443}, func(p Peer) Answer { return table.Request(p, known, "http", "GET", "/") }, Protocol, "p/network.endpoint.git", "TLS that names its host"},
		{Peer{Host: "api.example.com", Port: 443}, func(p Peer) Answer { return table.Request(p, known, "https", "POST", "/repos/x") }, Method, "p/network.endpoint.api", "other methods"},
		{Peer{Host: "api.example.com", Port: 443}, func(p Peer) Answer { return table.Request(p, known, "https", "GET", "/users") }, Path, "p/network.endpoint.api", "allows no such request"},
		{Peer{Host: "api.example.com", Port: 443}, func(p Peer) Answer { return table.Request(p, known, "https", "GET", "/repos/secret") }, Path, "p/network.endpoint.api.deny[0]", "denies this request"},
		{Peer{Host: "api.example.com", Port: 443}, func(p Peer) Answer { return table.Request(p, known, "https", "GET", "/repos/x") }, "", "p/network.endpoint.api.allow[0]", "is allowed"},
	} {
		a := tt.answer(tt.peer)
		if a.Failed != tt.failed || a.Allow != (tt.failed == "") || a.Rule != tt.rule || !strings.Contains(a.Reason(tt.peer), tt.says) {
			t.Errorf("%s: %+v, %q; want %q by %q, and %q in it", tt.peer, a, a.Reason(tt.peer), tt.failed, tt.rule, tt.says)
		}
	}
}

// TestParseRefuses: what JSON does not write is no egress.json.
func TestParseRefuses(t *testing.T) {
	good := string(Compile(&ir.Policy{Name: "p", Endpoints: []ir.Endpoint{{Name: "a", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/a"}}}).JSON())
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"a.test"`, `"A.test"`}, {`"a.test"`, `"*"`}, {`[443]`, `[443,80]`}, {`[443]`, `[]`}, {`[443]`, `[0]`}, {`"name":"a"`, `"name":"A"`},
		{`"obspc.egress/v1"`, `"obspc.egress/v2"`}, {`"ports"`, `"protocol":"rest","ports"`}, {`"ports"`, `"protocol":"gopher","ports"`}, {`"ports"`, `"more":1,"ports"`},
	} {
		if text := strings.Replace(good, change[0], change[1], 1); text == good {
			t.Errorf("%s holds no %s", good, change[0])
		} else if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse accepts %s", text)
		}
	}
}

func many(n int) *Table {
	r := &Rules{Policy: "p"}
	for i := range n {
		r.Endpoints = append(r.Endpoints, ir.Endpoint{Name: fmt.Sprintf("e%05d", i), Host: ir.HostPattern{Name: fmt.Sprintf("h%d.d%d.example.com", i, i%100)}, Ports: []uint16{443}, Origin: "p/e"})
	}
	return NewTable(r)
}

// TestTableAllocates: no answer does.
func TestTableAllocates(t *testing.T) {
	table, peer := many(1000), Peer{Host: "h7.d7.example.com", Port: 443}
	if n := testing.AllocsPerRun(100, func() {
		table.NeedsProgram(peer)
		table.Address(peer, Client{}, netip.AddrFrom4([4]byte{8, 8, 8, 8}))
		table.Request(peer, Client{}, "https", "GET", "/a/b")
		table.Connect(Peer{Host: "x." + peer.Host, Port: 443}, Client{})
	}); n > 1 { // the name of the last one
		t.Errorf("four answers allocate %v times", n)
	}
}

func BenchmarkConnect(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		table, peer := many(n), Peer{Host: "h7.d7.example.com", Port: 443}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !table.Connect(peer, Client{}).Allow {
					b.Fatal("denied")
				}
			}
		})
	}
}
