package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSlowHeads: a head that comes byte by byte has its time and no more.
func TestSlowHeads(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *Config) { c.Limits.HeaderTime = 300 * time.Millisecond }, endpoint("web.test", "", 80))
	for _, start := range []string{"G", "GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\nX: "} {
		c := l.talk().say("%s", start)
		done := make(chan struct{})
		go func() { // goes on until refused
			defer close(done)
			for {
				if _, err := c.Write([]byte("a")); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		if status, _ := c.answer("GET"); status != 408 {
			t.Errorf("%q, then a byte at a time = %d, want 408", start, status)
		}
		_ = c.Close()
		<-done
		if e := l.event(); e.Decision != Denied || e.Dimension != "limit" {
			t.Errorf("event %+v", e)
		}
	}
	socks := l.talk().say("\x05\x05\x00")
	if rest := socks.ended(); rest != "" {
		t.Errorf("half a greeting of SOCKS5 is answered with %q", rest)
	}
	if e := l.event(); e.Dimension != "limit" {
		t.Errorf("event %+v", e)
	}
	if n := l.proxy.Counts(); n.Late != 2 {
		t.Errorf("Counts() = %+v", n)
	}
}

// TestNothingSaid: a connection on which nothing is said is closed, and no decision.
func TestNothingSaid(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Limits.HeaderTime = 50 * time.Millisecond }, endpoint("web.test", "", 80))
	if rest := l.talk().ended(); rest != "" {
		t.Errorf("silence is answered with %q", rest)
	}
	_ = l.talk().Close()
	l.stop()
	if n := l.proxy.Counts(); n.Denied+n.Allowed != 0 {
		t.Errorf("Counts() = %+v", n)
	}
}

func TestConnectionsAtOnce(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Connections = 2 }, endpoint("db.test", "tcp", port))
	authority := fmt.Sprintf("db.test:%d", port)
	a, b := l.connect(authority, 200), l.connect(authority, 200)
	for range 3 {
		c := l.talk()
		if status, body := c.answer("CONNECT"); status != 503 {
			t.Errorf("the third connection is answered with %d %s, want 503", status, body)
		}
		if e := l.event(); e.Decision != Denied || e.Dimension != "limit" {
			t.Errorf("event %+v", e)
		}
		_ = c.Close()
	}
	if n := l.proxy.Counts().Busy; n != 3 {
		t.Errorf("%d were counted as refused, want 3", n)
	}
	_ = a.Close()
	if e := l.event(); e.Decision != Allowed {
		t.Errorf("event %+v", e)
	}
	eventually(t, func() bool { return l.proxy.open.Load() == 1 })
	_ = l.connect(authority, 200).Close()
	_ = b.Close()
}

// eventually waits for what another goroutine is about to do.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

func TestIdleTunnel(t *testing.T) {
	t.Parallel()
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = time.Second }, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("db.test:%d", port), 200)
	c.say("x")
	c.bytes(1)
	if rest := c.ended(); rest != "" {
		t.Errorf("an idle tunnel says %q", rest)
	}
	if e := l.event(); e.Decision != Allowed || e.Dimension != "limit" || e.Sent != 1 || e.Received != 1 {
		t.Errorf("event %+v", e)
	}
}

// TestHalfOpenTunnel: a client that has ended its half waits for a server no longer
// than any.
func TestHalfOpenTunnel(t *testing.T) {
	t.Parallel()
	server := listen(t)
	go func() {
		if conn, err := server.Accept(); err == nil { // says nothing until it is hung up on
			_, _ = io.Copy(io.Discard, conn)
			_, _ = conn.Read(nil)
			<-t.Context().Done()
			_ = conn.Close()
		}
	}()
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = time.Second }, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("db.test:%d", port), 200).say("x")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if rest := c.ended(); rest != "" {
		t.Errorf("a server that says nothing says %q", rest)
	}
	if e := l.event(); e.Decision != Allowed || e.Dimension != "limit" || e.Sent != 1 {
		t.Errorf("event %+v", e)
	}
}

// TestClientThatDoesNotRead ends a tunnel in which nothing moves, and never leaves
// bytes out: what has come is the beginning of what was sent.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	server := listen(t)
	stream := make([]byte, 64<<20)
	for i := range stream {
		stream[i] = byte(i >> 8 * 13)
	}
	go func() {
		if conn, err := server.Accept(); err == nil {
			_, _ = conn.Write(stream)
			_ = conn.Close()
		}
	}()
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = time.Second }, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("db.test:%d", port), 200)
	if e := l.event(); e.Decision != Allowed || e.Dimension != "limit" {
		t.Errorf("event %+v", e)
	}
	got, _ := io.ReadAll(c.r)
	if len(got) == len(stream) || !bytes.Equal(got, stream[:len(got)]) {
		t.Errorf("%d bytes have come, of %d, or other ones", len(got), len(stream))
	}
}

// TestOneWayIsNotIdle: while the server sends, the client may be silent for long.
func TestOneWayIsNotIdle(t *testing.T) {
	t.Parallel()
	server := listen(t)
	next := make(chan struct{})
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for range next {
			_, _ = conn.Write([]byte("x"))
		}
	}()
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = 2 * time.Second }, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("db.test:%d", port), 200)
	for range 8 {
		time.Sleep(300 * time.Millisecond)
		next <- struct{}{}
		c.bytes(1)
	}
	close(next)
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	c.ended()
	if e := l.event(); e.Decision != Allowed || e.Dimension != "" || e.Received != 8 {
		t.Errorf("event %+v", e)
	}
}

// TestSlowUpload: while a body is sent, its server may be silent for long.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = 2 * time.Second }, endpoint("web.test", "", port))
	c := l.talk().say("PUT http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: 8\r\n\r\n", port, port)
	for range 8 {
		time.Sleep(300 * time.Millisecond)
		c.say("x")
	}
	if status, body := c.answer("PUT"); status != 200 || server.last(t).body != "xxxxxxxx" {
		t.Errorf("PUT = %d %s", status, body)
	}
}

func TestOtherLimitsOfTunnels(t *testing.T) {
	t.Parallel()
	server := echo(t)
	port := portOf(server)
	for _, tt := range []struct {
		name   string
		limits Limits
		says   string
	}{
		{"total", Limits{Total: time.Second}, "x"},
		{"sent", Limits{Sent: 1000}, strings.Repeat("x", 1001)},
		{"received", Limits{Received: 1000}, strings.Repeat("x", 1001)},
		{"sent in bulk", Limits{Sent: 1 << 20}, strings.Repeat("x", 1<<20+1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, func(c *Config) { c.Limits = tt.limits }, endpoint("db.test", "tcp", port))
			c := l.connect(fmt.Sprintf("db.test:%d", port), 200)
			go func() { _, _ = io.WriteString(c, tt.says) }()
			_, _ = io.Copy(io.Discard, c.r)
			e := l.event()
			if e.Decision != Allowed || e.Dimension != "limit" || e.Sent > tt.limits.orDefaults().Sent || e.Received > tt.limits.orDefaults().Received {
				t.Errorf("event %+v", e)
			}
		})
	}
}

func TestBytesOfAnswers(t *testing.T) {
	server := newWeb(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 600)) })
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Received = 1000 }, endpoint("web.test", "", port))
	c := l.talk()
	for i, want := range []string{"", "limit"} {
		c.say("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
		if e := l.event(); e.Decision != Allowed || e.Dimension != want || e.Received > 1000 {
			t.Errorf("answer %d: event %+v", i, e)
		}
	}
	if rest := c.ended(); strings.Count(rest, "HTTP/1.1 200") != 2 {
		t.Errorf("%q has come", rest)
	}
}

func TestRequestsOfAConnection(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Requests = 2 }, endpoint("web.test", "", port))
	c := l.talk()
	for i := range 2 {
		c.say("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
		if resp, _ := c.response("GET"); resp.StatusCode != 200 || resp.Close != (i == 1) {
			t.Errorf("answer %d is %d, and closing: %v", i, resp.StatusCode, resp.Close)
		}
	}
	if rest := c.ended(); rest != "" {
		t.Errorf("behind the last answer comes %q", rest)
	}
}

// TestSilentServer never answers; its client is told after Idle.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := listen(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Idle = time.Second }, endpoint("web.test", "", port), endpoint("lost.test", "", port))
	if status, body := l.talk().say("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port).answer("GET"); status != 504 {
		t.Errorf("a silent server = %d %s, want 504", status, body)
	}
	lost := newLab(t, func(c *Config) {
		c.Limits.DialTime = 50 * time.Millisecond
		c.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, endpoint("lost.test", "", port))
	lost.connect(fmt.Sprintf("lost.test:%d", port), 504)
	if e := lost.event(); e.Decision != Failed {
		t.Errorf("event %+v", e)
	}
}

// TestServeEnds leaves clients in every state, ends Serve, and counts what still runs.
func TestServeEnds(t *testing.T) {
	silent := listen(t) // accepts and says nothing
	var held []net.Conn
	accepted := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
			accepted <- struct{}{}
		}
	}()
	port := portOf(silent)
	before := runtime.NumGoroutine()
	stuck := make(chan struct{})
	l := newLab(t, func(c *Config) {
		resolve := c.Resolve
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			if host == "slow.test" {
				close(stuck)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return resolve(ctx, host)
		}
	}, endpoint("db.test", "tcp", port), endpoint("web.test", "", port), endpoint("slow.test", "", port))
	authority := fmt.Sprintf("db.test:%d", port)
	clients := []*talk{
		l.talk(),                                         // nothing said
		l.talk().say("GET http"),                         // half a head
		l.talk().say("\x05\x01"),                         // half a greeting
		l.connect(authority, 200),                        // a tunnel
		l.connect(authority, 200).say("x"),               // one in use
		l.connect(fmt.Sprintf("web.test:%d", port), 200), // one of which nothing is known yet
		l.talk().say("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port),                       // a request without an answer
		l.talk().say("PUT http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: 9\r\n\r\nx", port, port), // half a body
		l.talk().say("GET http://slow.test:%d/ HTTP/1.1\r\nHost: slow.test:%d\r\n\r\n", port, port),                     // a name not resolved yet
	}
	for range 5 {
		<-accepted
	}
	<-stuck
	l.stop()
	for i, c := range clients {
		if _, err := io.Copy(io.Discard, c.r); err != nil && late(err) {
			t.Errorf("client %d is still connected", i)
		}
	}
	for _, conn := range held {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && late(err) {
			t.Errorf("a server is still connected")
		}
		_ = conn.Close()
	}
	if _, err := net.Dial("tcp", l.addr); err == nil {
		t.Error("the proxy still listens")
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before })
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if n := len(l.proxy.conns); n != 0 {
		t.Errorf("%d connections are still known", n)
	}
}

// TestManyTunnels opens as many tunnels as the default allows, and uses each.
func TestManyTunnels(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, nil, endpoint("db.test", "tcp", port))
	var tunnels []*talk
	for range 1000 {
		tunnels = append(tunnels, l.connect(fmt.Sprintf("db.test:%d", port), 200))
	}
	for i, c := range tunnels {
		if got := c.say("%04d", i).bytes(4); got != fmt.Sprintf("%04d", i) {
			t.Fatalf("tunnel %d echoes %q", i, got)
		}
	}
	for _, c := range tunnels {
		_ = c.Close()
	}
	eventually(t, func() bool { return l.proxy.open.Load() == 0 })
	if n := l.proxy.Counts(); n.Allowed != 1000 || n.Busy != 0 {
		t.Errorf("Counts() = %+v", n)
	}
}

// TestTenThousandConnections: with as many tunnels open as there may be, 10,000 more
// clients ask. Each is refused at once, with a reason or, past what is told so, by the
// end of its connection; what they cost is given back, the tunnels go on, and once one
// ends the next client has its place.
func TestTenThousandConnections(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Sink = nil }, endpoint("db.test", "tcp", port))
	authority := fmt.Sprintf("db.test:%d", port)
	var tunnels []*talk
	for range l.proxy.limits.Connections {
		tunnels = append(tunnels, l.connect(authority, 200))
	}
	used := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before, told := used(), 0
	for i := range 10_000 {
		conn, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(conn)
		if late(err) {
			t.Fatalf("client %d waits", i)
		}
		if strings.HasPrefix(string(answer), "HTTP/1.1 503 ") {
			told++
		}
		_ = conn.Close()
	}
	if n := l.proxy.Counts().Busy; n != 10_000 || told == 0 {
		t.Errorf("%d were counted as refused, and %d told so", n, told)
	}
	if grown := used() - before; grown > 8<<20 {
		t.Errorf("10,000 refused clients leave %d bytes", grown)
	}
	for i, c := range tunnels {
		if got := c.say("%04d", i).bytes(4); got != fmt.Sprintf("%04d", i) {
			t.Fatalf("tunnel %d echoes %q", i, got)
		}
	}
	_ = tunnels[0].Close()
	eventually(t, func() bool { return l.proxy.open.Load() < int64(l.proxy.limits.Connections) })
	_ = l.connect(authority, 200).Close()
	for _, c := range tunnels[1:] {
		_ = c.Close()
	}
}
