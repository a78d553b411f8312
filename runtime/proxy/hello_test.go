package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// clientHello is what crypto/tls says first.
func clientHello(tb testing.TB, config *tls.Config) []byte {
	tb.Helper()
	ours, theirs := net.Pipe()
	go func() { _ = tls.Client(theirs, config).Handshake() }()
	header := make([]byte, 5)
	if _, err := io.ReadFull(ours, header); err != nil {
		tb.Fatal(err)
	}
	data := append(header, make([]byte, int(header[3])<<8|int(header[4]))...)
	if _, err := io.ReadFull(ours, data[5:]); err != nil {
		tb.Fatal(err)
	}
	_ = ours.Close()
	_ = theirs.Close()
	return data
}

func helloFor(tb testing.TB, name string) []byte {
	return clientHello(tb, &tls.Config{ServerName: name, InsecureSkipVerify: true})
}

// fragmented is the handshake message of data in records of at most size bytes.
func fragmented(data []byte, size int) []byte {
	var out []byte
	for message := data[5:]; len(message) > 0; {
		n := min(size, len(message))
		out = append(out, 22, 3, 1, byte(n>>8), byte(n))
		out = append(out, message[:n]...)
		message = message[n:]
	}
	return out
}

// extension is an extension of TLS.
func extension(kind int, data string) string {
	return string([]byte{byte(kind >> 8), byte(kind), byte(len(data) >> 8), byte(len(data))}) + data
}

func serverName(name string) string {
	n := len(name)
	return extension(0, string([]byte{byte((n + 3) >> 8), byte(n + 3), 0, byte(n >> 8), byte(n)})+name)
}

// handmade is a ClientHello with these extensions, in one record.
func handmade(extensions string) []byte {
	body := "\x03\x03" + strings.Repeat("r", 32) + "\x00" + "\x00\x02\x13\x01" + "\x01\x00"
	if extensions != "-" {
		body += string([]byte{byte(len(extensions) >> 8), byte(len(extensions))}) + extensions
	}
	message := string([]byte{1, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}) + body
	return []byte(string([]byte{22, 3, 1, byte(len(message) >> 8), byte(len(message))}) + message)
}

func TestParseHello(t *testing.T) {
	real := helloFor(t, "api.test")
	name := serverName("api.test")
	for _, tt := range []struct {
		name string
		data []byte
		want string // of the hello, or "refused"
	}{
		{"crypto/tls", real, "{api.test true false}"},
		{"crypto/tls without a name", helloFor(t, ""), "{ false false}"},
		{"fragments of 64", fragmented(real, 64), "{api.test true false}"},
		{"fragments of 1", fragmented(real, 1), "{api.test true false}"},
		{"handmade", handmade(name), "{api.test true false}"},
		{"no extensions", handmade("-"), "{ false false}"},
		{"empty extensions", handmade(""), "{ false false}"},
		{"unknown extension", handmade(extension(0x5a5a, "x") + name), "{api.test true false}"},
		{"ECH", handmade(name + extension(0xfe0d, "\x00")), "{api.test true true}"},
		{"ESNI of a draft", handmade(name + extension(0xffce, "")), "{api.test true true}"},
		{"early data behind it", append(handmade(name), 23, 3, 3, 0, 1, 'x'), "{api.test true false}"},

		{"two server names", handmade(name + serverName("evil.test")), "refused"},
		{"two names in one list", handmade(extension(0, "\x00\x0a\x00\x00\x02ab\x00\x00\x02cd")), "refused"},
		{"empty list", handmade(extension(0, "\x00\x00")), "refused"},
		{"empty extension", handmade(extension(0, "")), "refused"},
		{"empty name", handmade(serverName("")), "refused"},
		{"another kind of name", handmade(extension(0, "\x00\x05\x01\x00\x02ab")), "refused"},
		{"name shorter than it says", handmade(extension(0, "\x00\x05\x00\x00\x09ab")), "refused"},
		{"more behind the list", handmade(extension(0, "\x00\x05\x00\x00\x02abx")), "refused"},
		{"extension longer than the rest", handmade("\x00\x00\x00\x09ab"), "refused"},
		{"more behind the extensions", append(handmade(""), 22, 3, 1, 0, 1, 'x')[:0], "more"},
		{"another message in the record", func() []byte {
			d := handmade(name)
			d[4] += 4
			return append(d, 1, 0, 0, 0)
		}(), "refused"},
		{"empty record", append([]byte{22, 3, 1, 0, 0}, handmade(name)...), "refused"},
		{"alert between the fragments", append(append([]byte(nil), fragmented(real, 64)[:69]...), 21, 3, 3, 0, 2, 1, 0), "refused"},
		{"record past 16 KiB", []byte{22, 3, 1, 0x40, 1, 1}, "refused"},
		{"message past 16 KiB", []byte{22, 3, 1, 0, 4, 1, 0, 0x40, 1}, "refused"},
		{"ServerHello", []byte{22, 3, 3, 0, 4, 2, 0, 0, 0}, "refused"},
		{"SSL 2", []byte{0x80, 0x2e, 1, 0, 2}, "refused"},
		{"another version", []byte{22, 2, 0, 0, 4, 1, 0, 0, 0}, "refused"},
		{"empty message", []byte{22, 3, 1, 0, 4, 1, 0, 0, 0}, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, whole, err := parseHello(tt.data, 16<<10)
			say := fmt.Sprint(got)
			switch {
			case err != nil:
				say = "refused"
			case !whole:
				say = "more"
			}
			if say != tt.want {
				t.Errorf("parseHello(%x) = %v, %v, %v, want %s", tt.data, got, whole, err, tt.want)
			}
			if tt.want == "refused" || tt.want == "more" {
				return
			}
			end := len(tt.data)
			if tt.name == "early data behind it" {
				end -= 6
			}
			for n := range end {
				if _, whole, err := parseHello(tt.data[:n], 16<<10); whole || err != nil {
					t.Fatalf("the first %d bytes of %d are %v, %v", n, end, whole, err)
				}
			}
		})
	}
}

// TestHelloInTunnel sends hellos in pieces, and those that name nobody, or in secret.
func TestHelloInTunnel(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, nil, endpoint("api.test", "", port))
	for _, tt := range []struct {
		name    string
		data    []byte
		allowed bool
	}{
		{"whole", helloFor(t, "api.test"), true},
		{"fragments", fragmented(helloFor(t, "api.test"), 20), true},
		{"encrypted name", handmade(serverName("api.test") + extension(0xfe0d, "\x00")), false},
		{"trailing dot", handmade(serverName("api.test.")), false},
		{"NUL behind the name", handmade(serverName("api.test\x00")), false},
		{"two names", handmade(serverName("api.test") + serverName("evil.test")), false},
		{"malformed", handmade("\x00\x00\x00\x09ab"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := l.connect(fmt.Sprintf("api.test:%d", port), 200)
			for _, piece := range [][]byte{tt.data[:1], tt.data[1:7], tt.data[7:]} {
				c.say("%s", piece)
			}
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			want := string(accessDenied)
			if tt.allowed {
				want = string(tt.data)
			}
			if got := c.ended(); got != want {
				t.Errorf("%x is answered with %x, want %x", tt.data, got, want)
			}
			if e := l.event(); (e.Decision == Allowed) != tt.allowed {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// FuzzHello wants no panic, and the first bytes of what is whole not to be.
func FuzzHello(f *testing.F) {
	real := helloFor(f, "api.test")
	for _, seed := range [][]byte{real, fragmented(real, 7), handmade(serverName("a")), handmade(extension(0xfe0d, ""))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		said, whole, err := parseHello(data, 16<<10)
		if whole && err != nil || whole && said.hasName && said.name == "" || len(said.name) > len(data) {
			t.Errorf("parseHello(%x) = %+v, %v, %v", data, said, whole, err)
		}
		if whole {
			again, still, err := parseHello(append(append([]byte(nil), data...), 'x'), 16<<10)
			if !still || err != nil || again != said {
				t.Errorf("parseHello of %x and a byte more = %+v, %v, %v", data, again, still, err)
			}
		}
	})
}
