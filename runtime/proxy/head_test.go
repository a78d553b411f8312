package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// canned is a connection that has sent what it ever will.
type canned struct {
	net.Conn
	r *bytes.Reader
}

func cannedConn(data []byte) canned              { return canned{r: bytes.NewReader(data)} }
func (c canned) Read(b []byte) (int, error)      { return c.r.Read(b) }
func (c canned) SetReadDeadline(time.Time) error { return nil }
func readHead(data []byte) (*head, *input, error) {
	in := &input{conn: cannedConn(data)}
	raw, err := in.head(16<<10, time.Minute)
	if err != nil {
		return nil, in, err
	}
	h, r := parseHead(raw)
	in.consume(len(raw))
	if r != nil {
		return nil, in, r
	}
	return h, in, nil
}

// heads are requests, and what two readers could make of them (RFC 9112, section 11).
var heads = []struct {
	name, text string
	ok         bool
}{
	{"plain", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
	{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", true},
	{"no space behind the colon", "GET / HTTP/1.1\r\nHost:a\r\n\r\n", true},
	{"space around the value", "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n", true},
	{"empty value", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", true},
	{"UTF-8 in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \xc3\xa9\r\n\r\n", true},
	{"token with all its characters", "A!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\n\r\n", true},
	{"length", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 42\r\n\r\n", true},
	{"equal lengths", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 42\r\ncontent-length: 42\r\n\r\n", true},
	{"chunked", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", true},
	{"connection", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n", true},

	{"bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", false},
	{"bare LF behind a field", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", false},
	{"bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", false},
	{"bare CR in a value", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", false},
	{"CR CR LF", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", false},
	{"folded field", "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", false},
	{"folded field with a tab", "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", false},
	{"first field folded", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", false},
	{"space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", false},
	{"tab before the colon", "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", false},
	{"space in a name", "GET / HTTP/1.1\r\nHost: a\r\nContent Length: 1\r\n\r\n", false},
	{"no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", false},
	{"no name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", false},
	{"name outside ASCII", "GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa9: x\r\n\r\n", false},
	{"NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", false},
	{"DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n", false},
	{"escape in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[2J\r\n\r\n", false},
	{"NUL in a name", "GET / HTTP/1.1\r\nHo\x00st: a\r\n\r\n", false},
	{"no Host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", false},
	{"two Host", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", false},
	{"two Host in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", false},
	{"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"two spaces before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"tab", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"tab in the target", "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"space behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", false},
	{"space before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"empty line first", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"no version", "GET /\r\nHost: a\r\n\r\n", false},
	{"HTTP/2", "GET / HTTP/2\r\nHost: a\r\n\r\n", false},
	{"HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", false},
	{"HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", false},
	{"HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", false},
	{"http/1.1", "GET / http/1.1\r\nHost: a\r\n\r\n", false},
	{"HTTP/01.1", "GET / HTTP/01.1\r\nHost: a\r\n\r\n", false},
	{"method that is no token", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"method with NUL", "GE\x00T / HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"target outside ASCII", "GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"length and chunked", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"chunked and length", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", false},
	{"lengths that differ", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", false},
	{"lengths in one field", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\n", false},
	{"length with a sign", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\n", false},
	{"negative length", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\n", false},
	{"length in hexadecimal", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\n", false},
	{"length with an underscore", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", false},
	{"empty length", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", false},
	{"length past 62 bits", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n", false},
	{"length that overflows", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551620\r\n\r\n", false},
	{"two encodings", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false},
	{"chunked twice", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", false},
	{"two Transfer-Encoding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"identity", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", false},
	{"vertical tab before chunked", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", false},
	{"chunked in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"Connection names Host", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, host\r\n\r\n", false},
	{"Connection names Content-Length", "GET / HTTP/1.1\r\nHost: a\r\nConnection: content-length\r\n\r\n", false},
	{"Connection names Transfer-Encoding", "GET / HTTP/1.1\r\nHost: a\r\nConnection: TRANSFER-ENCODING\r\n\r\n", false},
}

func TestHeads(t *testing.T) {
	for _, tt := range heads {
		t.Run(tt.name, func(t *testing.T) {
			h, _, err := readHead([]byte(tt.text))
			if (err == nil) != tt.ok {
				t.Errorf("head %q = %+v, %v, want accepted: %v", tt.text, h, err, tt.ok)
			}
			var r *refusal
			if err != nil && (!errors.As(err, &r) || r.status != http.StatusBadRequest || r.dimension != notRequest) {
				t.Errorf("head %q is refused with %#v, want 400", tt.text, err)
			}
		})
	}
}

// TestHeadsAreNotForwarded sends each malformed head to a proxy that would let its
// twin pass, with a request behind it that must not be seen either.
func TestHeadsAreNotForwarded(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, nil, endpoint("a", "", port))
	for _, tt := range heads {
		if tt.ok {
			continue
		}
		target := strings.TrimPrefix(server.Addr().String(), "127.0.0.1")
		text := strings.Replace(strings.ReplaceAll(tt.text, "Host: a", "Host: a"+target), " /", " http://a"+target+"/", 1)
		c := l.talk().say("%s", text+"GET http://a"+target+"/ HTTP/1.1\r\nHost: a"+target+"\r\n\r\n")
		if status, body := c.answer("GET"); status != 400 {
			t.Errorf("%s: %q = %d %s, want 400", tt.name, text, status, body)
		}
		if rest := c.ended(); rest != "" {
			t.Errorf("%s: behind the refusal of %q comes %q", tt.name, text, rest)
		}
		if e := l.event(); e.Decision != Denied || e.Dimension != "request" {
			t.Errorf("%s: event %+v", tt.name, e)
		}
	}
	if server.count() != 0 {
		t.Errorf("the server saw %+v", server.seen)
	}
	if n := l.proxy.Counts(); n.Malformed == 0 || n.Malformed != n.Denied {
		t.Errorf("Counts() = %+v", n)
	}
}

func TestHeadInPieces(t *testing.T) {
	text := "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest"
	for split := 1; split < len(text); split++ {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Write([]byte(text[:split]))
			_, _ = theirs.Write([]byte(text[split:]))
		}()
		in := &input{conn: ours}
		raw, err := in.head(100, time.Minute)
		if err != nil || string(raw) != text[:len(text)-4] {
			t.Errorf("split at %d the head is %q, %v", split, raw, err)
		}
		_, _ = ours.Close(), theirs.Close()
	}
}

func TestHeadTooLong(t *testing.T) {
	l := newLab(t, nil, endpoint("web.test", "", 80))
	for _, request := range []string{
		"GET http://web.test/" + strings.Repeat("a", 17<<10) + " HTTP/1.1\r\n",
		"GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: " + strings.Repeat("a", 17<<10),
		"GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\n" + strings.Repeat("X: a\r\n", 4<<10),
	} {
		c := l.talk()
		go func() { _, _ = c.Write([]byte(request)) }()
		if status, _ := c.answer("GET"); status != 431 {
			t.Errorf("%.60q… = %d, want 431", request, status)
		}
		if e := l.event(); e.Decision != Denied || e.Dimension != "limit" {
			t.Errorf("event %+v", e)
		}
	}
}

// FuzzHead wants no panic, no more memory than the limit, and what is accepted to mean
// the same to net/http.
func FuzzHead(f *testing.F) {
	for _, tt := range heads {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, in, err := readHead(data)
		if cap(in.data) > 32<<10 {
			t.Errorf("%d bytes are held", cap(in.data))
		}
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return // of net/http's own: a target that is no URL
		}
		if r.Method != h.method || r.RequestURI != h.target || r.ProtoMinor != h.minor {
			t.Errorf("%q is %s %s HTTP/1.%d here and %s %s %s to net/http", data, h.method, h.target, h.minor, r.Method, r.RequestURI, r.Proto)
		}
		if chunked := len(r.TransferEncoding) > 0; chunked != (h.length < 0) || !chunked && r.ContentLength != h.length {
			t.Errorf("%q has the length %d here and %d %v to net/http", data, h.length, r.ContentLength, r.TransferEncoding)
		}
	})
}

// FuzzChunked holds the reader of chunked bodies to net/http's: what is accepted is
// the same bytes.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "A;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\n", "0\r\n\r\n", "5\nhello\n0\n\n", "ffffffffffffffff\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{conn: cannedConn(data)}
		b := newBody(in, -1, time.Minute, 1<<20)
		got, err := readAll(b)
		if cap(in.data) > 32<<10 {
			t.Errorf("%d bytes are held", cap(in.data))
		}
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + string(data))))
		if err != nil {
			t.Fatal(err)
		}
		want, err := readAll(r.Body)
		if err != nil || string(got) != string(want) {
			t.Errorf("%q is %q here and %q, %v to net/http", data, got, want, err)
		}
	})
}
