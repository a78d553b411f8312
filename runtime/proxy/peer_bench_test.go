package proxy

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// tinyproxy starts Tinyproxy, a small proxy of its own project, for clients and servers
// of this machine. It decides nothing.
func tinyproxy(b *testing.B) (addr string) {
	program, err := exec.LookPath("tinyproxy")
	if err != nil {
		b.Skip("host feature missing: the program tinyproxy")
	}
	l := listen(b)
	port := portOf(l)
	_ = l.Close() // it takes a number and no socket
	settings := filepath.Join(b.TempDir(), "tinyproxy.conf")
	text := fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 600\nLogLevel Critical\nMaxClients 2000\n", port)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-d", "-c", settings)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return addr
		}
		if time.Now().After(end) {
			b.Fatal("tinyproxy does not listen")
		}
	}
}

// BenchmarkPeer has the same tunnels through this proxy and through Tinyproxy, in
// interleaved pairs: throughput, and the time of a fresh connection with one byte there
// and back. "of-peer" above 1 is faster, "fresh-of-peer" below 1.
func BenchmarkPeer(b *testing.B) {
	server, small := source(b), echo(b)
	l := newLab(b, func(c *Config) { c.Sink = nil }, endpoint("127.0.0.1", "tcp", portOf(server), portOf(small)))
	peer := tinyproxy(b)
	bulk, little := server.Addr().String(), small.Addr().String()
	once := func(addr string) time.Duration {
		began := time.Now()
		conn := open(b, addr, little)
		_, _ = conn.Write([]byte("x"))
		_, _ = io.ReadFull(conn, []byte{0})
		took := time.Since(began)
		_ = conn.Close()
		return took
	}
	var rates, fresh []float64
	for b.Loop() {
		theirs, ours := download(b, open(b, peer, bulk)), download(b, open(b, l.addr, bulk))
		rates = append(rates, float64(theirs)/float64(ours))
		for range 20 {
			fresh = append(fresh, 1/(float64(once(peer))/float64(once(l.addr))))
		}
	}
	b.ReportMetric(median(rates), "of-peer")
	b.ReportMetric(median(fresh), "fresh-of-peer")
}
