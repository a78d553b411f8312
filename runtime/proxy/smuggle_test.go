package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// bodyless is a server that takes no body of any request: what follows a head is the
// next head, unless the request said that it is the last.
type bodyless struct {
	net.Listener
	mu    sync.Mutex
	lines []string // of requests
}

func newBodyless(t *testing.T) *bodyless {
	s := &bodyless{Listener: listen(t)}
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *bodyless) serve(conn net.Conn) {
	defer conn.Close()
	in := textproto.NewReader(bufio.NewReader(conn))
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		fields, err := in.ReadMIMEHeader()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		last := strings.EqualFold(fields.Get("Connection"), "close")
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if last {
			// What was not read would make the kernel reset the connection, and the answer
			// with it (RFC 9112, section 9.6).
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			return
		}
	}
}

func (s *bodyless) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// TestBodyIsNoRequest: a denied request that is the body of an allowed one is not done
// by a server that takes no body there; the control is the same without a proxy.
func TestBodyIsNoRequest(t *testing.T) {
	inner := "DELETE /secret HTTP/1.1\r\nHost: web.test\r\n\r\n"
	request := func(target, host string) string {
		return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", target, host, len(inner), inner)
	}
	control := newBodyless(t)
	conn, err := net.Dial("tcp", control.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request("/pub", "web.test"))
	answers := make([]byte, 2*len("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	if _, err := io.ReadFull(conn, answers); err != nil || len(control.requests()) != 2 {
		t.Fatalf("the control: the server read %q (%v)", control.requests(), err)
	}

	server := newBodyless(t)
	port := portOf(server)
	e := endpoint("web.test", "rest", port)
	e.Requests = []ir.RequestRule{{Allow: true, Methods: []string{"GET"}, Path: "/pub", Origin: "lab/allow"}}
	l := newLab(t, nil, e)
	host := fmt.Sprintf("web.test:%d", port)
	for range 3 { // a server that answers before the body is there ends the client's connection
		if status, _ := l.talk().say("%s", request("http://"+host+"/pub", host)).answer("GET"); status != 200 {
			t.Fatalf("the allowed request is answered %d", status)
		}
	}
	if got := server.requests(); len(got) != 3 || slices.ContainsFunc(got, func(line string) bool { return !strings.HasPrefix(line, "GET ") }) {
		t.Errorf("the server did %q, want three GETs", got)
	}
}

// TestBodyIsTheLast: over TLS too, and for a client of HTTP/2, what has a body is the
// last request on its connection to a server of HTTP/1, and what has none is not.
func TestBodyIsTheLast(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var last atomic.Bool
		_, port, roots := secureWeb(t, false, []string{"api.test"}, nil, func(w http.ResponseWriter, r *http.Request) {
			last.Store(r.Close)
			_, _ = io.Copy(io.Discard, r.Body)
		})
		l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
		client := l.browser(h2)
		for _, tt := range []struct {
			method, body string
			last         bool
		}{{"GET", "", false}, {"POST", "x", true}, {"GET", "x", true}, {"GET", "", false}} {
			r, err := http.NewRequest(tt.method, fmt.Sprintf("https://api.test:%d/repos/a", port), strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 200 || last.Load() != tt.last {
				t.Errorf("HTTP2=%t: %s with %q is answered %d and the last: %t, want 200 and %t", h2, tt.method, tt.body, resp.StatusCode, last.Load(), tt.last)
			}
		}
	}
}
