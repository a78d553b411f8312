package ir

import (
	"net/netip"
	"strings"
	"testing"
)

func TestWhyNot(t *testing.T) {
	p := rules(map[string]Level{"/srv/data": Read, "/srv/data/out": Write, "/srv/data/secret": Deny, "${workspace}": Write}, "/srv/data/bin")
	p.Endpoints = []Endpoint{
		{Name: "api", Host: HostPattern{Name: "api.example.com"}, Ports: []uint16{443}, Executables: []Path{MustPath("/usr/bin/curl")}},
		{Name: "cdn", Host: HostPattern{Wildcard: OneLabel, Name: "cdn.example.com"}, Ports: []uint16{80}},
		{Name: "rest", Host: HostPattern{Name: "rest.example.com"}, Ports: []uint16{443}, Protocol: REST, Requests: []RequestRule{
			{Allow: true, Methods: []string{"GET"}, Path: "/repos/*/issues/**"}, {Allow: true, Methods: []string{"PUT"}, Path: "/users"}, {Path: "/repos/secret/**"},
		}},
		{Name: "tls", Host: HostPattern{Name: "tls.example.com"}, Ports: []uint16{443}, Protocol: TLS},
		{Name: "ten", Host: HostPattern{Addr: netip.MustParseAddr("10.0.0.7")}, Ports: []uint16{80}},
	}
	p.DeniedHosts = []HostRule{{Host: HostPattern{Wildcard: ManyLabels, Name: "ads.example.com"}}}
	for _, tt := range []struct {
		words  []string
		rule   string
		failed Dimension
	}{
		{[]string{"write", "/srv/data/x"}, "read /srv/data", LevelDimension},
		{[]string{"read", "/srv/data/secret/k"}, "deny /srv/data/secret", LevelDimension},
		{[]string{"read", "/srv/other"}, "read /srv/data", PathDimension},
		{[]string{"rename", "/srv/data/out/a", "/srv/data/b"}, "read /srv/data", LevelDimension},
		{[]string{"remove", "/srv/data/out"}, "write /srv/data/out", NameDimension},
		{[]string{"rename", "${workspace}", "/srv/data/out/x"}, "write ${workspace}", NameDimension},
		{[]string{"execute", "/srv/data/x"}, "execute /srv/data/bin", PathDimension},
		{[]string{"execute", "/srv/data/secret/x"}, "deny /srv/data/secret", LevelDimension},
		{[]string{"connect-unix", "/srv/data/s"}, `unix = "none"`, LevelDimension},
		{[]string{"connect", "api.example.com:443"}, "endpoint api.example.com:443 by /usr/bin/curl", ProgramDimension},
		{[]string{"connect", "api.example.com:80", "by", "/usr/bin/curl"}, "endpoint api.example.com:443 by /usr/bin/curl", PortDimension},
		{[]string{"connect", "x.cdn.example.com:443"}, "endpoint *.cdn.example.com:80", PortDimension},
		{[]string{"connect", "cdn.example.com:80"}, "endpoint *.cdn.example.com:80", HostDimension},
		{[]string{"connect", "x.ads.example.com:443"}, "deny **.ads.example.com", DeniedDimension},
		{[]string{"connect", "10.0.0.7:443"}, "endpoint 10.0.0.7:80", PortDimension},
		{[]string{"request", "GET", "http://x.ads.example.com/"}, "deny **.ads.example.com", DeniedDimension},
		{[]string{"request", "GET", "https://rest.example.com/repos/secret/issues/1"}, "deny any method /repos/secret/**", DeniedDimension},
		{[]string{"request", "POST", "https://rest.example.com/repos/a/issues/1"}, "allow GET /repos/*/issues/**", MethodDimension},
		{[]string{"request", "GET", "https://rest.example.com/repos/a/pulls"}, "allow GET /repos/*/issues/**", PathDimension},
		{[]string{"request", "GET", "https://rest.example.com/users/a"}, "allow PUT /users", PathDimension},
		{[]string{"request", "GET", "http://tls.example.com:443/"}, "endpoint tls.example.com:443, tls", ProtocolDimension},
		{[]string{"request", "GET", "https://tls.example.com:444/"}, "endpoint tls.example.com:443, tls", PortDimension},
		{[]string{"request", "GET", "https://api.example.com/"}, "endpoint api.example.com:443 by /usr/bin/curl", ProgramDimension},
	} {
		r, err := ParseRequest(tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if Decide(p, r).Allow {
			t.Fatalf("Decide(%s) allows it; the case says nothing", r)
		}
		if got := WhyNot(p, r); got.Rule == nil || got.Rule.String() != tt.rule || got.Failed != tt.failed {
			t.Errorf("WhyNot(%s) = %v failed by %q, want %s by %q", r, got.Rule, got.Failed, tt.rule, tt.failed)
		}
	}
}

func TestChain(t *testing.T) {
	d := NewDecider(rules(map[string]Level{"/": Read, "/srv": Deny, "/srv/a": Read, "${workspace}": Write}))
	for path, want := range map[string][]string{
		"/srv/a/b":       {"read /srv/a", "deny /srv", "read /"},
		"/etc":           {"read /"},
		"${workspace}/x": {"write ${workspace}", "read /"},
	} {
		var got []string
		for _, r := range d.Chain(MustPath(path)) {
			got = append(got, r.String())
		}
		if len(got) != len(want) {
			t.Fatalf("Chain(%s) = %q, want %q", path, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("Chain(%s) = %q, want %q", path, got, want)
			}
		}
	}
}

// TestNetworkChain: what decides stands first, and behind it what would without it.
func TestNetworkChain(t *testing.T) {
	p := &Policy{Name: "p", DeniedHosts: []HostRule{{Host: HostPattern{Name: "b.test"}, Origin: "p/deny"}}, Loopback: LoopbackRule{Host: true, Origin: "p/loopback"}, Endpoints: []Endpoint{
		{Name: "all", Host: HostPattern{Wildcard: ManyLabels, Name: "test"}, Ports: []uint16{443}, Protocol: REST, Origin: "p/all", Requests: []RequestRule{{Allow: true, Path: "/**", Origin: "p/all.allow"}, {Path: "/x/**", Origin: "p/all.deny"}}},
		{Name: "one", Host: HostPattern{Name: "a.test"}, Ports: []uint16{443}, Protocol: REST, Origin: "p/one", Requests: []RequestRule{{Allow: true, Methods: []string{"GET"}, Path: "/x/y", Origin: "p/one.allow"}}},
		{Name: "other", Host: HostPattern{Name: "localhost"}, Ports: []uint16{80}, Origin: "p/other"},
	}}
	for text, want := range map[string]string{
		"connect a.test:443":              "p/one p/all",
		"connect a.test:80":               "",
		"connect b.test:443":              "p/deny p/all",
		"connect localhost:80":            "p/loopback p/other",
		"request GET https://a.test/x/y":  "p/all.deny p/all.allow p/one.allow p/all p/one",
		"request PUT https://a.test/z":    "p/all.allow p/all p/one",
		"request GET https://b.test/x":    "p/deny p/all.deny p/all.allow p/all",
		"request GET https://a.test:80/z": "",
	} {
		r, err := ParseRequest(strings.Fields(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, rule := range p.NetworkChain(r) {
			got = append(got, string(rule.From()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("NetworkChain(%s) = %q, want %q", r, got, want)
		}
	}
}
