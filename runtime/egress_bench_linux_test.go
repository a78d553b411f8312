package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
)

func init() {
	// fresh ADDRESS N: N times a connection, a tunnel and one byte there and back; prints
	// the median in nanoseconds.
	attempts["fresh"] = func(a []string) error {
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		var took []time.Duration
		for range n {
			began := time.Now()
			conn, err := net.Dial("tcp", "127.0.0.1:3128")
			if err != nil {
				return err
			}
			fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", a[0], a[0])
			from := bufio.NewReader(conn)
			for {
				line, err := from.ReadString('\n')
				if err != nil {
					return err
				}
				if line == "\r\n" {
					break
				}
			}
			conn.Write([]byte("x"))
			if _, err := from.ReadByte(); err != nil {
				return err
			}
			took = append(took, time.Since(began))
			conn.Close()
		}
		fmt.Println(median(took).Nanoseconds())
		return nil
	}
}

// relay is a proxy that decides nothing: it reads a head and copies.
type relay struct{ to string }

func (relay) TrustBundle() []byte { return nil }

func (r relay) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			head := make([]byte, 4096)
			for n := 0; !bytes.HasSuffix(head[:n], []byte("\r\n\r\n")); {
				m, err := conn.Read(head[n:])
				if err != nil {
					return
				}
				n += m
			}
			up, err := net.Dial("tcp", r.to)
			if err != nil {
				return
			}
			defer up.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			go func() { io.Copy(up, conn); up.(*net.TCPConn).CloseWrite() }()
			io.Copy(conn, up)
		}()
	}
}

// BenchmarkEgressFresh compares a fresh connection from inside a sandbox with the same
// through a relay that decides nothing (design 11: 1.5, with programs 3). Medians of
// 200 connections of each kind in turns; the median of their ratios.
func BenchmarkEgressFresh(b *testing.B) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	must(b, err)
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); io.Copy(conn, conn) }()
		}
	}()
	defer runtime.UseNames(map[string][]netip.Addr{serviceName: {netip.MustParseAddr("127.0.0.1")}})()
	s := &service{port: server.Addr().(*net.TCPAddr).Port}
	dir, err := os.MkdirTemp("/var/tmp", "obspc-bench-")
	must(b, err)
	defer os.RemoveAll(dir)
	plainPolicy := development(b, policy(b, plain+s.endpoint(`protocol = "tcp"`)))
	programs := development(b, policy(b, plain+s.endpoint(fmt.Sprintf("protocol = \"tcp\"\nexecutables = [%q]", probePath))))
	once := func(outlet func(proxy.Config) runtime.Outlet, asked bool) float64 {
		defer runtime.UseOutlet(outlet)()
		v := plainPolicy
		if asked {
			v = programs
		}
		r := probed(b, v, dir, "fresh", s.at(), "200")
		ns, err := strconv.ParseFloat(strings.Fields(r.stdout + " -")[0], 64)
		if err != nil {
			b.Fatalf("%s", r)
		}
		return ns
	}
	ours := func(c proxy.Config) runtime.Outlet { return proxy.New(c) }
	nothing := func(proxy.Config) runtime.Outlet { return relay{server.Addr().String()} }
	var without, with []float64
	var relayed, took, asked []float64
	for b.Loop() {
		r, w, p := once(nothing, false), once(ours, false), once(ours, true)
		relayed, took, asked = append(relayed, r), append(took, w), append(asked, p)
		without, with = append(without, w/r), append(with, p/r)
	}
	b.ReportMetric(median(without), "ratio")
	b.ReportMetric(median(with), "ratio-programs")
	b.ReportMetric(median(relayed)/1e3, "relay-µs")
	b.ReportMetric(median(took)/1e3, "proxy-µs")
	b.ReportMetric(median(asked)/1e3, "programs-µs")
	b.ReportMetric(0, "ns/op")
}
