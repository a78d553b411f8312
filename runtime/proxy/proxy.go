// Package proxy is the way out of a sandbox: it takes connections from inside,
// decides each by the policy's table, and relays what is allowed. It speaks HTTP/1
// (CONNECT and absolute-form requests) and SOCKS5 on one listener.
//
// Its one rule: nothing is dialled but an address that decide.go has checked, for a
// name that it allowed; a name is resolved once for a connection and never again.
// What clients send is read by this package's own strict readers (head.go, hello.go,
// socks.go) before any other code sees it. It knows no release and no sandbox: who
// makes the listener, resolves names and says which program asks is package runtime.
package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// Config is what a Proxy needs of the world. Table, Resolve and Dial must be set.
type Config struct {
	Table *egress.Table
	// Resolve returns every address of a canonical host name.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to exactly that address.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Attribute says which program of the sandbox has the connection whose client end
	// is at that address, and its digest; or why that is not known. It is asked only
	// where the answer can depend on it. nil: it is never known.
	Attribute func(client net.Addr) (program egress.Client, sha256 string, why string)
	Limits    Limits
	// Sink takes every decision; it is called from many goroutines and must not block
	// for long. nil: decisions are only counted.
	Sink func(Event)
	// Roots are the authorities that servers behind an endpoint of protocol "rest" must
	// have their certificates from. nil: the system's.
	Roots *x509.CertPool
	// Credential is the user and password, joined by a colon, that every client must
	// bring: in Proxy-Authorization (RFC 7617), or in SOCKS5 (RFC 1929). "" asks for
	// none, where the listener is the sandbox's own.
	Credential string
}

// Counts is what a Proxy has done so far.
type Counts struct {
	Connections     int64 // accepted
	Busy            int64 // refused past Limits.Connections
	Malformed       int64 // what was said is no request
	Late            int64 // no whole request within Limits.HeaderTime
	Unauthenticated int64
	Allowed         int64 // connections and requests
	Denied          int64
	Failed          int64 // allowed, and the server could not be reached
}

// Proxy answers the clients of one sandbox.
type Proxy struct {
	config Config
	limits Limits
	open   atomic.Int64 // connections with a place

	refusing atomic.Int64 // connections that are being told that there is none
	counts   struct {
		connections, busy, malformed, late, unauthenticated, allowed, denied, failed atomic.Int64
	}

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // to be closed when Serve ends
	closed bool
	work   sync.WaitGroup

	abort   context.CancelFunc // ends Serve
	failure atomic.Pointer[error]

	ca *certificates // nil unless the policy decides requests inside TLS
}

// New makes a proxy. It starts nothing.
func New(c Config) *Proxy {
	p := &Proxy{config: c, limits: c.Limits.orDefaults(), conns: map[net.Conn]struct{}{}}
	if c.Table.EndsTLS() {
		p.ca = newCertificates(time.Now())
	}
	return p
}

// Counts is what the proxy has done so far.
func (p *Proxy) Counts() Counts {
	c := &p.counts
	return Counts{c.connections.Load(), c.busy.Load(), c.malformed.Load(), c.late.Load(), c.unauthenticated.Load(), c.allowed.Load(), c.denied.Load(), c.failed.Load()}
}

// Serve answers what l accepts until ctx ends, or l fails. Then it closes l and every
// connection, and returns when nothing of it is running any more: nil because of
// ctx, else what l failed with. A fault of the proxy's own ends it at once, and is
// returned. A Proxy serves once.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	p.abort = cancel
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close()
		p.closeAll()
	})
	defer func() {
		cancel()
		stop()
		_ = l.Close()
		p.closeAll()
		if p.failure.Load() == nil { // what broke off says no more that it is done
			p.work.Wait()
		}
	}()
	var pause time.Duration
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return p.failed()
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // descriptors have run out, or the client has gone
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		pause = 0
		p.counts.connections.Add(1)
		if p.open.Add(1) > int64(p.limits.Connections) {
			p.open.Add(-1)
			p.busy(conn)
			continue
		}
		p.run(conn, func(done func()) { newClient(ctx, p, conn, func() { p.open.Add(-1); done() }).serve() })
	}
}

// run calls f in a goroutine. Serve waits until f, or whom f has handed it to, has
// called done, which closes conn.
func (p *Proxy) run(conn net.Conn, f func(done func())) {
	if !p.track(conn) {
		return
	}
	p.work.Add(1)
	go func() {
		defer p.recovered()
		f(func() {
			p.untrack(conn)
			p.work.Done()
		})
	}()
}

// recovered, deferred by every goroutine of the proxy, turns a panic into the end of
// Serve: whoever serves a sandbox ends it then, and says so, and does not break off.
func (p *Proxy) recovered() {
	fault := recover()
	if fault == nil {
		return
	}
	err := fmt.Errorf("bug in obspc: %v\n%s", fault, debug.Stack())
	p.failure.CompareAndSwap(nil, &err)
	p.abort()
}

// failed is what recovered took note of, nil for nothing.
func (p *Proxy) failed() error {
	if err := p.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// track notes conn for closeAll; if that has been, conn is closed and track says no.
func (p *Proxy) track(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

// untrack closes conn.
func (p *Proxy) untrack(conn net.Conn) {
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
	_ = conn.Close()
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.conns {
		_ = conn.Close()
	}
}
