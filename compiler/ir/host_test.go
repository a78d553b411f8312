package ir

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// refusedHosts are spellings that one parser reads as a name and another as
// something else, or not at all.
var refusedHosts = []struct{ name, host string }{
	{"empty", ""},
	{"a dot", "."},
	{"two trailing dots", "example.com.."},
	{"leading dot", ".example.com"},
	{"empty label", "a..example.com"},
	{"NUL", "evil.test\x00.good.test"},
	{"percent NUL", "evil.test%00.good.test"},
	{"percent dot", "evil%2eexample%2ecom"},
	{"tab", "example.com\t"},
	{"carriage return", "example.com\r"},
	{"newline", "good.test\nevil.test"},
	{"space inside", "exa mple.com"},
	{"space before", " example.com"},
	{"user", "good.test@evil.test"},
	{"port", "example.com:443"},
	{"slash", "example.com/x"},
	{"backslash", `example.com\x`},
	{"question mark", "example.com?x"},
	{"hash", "example.com#x"},
	{"wildcard", "*.example.com"},
	{"underscore", "a_b.example.com"},
	{"hyphen first", "-a.example.com"},
	{"hyphen last", "a-.example.com"},
	{"long label", strings.Repeat("a", 64) + ".com"},
	{"long name", strings.Repeat("a.", 127) + "com"},
	{"bad punycode", "xn--a.example.com"},
	{"invalid UTF-8", "\xff.example.com"},
	{"soft hyphen alone", "\u00ad"},
	{"IPv4", "10.0.0.1"},
	{"IPv4 with a dot", "10.0.0.1."},
	{"IPv4 in full-width digits", "１０.0.0.1"},
	{"IPv4 with ideographic dots", "10。0。0。1"},
	{"IPv4 decimal", "2130706433"},
	{"IPv4 hexadecimal", "0x7f.1"},
	{"IPv4 hexadecimal whole", "0x7f000001"},
	{"IPv4 hexadecimal upper case", "0X7F.0X1"},
	{"IPv4 octal", "0177.0.0.1"},
	{"IPv4 short", "127.1"},
	{"ends in a number", "example.1"},
	{"ends in 0x", "example.0x"},
	{"IPv6", "::1"},
	{"IPv6 in brackets", "[::1]"},
	{"IPv4-mapped", "[::ffff:127.0.0.1]"},
	{"IPv6 with a zone", "fe80::1%eth0"},
	{"IPv6 with a zone in brackets", "[fe80::1%25eth0]"},
}

func TestCanonicalHostRefuses(t *testing.T) {
	for _, tt := range refusedHosts {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := CanonicalHost(tt.host); !errors.Is(err, ErrHostMalformed) {
				t.Errorf("CanonicalHost(%q) = %q, %v, want ErrHostMalformed", tt.host, got, err)
			}
		})
	}
}

// canonicalHosts are spellings and the one form that each has.
var canonicalHosts = []struct{ name, host, want string }{
	{"itself", "api.example.com", "api.example.com"},
	{"upper case", "API.Example.COM", "api.example.com"},
	{"trailing dot", "example.com.", "example.com"},
	{"ideographic trailing dot", "example.com。", "example.com"},
	{"ideographic dot", "example。com", "example.com"},
	{"one label", "localhost", "localhost"},
	{"digits first", "3com.com", "3com.com"},
	{"digit label", "1.example.com", "1.example.com"},
	{"hyphens at three and four", "r3---sn-abc.example.com", "r3---sn-abc.example.com"},
	{"German", "bücher.example", "xn--bcher-kva.example"},
	{"German, upper case", "BÜCHER.example", "xn--bcher-kva.example"},
	{"German, decomposed", "bu\u0308cher.example", "xn--bcher-kva.example"},
	{"A-label", "XN--BCHER-KVA.example", "xn--bcher-kva.example"},
	{"sharp s is not ss", "straße.example", "xn--strae-oqa.example"},
	{"Cyrillic a is not a", "\u0430pple.com", "xn--pple-43d.com"},
	{"full-width", "ｅｘａｍｐｌｅ.com", "example.com"},
	{"soft hyphen", "exam\u00adple.com", "example.com"},
	{"metadata", "Metadata.Google.Internal.", "metadata.google.internal"},
	{"longest label", strings.Repeat("a", 63) + ".com", strings.Repeat("a", 63) + ".com"},
}

func TestCanonicalHost(t *testing.T) {
	for _, tt := range canonicalHosts {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := CanonicalHost(tt.host); err != nil || got != tt.want {
				t.Errorf("CanonicalHost(%q) = %q, %v, want %q", tt.host, got, err, tt.want)
			}
		})
	}
}

// FuzzCanonicalHost wants one form: what is canonical stays as it is, is plain
// ASCII, and no parser of addresses takes it for one.
func FuzzCanonicalHost(f *testing.F) {
	for _, tt := range refusedHosts {
		f.Add(tt.host)
	}
	for _, tt := range canonicalHosts {
		f.Add(tt.host)
	}
	f.Fuzz(func(t *testing.T, name string) {
		host, err := CanonicalHost(name)
		if err != nil {
			return
		}
		if again, err := CanonicalHost(host); err != nil || again != host {
			t.Errorf("CanonicalHost(%q) = %q, and CanonicalHost of that is %q, %v", name, host, again, err)
		}
		if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || len(host) > 253 || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
			t.Errorf("CanonicalHost(%q) = %q, which is no plain host name", name, host)
		}
		if _, err := netip.ParseAddr(host); err == nil {
			t.Errorf("CanonicalHost(%q) = %q, which is an address", name, host)
		}
	})
}

func TestHostPatternMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern HostPattern
		host    string
		want    bool
	}{
		{HostPattern{Name: "example.com"}, "example.com", true},
		{HostPattern{Name: "example.com"}, "a.example.com", false},
		{HostPattern{OneLabel, "example.com", netip.Addr{}}, "a.example.com", true},
		{HostPattern{OneLabel, "example.com", netip.Addr{}}, "a.b.example.com", false},
		{HostPattern{OneLabel, "example.com", netip.Addr{}}, "example.com", false},
		{HostPattern{OneLabel, "example.com", netip.Addr{}}, ".example.com", false},
		{HostPattern{OneLabel, "example.com", netip.Addr{}}, "axexample.com", false},
		{HostPattern{ManyLabels, "example.com", netip.Addr{}}, "a.example.com", true},
		{HostPattern{ManyLabels, "example.com", netip.Addr{}}, "a.b.c.example.com", true},
		{HostPattern{ManyLabels, "example.com", netip.Addr{}}, "example.com", false},
		{HostPattern{ManyLabels, "example.com", netip.Addr{}}, "xexample.com", false},
		{HostPattern{Addr: netip.MustParseAddr("10.0.0.1")}, "10.0.0.1", false},
	} {
		if got := tt.pattern.Matches(tt.host); got != tt.want {
			t.Errorf("%s.Matches(%q) = %v, want %v", tt.pattern, tt.host, got, tt.want)
		}
	}
}

// TestConnectAgainstPatterns compares the indexed look-up with one walk over all
// endpoints.
func TestConnectAgainstPatterns(t *testing.T) {
	asked, allowed := 0, 0
	hosts := []string{"a.test", "b.a.test", "c.b.a.test", "xa.test", "b.test", "test"}
	programs := []Path{MustPath("/bin/x"), MustPath("/bin/y"), MustPath("/bin")}
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::1")}
	rapid.Check(t, func(t *rapid.T) {
		p := &Policy{}
		for range rapid.IntRange(1, 5).Draw(t, "endpoints") {
			e := Endpoint{Ports: rapid.SliceOfNDistinct(rapid.Uint16Range(1, 3), 1, 2, rapid.ID[uint16]).Draw(t, "ports")}
			if rapid.IntRange(0, 4).Draw(t, "by address") == 0 {
				e.Host.Addr = rapid.SampledFrom(addrs).Draw(t, "address")
			} else {
				e.Host.Name = rapid.SampledFrom(hosts).Draw(t, "host")
				e.Host.Wildcard = rapid.SampledFrom([]Wildcard{Exact, OneLabel, ManyLabels}).Draw(t, "wildcard")
			}
			e.Executables = rapid.SliceOfNDistinct(rapid.SampledFrom(programs), 0, 2, rapid.ID[Path]).Draw(t, "by")
			p.Endpoints = append(p.Endpoints, e)
		}
		d := NewDecider(p)
		for range 8 {
			r := Request{Kind: ConnectRequest, Port: rapid.Uint16Range(1, 3).Draw(t, "port")}
			if rapid.IntRange(0, 4).Draw(t, "an address") == 0 {
				r.Addr = rapid.SampledFrom(addrs).Draw(t, "address")
			} else {
				r.Host = rapid.SampledFrom(hosts).Draw(t, "host")
			}
			if r.HasBy = rapid.Bool().Draw(t, "has by"); r.HasBy {
				r.By = rapid.SampledFrom(programs).Draw(t, "by")
			}
			want := false
			for _, e := range p.Endpoints {
				named := r.Addr.IsValid() && e.Host.Addr == r.Addr || !r.Addr.IsValid() && e.Host.Matches(r.Host)
				want = want || named && e.Admits(r)
			}
			got := d.Decide(r)
			if got.Allow != want || got.Allow != (got.Rule != nil) {
				t.Fatalf("Decide(%s) = %v by %v, want %v of %v", r, got.Allow, got.Rule, want, p.Endpoints)
			}
			asked++
			if got.Allow {
				allowed++
			}
		}
	})
	if 3*allowed < asked && asked-allowed > 50 {
		t.Logf("%d of %d connections were allowed", allowed, asked)
	}
	if allowed < 500 || asked-allowed < 500 {
		t.Errorf("%d of %d connections were allowed, want 500 of each answer", allowed, asked)
	}
}
