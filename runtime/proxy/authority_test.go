package proxy

import (
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/egress"
)

func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(r) }

var authorities = []struct {
	name, text string
	want       egress.Peer // zero: refused
}{
	{"name", "api.test:443", egress.Peer{Host: "api.test", Port: 443}},
	{"upper case", "API.Test:443", egress.Peer{Host: "api.test", Port: 443}},
	{"trailing dot", "api.test.:443", egress.Peer{Host: "api.test", Port: 443}},
	{"A-label", "xn--bcher-kva.test:443", egress.Peer{Host: "xn--bcher-kva.test", Port: 443}},
	{"first port", "a.test:1", egress.Peer{Host: "a.test", Port: 1}},
	{"last port", "a.test:65535", egress.Peer{Host: "a.test", Port: 65535}},
	{"IPv4", "10.0.0.7:443", egress.Peer{Addr: netip.MustParseAddr("10.0.0.7"), Port: 443}},
	{"IPv6", "[2001:db8::7]:443", egress.Peer{Addr: netip.MustParseAddr("2001:db8::7"), Port: 443}},
	{"IPv6 in full", "[2001:0DB8:0:0:0:0:0:7]:443", egress.Peer{Addr: netip.MustParseAddr("2001:db8::7"), Port: 443}},

	{"nothing", "", egress.Peer{}},
	{"no host", ":443", egress.Peer{}},
	{"no port", "a.test", egress.Peer{}},
	{"empty port", "a.test:", egress.Peer{}},
	{"port 0", "a.test:0", egress.Peer{}},
	{"port 65536", "a.test:65536", egress.Peer{}},
	{"port with a zero in front", "a.test:0443", egress.Peer{}},
	{"port with a sign", "a.test:+443", egress.Peer{}},
	{"negative port", "a.test:-1", egress.Peer{}},
	{"port in hexadecimal", "a.test:0x1bb", egress.Peer{}},
	{"named port", "a.test:https", egress.Peer{}},
	{"two ports", "a.test:443:80", egress.Peer{}},
	{"port with a space", "a.test: 443", egress.Peer{}},
	{"port in other digits", "a.test:４４３", egress.Peer{}},
	{"user", "a.test@b.test:443", egress.Peer{}},
	{"user and password", "u:p@b.test:443", egress.Peer{}},
	{"path", "a.test/x:443", egress.Peer{}},
	{"path behind the port", "a.test:443/", egress.Peer{}},
	{"NUL", "a.test\x00.b.test:443", egress.Peer{}},
	{"escaped NUL", "a.test%00.b.test:443", egress.Peer{}},
	{"escaped dot", "a%2etest:443", egress.Peer{}},
	{"backslash", `a.test\b.test:443`, egress.Peer{}},
	{"space", "a. test:443", egress.Peer{}},
	{"newline", "a.test\nb.test:443", egress.Peer{}},
	{"underscore", "a_b.test:443", egress.Peer{}},
	{"two trailing dots", "a.test..:443", egress.Peer{}},
	{"leading dot", ".a.test:443", egress.Peer{}},
	{"wildcard", "*.test:443", egress.Peer{}},
	{"homograph", "\u0430pple.test:443", egress.Peer{}},
	{"ideographic dot", "a。test:443", egress.Peer{}},
	{"full width", "ａ.test:443", egress.Peer{}},
	{"invalid UTF-8", "\xff.test:443", egress.Peer{}},
	{"long name", strings.Repeat("a.", 130) + "test:443", egress.Peer{}},
	{"IPv4 decimal", "2130706433:443", egress.Peer{}},
	{"IPv4 hexadecimal", "0x7f000001:443", egress.Peer{}},
	{"IPv4 hexadecimal by bytes", "0x7f.0x0.0x0.0x1:443", egress.Peer{}},
	{"IPv4 octal", "0177.0.0.1:443", egress.Peer{}},
	{"IPv4 octal with zeros", "127.000.000.001:443", egress.Peer{}},
	{"IPv4 of two parts", "127.1:443", egress.Peer{}},
	{"IPv4 of three parts", "127.0.1:443", egress.Peer{}},
	{"IPv4 past a byte", "127.0.0.256:443", egress.Peer{}},
	{"IPv4 of five parts", "127.0.0.0.1:443", egress.Peer{}},
	{"IPv4 with a dot", "127.0.0.1.:443", egress.Peer{}},
	{"IPv4 in brackets", "[127.0.0.1]:443", egress.Peer{}},
	{"IPv4-mapped", "[::ffff:127.0.0.1]:443", egress.Peer{}},
	{"IPv4-mapped in hexadecimal", "[::ffff:7f00:1]:443", egress.Peer{}},
	{"zone", "[fe80::1%eth0]:443", egress.Peer{}},
	{"escaped zone", "[fe80::1%25eth0]:443", egress.Peer{}},
	{"name in brackets", "[a.test]:443", egress.Peer{}},
	{"no closing bracket", "[::1:443", egress.Peer{}},
	{"IPv6 without brackets", "::1:443", egress.Peer{}},
	{"IPv6 without a port", "[::1]", egress.Peer{}},
	{"something behind the bracket", "[::1]x:443", egress.Peer{}},
	{"two brackets", "[[::1]]:443", egress.Peer{}},
}

func TestParseAuthority(t *testing.T) {
	for _, tt := range authorities {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAuthority(tt.text, 0)
			if got != tt.want || (err == nil) != (tt.want != egress.Peer{}) {
				t.Errorf("parseAuthority(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
			}
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' && r != '…' }) {
				t.Errorf("parseAuthority(%q): %q would not be safe to print", tt.text, err)
			}
		})
	}
	if got, err := parseAuthority("a.test", 80); err != nil || got.Port != 80 {
		t.Errorf("parseAuthority with a default port = %+v, %v", got, err)
	}
}

// TestAuthoritiesAreNotDialled sends every spelling to a proxy that would connect to
// what it could be taken for.
func TestAuthoritiesAreNotDialled(t *testing.T) {
	l := newLab(t, nil, endpoint("a.test", "tcp", 443), endpoint("b.test", "tcp", 443), endpoint("127.0.0.1", "tcp", 443), endpoint("::1", "tcp", 443))
	for _, tt := range authorities {
		if (tt.want != egress.Peer{}) || strings.ContainsAny(tt.text, " \n\x00") || tt.text == "" {
			continue
		}
		if status, body := l.talk().say("CONNECT %s HTTP/1.1\r\nHost: a.test:443\r\n\r\n", tt.text).answer("CONNECT"); status != 400 {
			t.Errorf("%s: CONNECT %s = %d %s, want 400", tt.name, tt.text, status, body)
		}
		if e := l.event(); e.Decision != Denied || e.Dimension != "request" {
			t.Errorf("%s: event %+v", tt.name, e)
		}
	}
	if resolved, dialled := l.lookups(); resolved+dialled != 0 {
		t.Errorf("%d were resolved and %d dialled", resolved, dialled)
	}
}

func FuzzAuthority(f *testing.F) {
	for _, tt := range authorities {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseAuthority(text, 0)
		if err != nil {
			return
		}
		if p.Port == 0 || (p.Host == "") != p.Addr.IsValid() || p.Addr.Is4In6() || p.Addr.Zone() != "" {
			t.Errorf("parseAuthority(%q) = %+v", text, p)
		}
		if again, err := parseAuthority(authorityOf(p, 0), 0); err != nil || again != p {
			t.Errorf("parseAuthority(%q) = %+v, and of what it prints %+v, %v", text, p, again, err)
		}
	})
}
