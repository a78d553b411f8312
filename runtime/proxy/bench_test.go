package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"
)

// doNothing is the relay that the proxy is measured against: a CONNECT is answered
// without a look at it, and bytes are copied by io.Copy.
func doNothing(b *testing.B, to string) string {
	listener := listen(b)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					if line, err := r.ReadString('\n'); err != nil || line == "\r\n" {
						break
					}
				}
				up, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer up.Close()
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
				go func() {
					_, _ = io.Copy(up, conn)
					_ = up.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(conn, up)
			}()
		}
	}()
	return listener.Addr().String()
}

// open makes a tunnel through the proxy at addr.
func open(b *testing.B, addr, authority string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 256)
	n, err := conn.Read(buffer)
	if err != nil || string(buffer[:6]) != "HTTP/1" || string(buffer[8:12]) != " 200" {
		b.Fatalf("CONNECT %s: %q, %v", authority, buffer[:n], err)
	}
	return conn
}

// source is a server that sends what fits 256 MiB to whoever says a byte.
const sourceBytes = 256 << 20

func source(b *testing.B) net.Listener {
	listener := listen(b)
	chunk := make([]byte, 256<<10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					return
				}
				for sent := 0; sent < sourceBytes; sent += len(chunk) {
					if _, err := conn.Write(chunk); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener
}

func download(b *testing.B, conn net.Conn) time.Duration {
	defer conn.Close()
	began := time.Now()
	_, _ = conn.Write([]byte("x"))
	buffer := make([]byte, 256<<10)
	total := 0
	for {
		n, err := conn.Read(buffer)
		total += n
		if err != nil {
			break
		}
	}
	if total != sourceBytes {
		b.Fatalf("%d bytes came", total)
	}
	return time.Since(began)
}

func median[T float64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkTunnelThroughput compares in interleaved pairs; "of-relay" is the median of
// the ratios, of which the budget is at least 0.9.
func BenchmarkTunnelThroughput(b *testing.B) {
	server := source(b)
	port := portOf(server)
	l := newLab(b, nil, endpoint("db.test", "tcp", port))
	relay := doNothing(b, server.Addr().String())
	authority := fmt.Sprintf("db.test:%d", port)
	var ratios []float64
	var ours, theirs, direct []time.Duration
	for b.Loop() {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		direct = append(direct, download(b, conn))
		theirs = append(theirs, download(b, open(b, relay, authority)))
		ours = append(ours, download(b, open(b, l.addr, authority)))
		n := len(ours) - 1
		ratios = append(ratios, float64(theirs[n])/float64(ours[n]))
	}
	rate := func(d time.Duration) float64 { return sourceBytes / 1e6 / d.Seconds() }
	b.ReportMetric(median(ratios), "of-relay")
	b.ReportMetric(rate(median(ours)), "MB/s")
	b.ReportMetric(rate(median(theirs)), "relay-MB/s")
	b.ReportMetric(rate(median(direct)), "direct-MB/s")
}

// BenchmarkFreshConnection is a connection, a tunnel and one byte there and back.
func BenchmarkFreshConnection(b *testing.B) {
	server := echo(b)
	port := portOf(server)
	l := newLab(b, func(c *Config) { c.Sink = nil }, endpoint("db.test", "tcp", port))
	relay := doNothing(b, server.Addr().String())
	authority := fmt.Sprintf("db.test:%d", port)
	once := func(make func() net.Conn) time.Duration {
		began := time.Now()
		conn := make()
		_, _ = conn.Write([]byte("x"))
		_, _ = io.ReadFull(conn, []byte{0})
		took := time.Since(began)
		_ = conn.Close()
		return took
	}
	var ours, theirs, direct []time.Duration
	for b.Loop() {
		direct = append(direct, once(func() net.Conn {
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			return conn
		}))
		theirs = append(theirs, once(func() net.Conn { return open(b, relay, authority) }))
		ours = append(ours, once(func() net.Conn { return open(b, l.addr, authority) }))
	}
	report(b, ours, theirs, direct)
}

func report(b *testing.B, ours, theirs, direct []time.Duration) {
	b.ReportMetric(float64(median(ours).Microseconds()), "p50-µs")
	b.ReportMetric(float64(median(direct).Microseconds()), "direct-µs")
	if len(theirs) > 0 {
		b.ReportMetric(float64(median(ours))/float64(median(theirs)), "of-relay")
		b.ReportMetric(float64(median(theirs).Microseconds()), "relay-µs")
	}
}

// BenchmarkKeepAlive is one plain request on a connection that is there already.
func BenchmarkKeepAlive(b *testing.B) {
	listener := listen(b)
	port := portOf(listener)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	l := newLab(b, func(c *Config) { c.Sink = nil }, endpoint("web.test", "", port))
	once := func(conn net.Conn, r *bufio.Reader, target string) time.Duration {
		began := time.Now()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", target, port); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			b.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "ok" {
			b.Fatalf("%q, %v", body, err)
		}
		return time.Since(began)
	}
	straight, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer straight.Close()
	through, err := net.Dial("tcp", l.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer through.Close()
	r1, r2 := bufio.NewReader(straight), bufio.NewReader(through)
	var ours, direct []time.Duration
	for b.Loop() {
		direct = append(direct, once(straight, r1, "/"))
		ours = append(ours, once(through, r2, fmt.Sprintf("http://web.test:%d/", port)))
	}
	report(b, ours, nil, direct)
}

// BenchmarkRequestThroughput downloads 256 MiB in one answer, with the proxy seeing
// every request, and without it.
func BenchmarkRequestThroughput(b *testing.B) {
	listener := listen(b)
	port := portOf(listener)
	chunk := make([]byte, 256<<10)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(sourceBytes))
		for sent := 0; sent < sourceBytes; sent += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	l := newLab(b, func(c *Config) { c.Sink = nil }, endpoint("web.test", "", port))
	once := func(addr, target string) float64 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", target, port); err != nil {
			b.Fatal(err)
		}
		buffer := make([]byte, 256<<10)
		for total := 0; total < sourceBytes; {
			n, err := conn.Read(buffer)
			if total += n; err != nil {
				b.Fatalf("%d bytes came: %v", total, err)
			}
		}
		return sourceBytes / 1e6 / time.Since(began).Seconds()
	}
	var ours, direct []float64
	for b.Loop() {
		direct = append(direct, once(listener.Addr().String(), "/"))
		ours = append(ours, once(l.addr, fmt.Sprintf("http://web.test:%d/", port)))
	}
	b.ReportMetric(median(ours), "MB/s")
	b.ReportMetric(median(direct), "direct-MB/s")
}

// BenchmarkMemoryOfTunnels opens 1,000 tunnels, uses each once, and says what the
// process has more than before, for each: the budget is 20 KiB. The client's and the
// server's ends are in the same process, so their share is measured without the proxy
// and taken off.
func BenchmarkMemoryOfTunnels(b *testing.B) {
	const tunnels = 1000
	server := echo(b)
	port := portOf(server)
	l := newLab(b, func(c *Config) { c.Sink = nil }, endpoint("db.test", "tcp", port))
	authority := fmt.Sprintf("db.test:%d", port)
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	grow := func(make func() net.Conn) float64 {
		before := inUse()
		var conns []net.Conn
		for range tunnels {
			conn := make()
			_, _ = conn.Write([]byte("x"))
			_, _ = io.ReadFull(conn, []byte{0})
			conns = append(conns, conn)
		}
		after := inUse()
		for _, conn := range conns {
			_ = conn.Close()
		}
		return float64(after-before) / tunnels
	}
	var each []float64
	for b.Loop() {
		ends := grow(func() net.Conn {
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			return conn
		})
		for l.proxy.open.Load() > 0 {
			runtime.Gosched()
		}
		each = append(each, grow(func() net.Conn { return open(b, l.addr, authority) })-ends)
		for l.proxy.open.Load() > 0 {
			runtime.Gosched()
		}
	}
	b.ReportMetric(median(each)/1024, "KiB/tunnel")
}
