package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// BenchmarkInterception downloads over HTTPS from a server behind an endpoint of
// protocol "rest", in interleaved pairs with the same client that asks the server
// itself; "of-direct" is the median of the ratios, for which the budget is 0.3. Each
// byte is encrypted twice more than without, on the same processors.
func BenchmarkInterception(b *testing.B) {
	for _, h2 := range []bool{false, true} {
		b.Run(fmt.Sprintf("HTTP2=%v", h2), func(b *testing.B) {
			const size = 64 << 20
			chunk := make([]byte, 256<<10)
			_, port, roots := secureWeb(b, h2, []string{"api.test"}, nil, func(w http.ResponseWriter, _ *http.Request) {
				for sent := 0; sent < size; sent += len(chunk) {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			})
			l := newLab(b, func(c *Config) { c.Roots, c.Sink = roots, nil }, restEndpoint("api.test", port))
			through := l.browser(h2)
			transport := &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: roots},
				ForceAttemptHTTP2: h2,
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
				},
			}
			if !h2 {
				transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			}
			b.Cleanup(transport.CloseIdleConnections)
			straight := &http.Client{Transport: transport}
			once := func(client *http.Client) float64 {
				began := time.Now()
				resp, err := client.Get(fmt.Sprintf("https://api.test:%d/repos/a", port))
				if err != nil {
					b.Fatal(err)
				}
				defer resp.Body.Close()
				n, err := io.Copy(io.Discard, resp.Body)
				if err != nil || n != size {
					b.Fatalf("%d bytes came: %v", n, err)
				}
				return size / 1e6 / time.Since(began).Seconds()
			}
			once(straight)
			once(through)
			var ours, direct, ratios []float64
			for b.Loop() {
				d, o := once(straight), once(through)
				ours, direct, ratios = append(ours, o), append(direct, d), append(ratios, o/d)
			}
			b.ReportMetric(median(ratios), "of-direct")
			b.ReportMetric(median(ours), "MB/s")
			b.ReportMetric(median(direct), "direct-MB/s")
		})
	}
}
