package ir

import "testing"

func TestWhyNot(t *testing.T) {
	p := rules(map[string]Level{"/srv/data": Read, "/srv/data/out": Write, "/srv/data/secret": Deny, "${workspace}": Write}, "/srv/data/bin")
	p.Endpoints = []Endpoint{
		{Name: "api", Host: HostPattern{Name: "api.example.com"}, Ports: []uint16{443}, Executables: []Path{MustPath("/usr/bin/curl")}},
		{Name: "cdn", Host: HostPattern{Wildcard: OneLabel, Name: "cdn.example.com"}, Ports: []uint16{80}},
	}
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
