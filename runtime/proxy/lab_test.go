package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// lab is a proxy on a loopback listener, with names, servers and a sink of its own.
type lab struct {
	tb    testing.TB
	proxy *Proxy
	addr  string
	stop  func() // ends Serve and waits for it

	mu      sync.Mutex
	names   map[string][]netip.Addr
	asked   map[string]int // how often a name was resolved
	dialled []netip.AddrPort
	events  []Event
	arrived chan struct{}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// endpoint is an endpoint that may lead to this machine.
func endpoint(host, protocol string, ports ...uint16) ir.Endpoint {
	e := ir.Endpoint{Name: host + protocol, Ports: ports, Protocol: ir.Protocol(protocol), Addresses: loopback, Origin: ir.Origin("lab/endpoint." + host)}
	switch {
	case strings.HasPrefix(host, "**."):
		e.Host = ir.HostPattern{Wildcard: ir.ManyLabels, Name: host[3:]}
	case strings.HasPrefix(host, "*."):
		e.Host = ir.HostPattern{Wildcard: ir.OneLabel, Name: host[2:]}
	default:
		if addr, err := netip.ParseAddr(host); err == nil {
			e.Host = ir.HostPattern{Addr: addr}
		} else {
			e.Host = ir.HostPattern{Name: host}
		}
	}
	return e
}

// newLab starts a proxy for the endpoints. Every name leads to 127.0.0.1 unless
// l.names says otherwise.
func newLab(tb testing.TB, change func(*Config), endpoints ...ir.Endpoint) *lab {
	tb.Helper()
	return newLabOf(tb, change, &egress.Rules{Policy: "lab", Endpoints: endpoints})
}

func newLabOf(tb testing.TB, change func(*Config), rules *egress.Rules) *lab {
	tb.Helper()
	l := &lab{tb: tb, names: map[string][]netip.Addr{}, asked: map[string]int{}, arrived: make(chan struct{}, 10_000)}
	config := Config{Table: egress.NewTable(rules), Resolve: l.resolve, Dial: l.dial, Sink: l.sink}
	if change != nil {
		change(&config)
	}
	l.proxy = New(config)
	listener := listen(tb)
	l.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.proxy.Serve(ctx, listener) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	tb.Cleanup(l.stop)
	return l
}

func (l *lab) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[host]++
	if addrs, ok := l.names[host]; ok {
		if len(addrs) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return addrs, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func (l *lab) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	l.mu.Lock()
	l.dialled = append(l.dialled, to)
	l.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

func (l *lab) sink(e Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	l.mu.Unlock()
	l.arrived <- struct{}{}
}

// event waits for the next event and returns it.
func (l *lab) event() Event {
	l.tb.Helper()
	select {
	case <-l.arrived:
	case <-time.After(20 * time.Second):
		l.tb.Fatal("no event came")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.events[0]
	l.events = l.events[1:]
	return e
}

// requestEvent waits for the next event of a request: tunnels end when they do.
func (l *lab) requestEvent() Event {
	l.tb.Helper()
	for {
		if e := l.event(); e.Kind == Request {
			return e
		}
	}
}

// lookups is how often names were resolved, and addresses dialled.
func (l *lab) lookups() (resolved, dialled int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.asked {
		resolved += n
	}
	return resolved, len(l.dialled)
}

func (l *lab) name(host string, addrs ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[host] = []netip.Addr{}
	for _, a := range addrs {
		l.names[host] = append(l.names[host], netip.MustParseAddr(a))
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	return listener
}

func portOf(l net.Listener) uint16 { return netip.MustParseAddrPort(l.Addr().String()).Port() }

// talk is a connection to the proxy with a deadline on everything.
type talk struct {
	net.Conn
	tb testing.TB
	r  *bufio.Reader
}

func (l *lab) talk() *talk {
	l.tb.Helper()
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		l.tb.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	l.tb.Cleanup(func() { _ = conn.Close() })
	return &talk{conn, l.tb, bufio.NewReader(conn)}
}

func (t *talk) say(format string, args ...any) *talk {
	t.tb.Helper()
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	if _, err := io.WriteString(t, text); err != nil {
		t.tb.Fatalf("say: %v", err)
	}
	return t
}

// answer reads one answer of HTTP and its body.
func (t *talk) answer(method string) (int, string) {
	t.tb.Helper()
	resp, body := t.response(method)
	return resp.StatusCode, body
}

func (t *talk) response(method string) (*http.Response, string) {
	t.tb.Helper()
	resp, err := http.ReadResponse(t.r, &http.Request{Method: method})
	if err != nil {
		t.tb.Fatalf("no answer: %v", err)
	}
	if method == http.MethodConnect && resp.StatusCode == 200 || resp.StatusCode == 101 {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.tb.Fatalf("the answer's body: %v", err)
	}
	return resp, string(body)
}

// ended wants the connection to be over, and returns what came before.
func (t *talk) ended() string {
	t.tb.Helper()
	rest, err := io.ReadAll(t.r)
	if err != nil && late(err) {
		t.tb.Fatalf("the connection goes on; so far %q", rest)
	}
	return string(rest)
}

// connect opens a tunnel and wants the status.
func (l *lab) connect(authority string, want int) *talk {
	l.tb.Helper()
	t := l.talk().say("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	if got, body := t.answer(http.MethodConnect); got != want {
		l.tb.Fatalf("CONNECT %s = %d %s, want %d", authority, got, body, want)
	}
	return t
}

// echo is a server that sends back what it gets, and ends when its client does.
func echo(tb testing.TB) net.Listener {
	tb.Helper()
	listener := listen(tb)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener
}

// seen is a request as a server saw it.
type seen struct {
	method, target, host string
	header               http.Header
	body                 string
}

// web is a server of HTTP that notes what it is asked and says "ok".
type web struct {
	net.Listener
	mu    sync.Mutex
	seen  []seen
	serve http.HandlerFunc // instead of "ok"
}

func newWeb(tb testing.TB, serve http.HandlerFunc) *web {
	tb.Helper()
	w := &web{Listener: listen(tb), serve: serve}
	server := &http.Server{Handler: w, DisableGeneralOptionsHandler: true}
	go func() { _ = server.Serve(w.Listener) }()
	tb.Cleanup(func() { _ = server.Close() })
	return w
}

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.seen = append(w.seen, seen{r.Method, r.RequestURI, r.Host, r.Header, string(body)})
	w.mu.Unlock()
	if w.serve != nil {
		w.serve(out, r)
		return
	}
	_, _ = io.WriteString(out, "ok")
}

// last is the last request that the server saw.
func (w *web) last(tb testing.TB) seen {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		tb.Fatal("the server saw no request")
	}
	return w.seen[len(w.seen)-1]
}

func (w *web) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}
