package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

func TestTunnelOfAnyBytes(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, nil, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("DB.test.:%d", port), 200).say("hello")
	buffer := make([]byte, 5)
	if _, err := io.ReadFull(c.r, buffer); err != nil || string(buffer) != "hello" {
		t.Fatalf("the echo of hello is %q, %v", buffer, err)
	}
	// Half of the connection ends, and the other half goes on until the server ends it.
	c.say("last")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if rest := c.ended(); rest != "last" {
		t.Errorf("behind the client's end comes %q", rest)
	}
	e := l.event()
	if e.Kind != Connect || e.Decision != Allowed || e.Host != "db.test" || e.Port != port || e.Address.String() != "127.0.0.1" || e.Sent != 9 || e.Received != 9 || e.Rule != "lab/endpoint.db.test" || e.Time.IsZero() {
		t.Errorf("event %+v", e)
	}
}

// TestTunnelOfServerThatSpeaksFirst needs "tcp": elsewhere the client has to.
func TestTunnelOfServerThatSpeaksFirst(t *testing.T) {
	t.Parallel()
	server := listen(t)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
		}
	}()
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.HeaderTime = time.Second }, endpoint("git.test", "tcp", port), endpoint("web.test", "", port))
	c := l.connect(fmt.Sprintf("git.test:%d", port), 200)
	if line, err := c.r.ReadString('\n'); line != "SSH-2.0-x\r\n" {
		t.Errorf("the server's greeting is %q, %v", line, err)
	}
	web := l.connect(fmt.Sprintf("web.test:%d", port), 200)
	if rest := web.ended(); rest != "" {
		t.Errorf("a client of the web that says nothing gets %q", rest)
	}
	if e := l.event(); e.Decision != Denied || e.Dimension != "protocol" || !strings.Contains(e.Reason, `"tcp"`) {
		t.Errorf("event %+v", e)
	}
}

// TestTunnelInBulk moves more than fits any buffer, both ways, and counts it.
func TestTunnelInBulk(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLab(t, nil, endpoint("db.test", "tcp", port))
	c := l.connect(fmt.Sprintf("db.test:%d", port), 200)
	const total = 20 << 20
	data := make([]byte, total)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	go func() {
		_, _ = c.Write(data)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}()
	if got := c.ended(); got != string(data) {
		t.Errorf("%d bytes come back of %d, or other ones", len(got), total)
	}
	if e := l.event(); e.Sent != total || e.Received != total {
		t.Errorf("event %+v, want %d bytes each way", e, total)
	}
}

func TestConnectRefusals(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	l := newLabOf(t, nil, &egress.Rules{
		Endpoints: []ir.Endpoint{endpoint("**.test", "tcp", port), endpoint("*.one.example", "tcp", port)},
		Denied:    []ir.HostRule{{Host: ir.HostPattern{Wildcard: ir.ManyLabels, Name: "ads.test"}, Origin: "lab/deny"}},
	})
	for _, tt := range []struct {
		name, authority string
		status          int
		dimension       string
	}{
		{"twin", "a.test:PORT", 200, ""},
		{"deep", "a.b.c.test:PORT", 200, ""},
		{"bare suffix", "test:PORT", 403, "host"},
		{"one label", "a.one.example:PORT", 200, ""},
		{"two labels", "a.b.one.example:PORT", 403, "host"},
		{"suffix without a dot", "atest:PORT", 403, "host"},
		{"another port", "a.test:1", 403, "port"},
		{"denied", "x.ads.test:PORT", 403, "denied-host"},
		{"denied in capitals with a dot", "X.ADS.TEST.:PORT", 403, "denied-host"},
		{"address of an allowed name", "127.0.0.1:PORT", 403, "host"},
		{"homograph in A-labels", "xn--pple-43d.example:PORT", 403, "host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resolved, dialled := l.lookups()
			authority := strings.ReplaceAll(tt.authority, "PORT", fmt.Sprint(port))
			c := l.connect(authority, tt.status)
			if tt.status == 200 {
				_ = c.Close()
			}
			e := l.event()
			if e.Dimension != tt.dimension || e.Kind != Connect || (e.Decision == Allowed) != (tt.status == 200) {
				t.Errorf("CONNECT %s: event %+v, want dimension %q", authority, e, tt.dimension)
			}
			if r, d := l.lookups(); tt.status != 200 && (r != resolved || d != dialled) {
				t.Errorf("CONNECT %s was resolved %d times and dialled %d times", authority, r-resolved, d-dialled)
			}
		})
	}
}

func TestConnectFraming(t *testing.T) {
	l := newLab(t, nil, endpoint("a.test", "tcp", 443))
	for _, request := range []string{
		"CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nContent-Length: 1\r\n\r\nx",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nTransfer-Encoding: chunked\r\n\r\n",
		"CONNECT http://a.test:443/ HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
		"CONNECT /a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
		"connect a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
	} {
		if status, body := l.talk().say("%s", request).answer("CONNECT"); status != 400 {
			t.Errorf("%q = %d %s, want 400", request, status, body)
		}
	}
	if resolved, dialled := l.lookups(); resolved+dialled != 0 {
		t.Errorf("%d were resolved and %d dialled", resolved, dialled)
	}
}

// TestResolvedAddresses: all answers of a name must pass, and what is dialled is what
// was checked.
func TestResolvedAddresses(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	open := endpoint("open.test", "tcp", port)
	public := endpoint("public.test", "tcp", port)
	public.Addresses = nil
	l := newLab(t, nil, open, public)
	for _, tt := range []struct {
		name, host string
		addrs      []string
		status     int
	}{
		{"opened", "open.test", []string{"127.0.0.1"}, 200},
		{"opened, mapped", "open.test", []string{"::ffff:127.0.0.1"}, 200},
		{"mixed", "open.test", []string{"127.0.0.1", "10.0.0.1"}, 403},
		{"mixed, the other way round", "open.test", []string{"10.0.0.1", "127.0.0.1"}, 403},
		{"metadata", "open.test", []string{"169.254.169.254"}, 403},
		{"unspecified", "open.test", []string{"0.0.0.0"}, 403},
		{"loopback IPv6", "open.test", []string{"::1"}, 403},
		{"loopback", "public.test", []string{"127.0.0.1"}, 403},
		{"loopback, mapped", "public.test", []string{"::ffff:127.0.0.1"}, 403},
		{"loopback, compatible", "public.test", []string{"::7f00:1"}, 403},
		{"loopback, NAT64", "public.test", []string{"64:ff9b::7f00:1"}, 403},
		{"loopback, 6to4", "public.test", []string{"2002:7f00:1::"}, 403},
		{"private", "public.test", []string{"192.168.1.1"}, 403},
		{"metadata, public name", "public.test", []string{"169.254.169.254"}, 403},
		{"metadata IPv6", "public.test", []string{"fd00:ec2::254"}, 403},
		{"with a zone", "public.test", []string{"fe80::1%lo"}, 403},
		{"public and metadata", "public.test", []string{"93.184.216.34", "169.254.169.254"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l.name(tt.host, tt.addrs...)
			_, before := l.lookups()
			c := l.connect(fmt.Sprintf("%s:%d", tt.host, port), tt.status)
			if tt.status == 200 {
				_ = c.Close()
			}
			e := l.event()
			_, after := l.lookups()
			if tt.status == 200 && (e.Decision != Allowed || after != before+1) || tt.status != 200 && (e.Decision != Denied || e.Dimension != "address" || after != before) {
				t.Errorf("%s to %v: event %+v, %d were dialled", tt.host, tt.addrs, e, after-before)
			}
		})
	}
}

// TestRebinding changes a name's answer with every question.
func TestRebinding(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	answers := []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "127.0.0.1"}
	n := 0
	l := newLab(t, func(c *Config) {
		c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			n++
			return []netip.Addr{netip.MustParseAddr(answers[n-1])}, nil
		}
	}, endpoint("db.test", "tcp", port))
	for i, want := range []int{200, 403, 403, 200} {
		_ = l.connect(fmt.Sprintf("db.test:%d", port), want).Close()
		if n != i+1 {
			t.Errorf("connection %d resolved the name %d times", i, n)
		}
	}
	for _, to := range l.dialled {
		if to.Addr().String() != "127.0.0.1" {
			t.Errorf("%s was dialled", to)
		}
	}
}

// TestAddressesInTurn reaches a name of which only one address answers.
func TestAddressesInTurn(t *testing.T) {
	t.Parallel()
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			switch to.Addr().String() {
			case "127.0.0.2":
				return nil, errors.New("refused by the test")
			case "127.0.0.3":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx, to)
		}
	}, endpoint("db.test", "tcp", port))
	l.name("db.test", "127.0.0.2", "127.0.0.3", "127.0.0.1")
	_ = l.connect(fmt.Sprintf("db.test:%d", port), 200).Close()
	if e := l.event(); e.Address.String() != "127.0.0.1" {
		t.Errorf("event %+v", e)
	}
	l.name("db.test", "127.0.0.2", "127.0.0.2")
	l.connect(fmt.Sprintf("db.test:%d", port), 502)
}

// tlsServer answers over TLS, with the connection's server name.
func tlsServer(t *testing.T) (*httptest.Server, uint16) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.ServerName)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
}

func TestTunnelOfTLS(t *testing.T) {
	_, port := tlsServer(t)
	l := newLab(t, nil, endpoint("web.test", "", port), endpoint("tls.test", "tls", port), endpoint("http.test", "http", port), endpoint("tcp.test", "tcp", port), endpoint("127.0.0.1", "", port))
	for _, tt := range []struct {
		name, host, sni string
		dimension       string // "": reached
	}{
		{"twin", "web.test", "web.test", ""},
		{"only TLS", "tls.test", "tls.test", ""},
		{"capitals", "web.test", "WEB.test", ""},
		{"another name", "web.test", "evil.test", "host"},
		{"another allowed name", "web.test", "tls.test", "host"},
		{"a name below", "web.test", "a.web.test", "host"},
		{"no name", "web.test", "", "host"},
		{"address without a name", "127.0.0.1", "", ""},
		{"address with a name", "127.0.0.1", "web.test", "host"},
		{"only HTTP", "http.test", "http.test", "protocol"},
		{"any bytes, any name", "tcp.test", "evil.test", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := l.connect(fmt.Sprintf("%s:%d", tt.host, port), 200)
			conn := tls.Client(c.Conn, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true})
			err := conn.Handshake()
			if tt.dimension != "" {
				if err == nil || !strings.Contains(err.Error(), "access denied") {
					t.Errorf("the handshake ends with %v, want the alert access_denied", err)
				}
				if e := l.event(); e.Decision != Denied || e.Dimension != tt.dimension || e.Sent+e.Received != 0 {
					t.Errorf("event %+v, want dimension %q", e, tt.dimension)
				}
				return
			}
			if err != nil {
				t.Fatalf("the handshake fails: %v", err)
			}
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 OK") {
				t.Errorf("the answer is %q, %v", got, err)
			}
			_ = conn.Close()
			if e := l.event(); e.Decision != Allowed || e.Sent == 0 || e.Received == 0 {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// TestTunnelOfHTTP decides the requests in a tunnel one by one.
func TestTunnelOfHTTP(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	rest := endpoint("api.test", "rest", port)
	rest.Requests = []ir.RequestRule{{Allow: true, Methods: []string{"GET"}, Path: "/repos/**", Origin: "lab/allow"}}
	l := newLab(t, nil, endpoint("web.test", "", port), endpoint("tls.test", "tls", port), rest)
	c := l.connect(fmt.Sprintf("web.test:%d", port), 200)
	for _, tt := range []struct {
		target, host string
		status       int
	}{{"/a//b", "web.test", 200}, {"/", "evil.test", 403}, {"/../x", "web.test", 400}} {
		c.say("GET %s HTTP/1.1\r\nHost: %s:%d\r\n\r\n", tt.target, tt.host, port)
		if status, body := c.answer("GET"); status != tt.status {
			t.Errorf("GET %s of %s = %d %s, want %d", tt.target, tt.host, status, body, tt.status)
		}
	}
	if server.last(t).target != "/a/b" || server.count() != 1 {
		t.Errorf("the server saw %+v", server.seen)
	}
	_ = c.Close()
	if resolved, dialled := l.lookups(); resolved != 1 || dialled != 1 {
		t.Errorf("the tunnel resolved %d times and dialled %d times", resolved, dialled)
	}
	for _, want := range []string{"request allowed", "request denied", "request denied", "connect allowed"} {
		if e := l.event(); e.Kind+" "+e.Decision != want {
			t.Errorf("event %+v, want %s", e, want)
		}
	}
	for _, absolute := range []string{"http://web.test:%d/", "http://evil.test:%d/"} {
		c := l.connect(fmt.Sprintf("web.test:%d", port), 200).say("GET "+absolute+" HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
		if status, _ := c.answer("GET"); status != 400 {
			t.Errorf("%s inside a tunnel = %d, want 400", absolute, status)
		}
	}
	nested := l.connect(fmt.Sprintf("web.test:%d", port), 200).say("CONNECT web.test:%d HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
	if status, _ := nested.answer("GET"); status != 400 {
		t.Errorf("CONNECT inside a tunnel = %d, want 400", status)
	}
	tunnel := l.connect(fmt.Sprintf("tls.test:%d", port), 200).say("GET / HTTP/1.1\r\nHost: tls.test:%d\r\n\r\n", port)
	if status, _ := tunnel.answer("GET"); status != 403 {
		t.Errorf("HTTP to an endpoint for TLS = %d, want 403", status)
	}
	api := l.connect(fmt.Sprintf("api.test:%d", port), 200)
	for path, want := range map[string]int{"/repos/a": 200, "/user": 403} {
		api.say("GET %s HTTP/1.1\r\nHost: api.test:%d\r\n\r\n", path, port)
		if status, _ := api.answer("GET"); status != want {
			t.Errorf("GET %s in the clear = %d, want %d", path, status, want)
		}
	}
}

// TestTunnelThatIsNotUsed: the connection of a tunnel in which every request was
// denied ends with the tunnel, in the clear and inside TLS.
func TestTunnelThatIsNotUsed(t *testing.T) {
	server := listen(t)
	ended := make(chan int64, 2)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				n, _ := io.Copy(io.Discard, conn)
				ended <- n
				_ = conn.Close()
			}()
		}
	}()
	port := portOf(server)
	l := newLab(t, nil, restEndpoint("api.test", port))
	c := l.connect(fmt.Sprintf("api.test:%d", port), 200).say("GET /user HTTP/1.1\r\nHost: api.test:%d\r\n\r\n", port)
	if status, _ := c.answer("GET"); status != 403 {
		t.Errorf("GET /user = %d, want 403", status)
	}
	_ = c.Close()
	quiet := func() {
		t.Helper()
		select {
		case n := <-ended:
			if n != 0 {
				t.Errorf("the server was sent %d bytes", n)
			}
		case <-time.After(20 * time.Second):
			t.Error("the connection to the server goes on")
		}
	}
	quiet()
	if resp, err := l.browser(true).Get(fmt.Sprintf("https://api.test:%d/user", port)); err != nil || resp.StatusCode != 403 {
		t.Errorf("GET /user inside TLS = %v, %v, want 403", resp, err)
	}
	l.stop()
	quiet()
}

// TestTunnelOfSomethingElse: neither TLS nor HTTP/1 reaches a server of the web.
func TestTunnelOfSomethingElse(t *testing.T) {
	t.Parallel()
	server := echo(t)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.HeaderTime = time.Second }, endpoint("web.test", "", port), endpoint("tcp.test", "tcp", port))
	for _, tt := range []struct{ name, bytes string }{
		{"HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"SSH", "SSH-2.0-OpenSSH_9.9\r\n"},
		{"a mail server's client", "EHLO a\r\n"},
		{"HTTP/0.9", "GET /\r\n"},
		{"zero bytes", "\x00\x00\x00\x08\x04\xd2\x16\x2f"},
		{"SSL 2", "\x80\x2e\x01\x00\x02"},
		{"TLS that is no handshake", "\x17\x03\x03\x00\x05hello"},
		{"a ServerHello", "\x16\x03\x03\x00\x04\x02\x00\x00\x00"},
		{"half a ClientHello", "\x16\x03\x01\x02\x00\x01\x00"},
		{"half a line", "GET / HT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := l.connect(fmt.Sprintf("web.test:%d", port), 200).say("%s", tt.bytes)
			if rest := c.ended(); strings.Contains(rest, tt.bytes) {
				t.Errorf("%q came to the server, which says %q", tt.bytes, rest)
			}
			if e := l.event(); e.Decision != Denied || e.Dimension != "protocol" {
				t.Errorf("event %+v", e)
			}
			twin := l.connect(fmt.Sprintf("tcp.test:%d", port), 200).say("%s", tt.bytes)
			_ = twin.Conn.(*net.TCPConn).CloseWrite()
			if rest := twin.ended(); rest != tt.bytes {
				t.Errorf("an endpoint of any bytes echoes %q as %q", tt.bytes, rest)
			}
			l.event()
		})
	}
}

// TestProgram attributes a connection only where a program matters, and for each
// decision on it.
func TestProgram(t *testing.T) {
	server := echo(t)
	port := portOf(server)
	git := endpoint("git.test", "tcp", port)
	git.Executables = []ir.Path{ir.MustPath("/usr/bin/git")}
	asked := 0
	var who egress.Client
	why := ""
	l := newLab(t, func(c *Config) {
		c.Attribute = func(client net.Addr) (egress.Client, string, string) {
			asked++
			return who, "d1g3st", why
		}
	}, git, endpoint("any.test", "tcp", port))
	_ = l.connect(fmt.Sprintf("any.test:%d", port), 200).Close()
	if e := l.event(); asked != 0 || e.Program != "" {
		t.Errorf("who asks was looked for %d times, where it does not matter: %+v", asked, e)
	}
	who = egress.Client{Known: true, Path: ir.MustPath("/usr/bin/git")}
	_ = l.connect(fmt.Sprintf("git.test:%d", port), 200).Close()
	if e := l.event(); asked != 1 || e.Program != "/usr/bin/git" || e.ProgramSHA256 != "d1g3st" {
		t.Errorf("after %d questions: event %+v", asked, e)
	}
	who.Path = ir.MustPath("/usr/bin/curl")
	l.connect(fmt.Sprintf("git.test:%d", port), 403)
	if e := l.event(); e.Dimension != "program" || e.Program != "/usr/bin/curl" {
		t.Errorf("event %+v", e)
	}
	who, why = egress.Client{}, "two programs hold the connection"
	l.connect(fmt.Sprintf("git.test:%d", port), 403)
	if e := l.event(); e.Dimension != "program" || !strings.Contains(e.Reason, why) {
		t.Errorf("event %+v", e)
	}
	// A connection that is kept and handed on to another program.
	server2 := newWeb(t, nil)
	api := endpoint("api.test", "http", portOf(server2))
	api.Executables = git.Executables
	who, why = egress.Client{Known: true, Path: ir.MustPath("/usr/bin/git")}, ""
	handed := newLab(t, func(c *Config) {
		c.Attribute = func(net.Addr) (egress.Client, string, string) { return who, "", "" }
	}, api, endpoint("open.test", "http", portOf(server2))).talk()
	for _, want := range []int{200, 403} {
		handed.say("GET http://api.test:%d/ HTTP/1.1\r\nHost: api.test:%d\r\n\r\n", portOf(server2), portOf(server2))
		if status, _ := handed.answer("GET"); status != want {
			t.Errorf("a request of %s = %d, want %d", who.Path, status, want)
		}
		who.Path = ir.MustPath("/usr/bin/curl")
	}
}
