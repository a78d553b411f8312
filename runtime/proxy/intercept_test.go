package proxy

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// secureWeb is a web server over TLS, its certificate from an authority that roots
// holds.
func secureWeb(t testing.TB, h2 bool, names []string, addrs []net.IP, serve http.HandlerFunc) (w *web, port uint16, roots *x509.CertPool) {
	t.Helper()
	ca := newCertificates(time.Now())
	peer := egress.Peer{Host: names[0]}
	cert, err := ca.leaf(peer, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(addrs) > 0 {
		a, _ := netip.AddrFromSlice(addrs[0])
		if cert, err = ca.leaf(egress.Peer{Addr: a}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	w = &web{serve: serve}
	server := httptest.NewUnstartedServer(w)
	server.EnableHTTP2 = h2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots = x509.NewCertPool()
	roots.AddCert(ca.cert)
	return w, netip.MustParseAddrPort(server.Listener.Addr().String()).Port(), roots
}

func restEndpoint(host string, port uint16) ir.Endpoint {
	e := endpoint(host, "rest", port)
	e.Requests = []ir.RequestRule{
		{Allow: true, Methods: []string{"GET", "HEAD", "POST", "TRACE"}, Path: "/repos/**", Origin: "lab/allow"},
		{Path: "/repos/secret/**", Origin: "lab/deny"},
	}
	return e
}

// browser is a client of the proxy that trusts what the sandbox is told to.
func (l *lab) browser(h2 bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(l.proxy.TrustBundle())
	transport := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: l.addr}),
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: h2,
	}
	if !h2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	l.tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func TestInterception(t *testing.T) {
	for _, tt := range []struct{ inside, upstream bool }{{false, false}, {true, true}, {false, true}, {true, false}} {
		t.Run(fmt.Sprintf("HTTP2 inside %v, upstream %v", tt.inside, tt.upstream), func(t *testing.T) {
			server, port, roots := secureWeb(t, tt.upstream, []string{"api.test"}, nil, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Trailer", "X-Sum")
				w.Header().Set("X-Proto", r.Proto)
				_, _ = io.WriteString(w, "ok")
				w.Header().Set("X-Sum", "2")
			})
			l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
			client := l.browser(tt.inside)
			base := fmt.Sprintf("https://api.test:%d", port)
			do := func(method, path, body string) (*http.Response, string) {
				t.Helper()
				r, err := http.NewRequest(method, base, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.URL.Opaque = path
				r.Header.Set("X-Sent", "1")
				r.Header.Set("Proxy-Authorization", "Basic x") // for the proxy outside, and not for the server
				resp, err := client.Do(r)
				if err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
				defer resp.Body.Close()
				got, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
				return resp, string(got)
			}
			for _, tt2 := range []struct {
				method, path, body string
				status             int
				target             string // that the server sees
			}{
				{"GET", "/repos/a?q=1", "", 200, "/repos/a?q=1"},
				{"GET", "/x/../repos//%61/./b", "", 200, "/repos/a/b"},
				{"HEAD", "/repos/a", "", 200, "/repos/a"},
				{"POST", "/repos/a", strings.Repeat("x", 300_000), 200, "/repos/a"},
				{"GET", "/user", "", 403, ""},
				{"DELETE", "/repos/a", "", 403, ""},
				{"GET", "/repos/secret/x", "", 403, ""},
				{"GET", "/repos/a/../secret/x", "", 403, ""},
				{"GET", "/repos/s%65cret/x", "", 403, ""},
				{"GET", "/repos/a%2fb", "", 400, ""},
				{"TRACE", "/repos/a", "", 403, ""},
			} {
				before := server.count()
				resp, body := do(tt2.method, tt2.path, tt2.body)
				if resp.StatusCode != tt2.status || (resp.ProtoMajor == 2) != tt.inside {
					t.Errorf("%s %s = %s %d %q, want %d", tt2.method, tt2.path, resp.Proto, resp.StatusCode, body, tt2.status)
				}
				e := l.requestEvent()
				if e.Host != "api.test" || e.Method != tt2.method || (e.Decision == Allowed) != (tt2.status == 200) {
					t.Errorf("%s %s: event %+v", tt2.method, tt2.path, e)
				}
				if tt2.status != 200 {
					if server.count() != before {
						t.Errorf("%s %s was refused, and the server saw %+v", tt2.method, tt2.path, server.last(t))
					}
					continue
				}
				if got := server.last(t); got.target != tt2.target || got.host != fmt.Sprintf("api.test:%d", port) || got.body != tt2.body || got.header.Get("X-Sent") != "1" || got.header.Get("Proxy-Authorization") != "" {
					t.Errorf("%s %s: the server saw %.300s", tt2.method, tt2.path, fmt.Sprint(got))
				}
				if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[tt.upstream]; resp.Header.Get("X-Proto") != want {
					t.Errorf("the server is spoken to in %s, want %s", resp.Header.Get("X-Proto"), want)
				}
				if tt2.method != "HEAD" && (body != "ok" || resp.Trailer.Get("X-Sum") != "2") {
					t.Errorf("%s %s: body %q, trailer %v", tt2.method, tt2.path, body, resp.Trailer)
				}
				if int(e.Sent) != len(tt2.body) || int(e.Received) != len(body) || e.Rule != "lab/allow" || e.Address.String() != "127.0.0.1" {
					t.Errorf("%s %s: event %+v", tt2.method, tt2.path, e)
				}
			}
			// Another authority inside the tunnel.
			r, _ := http.NewRequest("GET", base+"/repos/a", nil)
			r.Host = fmt.Sprintf("evil.test:%d", port)
			before := server.count()
			resp, err := client.Do(r)
			if err != nil || resp.StatusCode != 421 || server.count() != before {
				t.Errorf("a request for another host = %v, %v, want 421", resp, err)
			}
			if e := l.requestEvent(); e.Dimension != "host" {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// TestInterceptionAtOnce makes requests at the same time on one HTTP/2 connection.
func TestInterceptionAtOnce(t *testing.T) {
	server, port, roots := secureWeb(t, true, []string{"api.test"}, nil, nil)
	l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
	client := l.browser(true)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			want, path := 200, fmt.Sprintf("/repos/%d", i)
			if i%2 == 1 {
				want, path = 403, fmt.Sprintf("/user/%d", i)
			}
			resp, err := client.Get(fmt.Sprintf("https://api.test:%d%s", port, path))
			if err != nil || resp.StatusCode != want {
				t.Errorf("GET %s = %v, %v, want %d", path, resp, err, want)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	all.Wait()
	if server.count() != 20 {
		t.Errorf("the server saw %d requests, want 20", server.count())
	}
}

// TestInterceptedStream wants parts of an answer when they are sent, in both versions.
func TestInterceptedStream(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		next := make(chan struct{})
		_, port, roots := secureWeb(t, h2, []string{"api.test"}, nil, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "event %d\n", i)
				w.(http.Flusher).Flush()
				<-next
			}
		})
		l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
		resp, err := l.browser(h2).Get(fmt.Sprintf("https://api.test:%d/repos/a", port))
		if err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 100)
		for i := range 3 {
			n, err := resp.Body.Read(buffer)
			if got := string(buffer[:n]); err != nil || got != fmt.Sprintf("event %d\n", i) {
				t.Fatalf("part %d is %q, %v", i, got, err)
			}
			next <- struct{}{}
		}
		_ = resp.Body.Close()
	}
}

// TestAnswerThatIsCut: a client must not take half an answer for a whole one.
func TestAnswerThatIsCut(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		_, port, roots := secureWeb(t, h2, []string{"api.test"}, nil, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/length") {
				w.Header().Set("Content-Length", "10")
			}
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
		for _, path := range []string{"length", "chunks"} {
			resp, err := l.browser(h2).Get(fmt.Sprintf("https://api.test:%d/repos/%s", port, path))
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s, HTTP/2 %v: the cut answer is read as %q without an error", path, h2, body)
			}
			_ = resp.Body.Close()
		}
	}
}

// TestInterceptedBytes speaks HTTP/1 inside by hand: what the strict reader refuses in
// the clear it refuses here.
func TestInterceptedBytes(t *testing.T) {
	server, port, roots := secureWeb(t, false, []string{"api.test"}, nil, nil)
	l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(l.proxy.TrustBundle())
	host := fmt.Sprintf("api.test:%d", port)
	for _, tt := range []struct {
		name, request string
		status        int
	}{
		{"twin", "GET /repos/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 200},
		{"no Host", "GET /repos/a HTTP/1.1\r\n\r\n", 400},
		{"two Host", "GET /repos/a HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.test\r\n\r\n", 400},
		{"length and chunked", "POST /repos/a HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{"bare LF", "GET /repos/a HTTP/1.1\nHost: " + host + "\n\n", 400},
		{"absolute form", "GET https://" + host + "/repos/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
		{"CONNECT", "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
		{"websocket", "GET /repos/a HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 403},
		{"port left out", "GET /repos/a HTTP/1.1\r\nHost: api.test\r\n\r\n", 421},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := server.count()
			c := l.connect(host, 200)
			conn := tls.Client(c.Conn, &tls.Config{ServerName: "api.test", RootCAs: pool})
			_, _ = io.WriteString(conn, tt.request)
			inside := &talk{Conn: conn, tb: t}
			inside.r = c.r
			inside.r.Reset(conn)
			if status, body := inside.answer("GET"); status != tt.status {
				t.Errorf("%q = %d %s, want %d", tt.request, status, body, tt.status)
			}
			if tt.status != 200 && server.count() != before {
				t.Errorf("%q came to the server", tt.request)
			}
		})
	}
	c := l.connect(host, 200)
	conn := tls.Client(c.Conn, &tls.Config{ServerName: "api.test", RootCAs: pool})
	_, _ = io.WriteString(conn, "PUT /repos/a HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	inside := &talk{Conn: conn, tb: t, r: c.r}
	inside.r.Reset(conn)
	if status, _ := inside.answer("PUT"); status != 403 {
		t.Errorf("a denied PUT = %d, want 403 without 100 before it", status)
	}
}

// TestServersMustProve: the server behind a decided name has to have its certificate.
func TestServersMustProve(t *testing.T) {
	server, port, roots := secureWeb(t, true, []string{"other.test"}, nil, nil)
	_, _, foreign := secureWeb(t, true, []string{"api.test"}, nil, nil)
	for _, tt := range []struct {
		name, host string
		roots      *x509.CertPool
		status     int
	}{
		{"twin", "other.test", roots, 200},
		{"a certificate for another name", "api.test", roots, 502},
		{"from an authority that is not trusted", "other.test", foreign, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, func(c *Config) { c.Roots = tt.roots }, restEndpoint(tt.host, port))
			before := server.count()
			resp, err := l.browser(true).Get(fmt.Sprintf("https://%s:%d/repos/a", tt.host, port))
			if err != nil || resp.StatusCode != tt.status {
				t.Fatalf("%v, %v, want %d", resp, err, tt.status)
			}
			if e := l.event(); (e.Decision == Failed) != (tt.status == 502) || server.count() != before+map[int]int{200: 1}[tt.status] {
				t.Errorf("event %+v, the server saw %d requests", e, server.count()-before)
			}
		})
	}
}

func TestInterceptedAddress(t *testing.T) {
	_, port, roots := secureWeb(t, true, []string{"x.test"}, []net.IP{net.IPv4(127, 0, 0, 1).To4()}, nil)
	l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("127.0.0.1", port))
	client := l.browser(true)
	client.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://" + l.addr) }
	resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/repos/a", port))
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("an endpoint by address = %v, %v", resp, err)
	}
}

// TestClientThatDoesNotTrust tells in the evidence what a program lacks.
func TestClientThatDoesNotTrust(t *testing.T) {
	_, port, roots := secureWeb(t, true, []string{"api.test"}, nil, nil)
	l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
	client := l.browser(true)
	client.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
	if resp, err := client.Get(fmt.Sprintf("https://api.test:%d/repos/a", port)); err == nil {
		t.Errorf("a client without the authority gets %v", resp.Status)
	}
	if e := l.event(); e.Kind != Connect || e.Decision != Failed || !strings.Contains(e.Reason, "SSL_CERT_FILE") {
		t.Errorf("event %+v", e)
	}
}

func TestTrustBundle(t *testing.T) {
	if got := newLab(t, nil, endpoint("web.test", "", 443)).proxy.TrustBundle(); got != nil {
		t.Errorf("a policy that looks into nothing has the bundle %q", got)
	}
	for _, host := range []string{"api.test", "**.test", "*.test", "127.0.0.1"} {
		l, other := newLab(t, nil, restEndpoint(host, 443)), newLab(t, nil, restEndpoint(host, 443))
		bundle := l.proxy.TrustBundle()
		block, _ := pem.Decode(bundle)
		if block == nil || block.Type != "CERTIFICATE" {
			t.Fatalf("the bundle begins with %.100q", bundle)
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !ca.IsCA || !ca.MaxPathLenZero || ca.NotAfter.After(time.Now().Add(40*24*time.Hour)) {
			t.Errorf("the authority is %+v, %v", ca, err)
		}
		if bytes.Contains(bundle, []byte("PRIVATE")) {
			t.Error("the bundle has a private key")
		}
		theirs, _ := pem.Decode(other.proxy.TrustBundle())
		if bytes.Equal(block.Bytes, theirs.Bytes) {
			t.Error("two runs have the same authority")
		}
	}
}

func TestLeaves(t *testing.T) {
	now := time.Now()
	c := newCertificates(now)
	roots := x509.NewCertPool()
	roots.AddCert(c.cert)
	long := strings.Repeat("a", 63) + ".test"
	for _, peer := range []egress.Peer{{Host: "api.test", Port: 443}, {Host: long, Port: 443}, {Addr: netip.MustParseAddr("127.0.0.1")}, {Addr: netip.MustParseAddr("2001:db8::1")}} {
		leaf, err := c.leaf(peer, now)
		if err != nil {
			t.Fatal(err)
		}
		name := peer.Host
		if name == "" {
			name = peer.Addr.String()
		}
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			t.Errorf("the certificate of %s: %v", peer, err)
		}
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.test", CurrentTime: now}); err == nil {
			t.Errorf("the certificate of %s is one of other.test too", peer)
		}
		again, _ := c.leaf(egress.Peer{Host: peer.Host, Addr: peer.Addr, Port: 8443}, now)
		if again != leaf {
			t.Errorf("the certificate of %s is made twice", peer)
		}
		if later, _ := c.leaf(peer, now.Add(leafTime)); later == leaf || !later.Leaf.NotAfter.After(now.Add(leafTime)) {
			t.Errorf("the certificate of %s is given out when it has ended", peer)
		}
	}
	for i := range maxLeaves {
		c.leaves[egress.Peer{Host: fmt.Sprint(i)}] = nil
	}
	if _, err := c.leaf(egress.Peer{Host: "one.more.test"}, now); err != nil || len(c.leaves) > maxLeaves {
		t.Errorf("%d certificates are kept, %v", len(c.leaves), err)
	}
}

// TestServeEndsInside ends Serve while requests inside TLS are on their way.
func TestServeEndsInside(t *testing.T) {
	stuck := make(chan struct{}, 2)
	release := make(chan struct{})
	_, port, roots := secureWeb(t, true, []string{"api.test"}, nil, func(_ http.ResponseWriter, r *http.Request) {
		stuck <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	l := newLab(t, func(c *Config) { c.Roots = roots }, restEndpoint("api.test", port))
	failed := make(chan error, 2)
	for _, h2 := range []bool{false, true} {
		client := l.browser(h2)
		go func() {
			resp, err := client.Get(fmt.Sprintf("https://api.test:%d/repos/a", port))
			if err == nil && resp.StatusCode != 502 {
				err = fmt.Errorf("answered %s", resp.Status)
				failed <- err
				return
			}
			failed <- nil
		}()
	}
	<-stuck
	<-stuck
	l.stop()
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
