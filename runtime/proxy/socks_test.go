package proxy

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// socksAsk is a request of SOCKS5 for a name.
func socksAsk(name string, port uint16) string {
	return "\x05\x01\x00\x03" + string([]byte{byte(len(name))}) + name + string([]byte{byte(port >> 8), byte(port)})
}

func (t *talk) bytes(n int) string {
	t.tb.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(t.r, b); err != nil {
		t.tb.Fatalf("%d bytes: %v", n, err)
	}
	return string(b)
}

func TestSocks(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	closed := listen(t)
	_ = closed.Close()
	l := newLab(t, nil, endpoint("db.test", "tcp", port), endpoint("127.0.0.1", "tcp", port), endpoint("web.test", "", port), endpoint("gone.test", "tcp", portOf(closed)))
	l.name("evil.test", "127.0.0.1")
	p := string([]byte{byte(port >> 8), byte(port)})
	for _, tt := range []struct {
		name, request string
		reply         byte
	}{
		{"name", socksAsk("db.test", port), 0},
		{"name in capitals with a dot", socksAsk("DB.Test.", port), 0},
		{"IPv4", "\x05\x01\x00\x01\x7f\x00\x00\x01" + p, 0},
		{"IPv4 as a name", socksAsk("127.0.0.1", port), 0},
		{"another name", socksAsk("evil.test", port), 2},
		{"another port", socksAsk("db.test", 1), 2},
		{"IPv4 elsewhere", "\x05\x01\x00\x01\x7f\x00\x00\x02" + p, 2},
		{"IPv6", "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01" + p, 2},
		{"IPv4-mapped", "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01" + p, 8},
		{"IPv4 in octal", socksAsk("0177.0.0.1", port), 8},
		{"IPv4 in decimal", socksAsk("2130706433", port), 8},
		{"IPv4 in short", socksAsk("127.1", port), 8},
		{"IPv6 as a name", socksAsk("::1", port), 8},
		{"IPv6 in brackets as a name", socksAsk("[::1]", port), 8},
		{"NUL in a name", socksAsk("db.test\x00.evil.test", port), 8},
		{"name outside ASCII", socksAsk("d\u0431.test", port), 8},
		{"empty name", socksAsk("", port), 8},
		{"port 0", socksAsk("db.test", 0), 8},
		{"BIND", strings.Replace(socksAsk("db.test", port), "\x05\x01", "\x05\x02", 1), 7},
		{"UDP", strings.Replace(socksAsk("db.test", port), "\x05\x01", "\x05\x03", 1), 7},
		{"unknown kind of address", "\x05\x01\x00\x02\x7f\x00\x00\x01" + p, 8},
		{"reserved byte", strings.Replace(socksAsk("db.test", port), "\x05\x01\x00", "\x05\x01\x01", 1), 1},
		{"SOCKS4 inside", "\x04" + socksAsk("db.test", port)[1:], 1},
		{"server that is gone", socksAsk("gone.test", portOf(closed)), 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resolved, dialled := l.lookups()
			c := l.talk().say("%s", "\x05\x02\x02\x00"+tt.request+"hi")
			if got := c.bytes(2); got != "\x05\x00" {
				t.Fatalf("the greeting is answered with %q", got)
			}
			if got := c.bytes(10); got[0] != 5 || got[1] != tt.reply {
				t.Fatalf("%q is answered with %q, want %d", tt.request, got, tt.reply)
			}
			if tt.reply == 0 {
				if got := c.bytes(2); got != "hi" {
					t.Errorf("the echo is %q", got)
				}
				_ = c.Close()
			} else if rest := c.ended(); rest != "" {
				t.Errorf("behind the refusal comes %q", rest)
			}
			e := l.event()
			if e.Kind != Connect || (e.Decision == Allowed) != (tt.reply == 0) || (e.Decision == Failed) != (tt.reply == 5) {
				t.Errorf("event %+v", e)
			}
			if r, d := l.lookups(); e.Decision == Denied && (r != resolved || d != dialled) {
				t.Errorf("what was refused was resolved %d times and dialled %d times", r-resolved, d-dialled)
			}
		})
	}
	// The tunnel behind it is looked into as any other.
	c := l.talk().say("%s", "\x05\x01\x00"+socksAsk("web.test", port)+"SSH-2.0-x\r\n")
	if rest := c.ended(); rest != "\x05\x00"+"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("SSH to a server of the web: %q", rest)
	}
	if e := l.event(); e.Dimension != "protocol" {
		t.Errorf("event %+v", e)
	}
}

func TestSocksCredential(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Credential = "obspc:secret" }, endpoint("db.test", "tcp", port))
	for _, tt := range []struct{ name, said, want string }{
		{"right", "\x05\x02\x00\x02" + "\x01\x05obspc\x06secret", "\x05\x02" + "\x01\x00" + "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00" + "hi"},
		{"wrong", "\x05\x01\x02" + "\x01\x05obspc\x05wrong", "\x05\x02" + "\x01\x01"},
		{"not offered", "\x05\x01\x00", "\x05\xff"},
		{"no credential", "\x05\x01\x02" + "\x05", "\x05\x02"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := l.talk().say("%s", tt.said+socksAsk("db.test", port)+"hi")
			if got := c.bytes(len(tt.want)); got != tt.want {
				t.Errorf("%q is answered with %q, want %q", tt.said, got, tt.want)
			}
		})
	}
}

// FuzzSocks wants no panic from the three readers, and never more used than given.
func FuzzSocks(f *testing.F) {
	for _, s := range []string{"\x05\x01\x00", "\x01\x05obspc\x06secret", socksAsk("db.test", 443), "\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb", "\x05\x01\x00\x04" + strings.Repeat("\x00", 18)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		methods, n, err := socksGreeting(data)
		if n > len(data) || err == nil && n > 0 && methods == "" {
			t.Errorf("socksGreeting(%x) = %q, %d, %v", data, methods, n, err)
		}
		if _, n, _ := socksCredential(data); n > len(data) {
			t.Errorf("socksCredential(%x) uses %d", data, n)
		}
		peer, n, err := socksRequest(data)
		var fault errSocks
		if n > len(data) || n > 0 && (peer.Port == 0 || (peer.Host == "") != peer.Addr.IsValid()) || err != nil && (!errors.As(err, &fault) || fault.reply == 0) {
			t.Errorf("socksRequest(%x) = %+v, %d, %v", data, peer, n, err)
		}
	})
}
