package proxy

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// client is one connection from the sandbox.
type client struct {
	ctx   context.Context
	proxy *Proxy
	conn  net.Conn
	in    *input
	timer *time.Timer // of Limits.Total
	done  func()      // to be called when all is over
	apart bool        // a relay goes on when serve returns, and calls done

	who    egress.Client // of the last decision
	sha256 string
	why    string // it is not known

	over           atomic.Bool  // Limits.Total has passed
	sent, received atomic.Int64 // in requests so far

	mu      sync.Mutex
	dialled map[egress.Peer]netip.Addr // for requests
}

func newClient(ctx context.Context, p *Proxy, conn net.Conn, done func()) *client {
	return &client{ctx: ctx, proxy: p, conn: conn, in: &input{conn: conn}, done: done}
}

// serve answers the client until one of the two has had enough. The first byte tells
// which protocol it speaks.
func (c *client) serve() {
	c.timer = time.AfterFunc(c.proxy.limits.Total, func() {
		c.over.Store(true)
		_ = c.conn.Close()
	})
	first, err := c.in.first(c.proxy.limits.HeaderTime)
	switch {
	case err != nil: // a connection made in advance and given up is no attempt
	case first == socksVersion:
		c.socks()
	default:
		c.requests(&stream{conn: c.conn, in: c.in, scheme: "http"})
	}
	if !c.apart {
		c.end()
	}
}

// end gives up what the client holds.
func (c *client) end() {
	c.timer.Stop()
	c.in.release()
	c.done()
}

// stream is where requests come from: the client's connection itself, or what it
// sends in a tunnel that the proxy looks into.
type stream struct {
	conn   net.Conn
	in     *input
	scheme string
	tunnel *route // nil: each request says where it goes
	up     *http.Transport
}

// requests serves HTTP/1 requests until the stream ends or one of them ends it.
func (c *client) requests(s *stream) {
	defer func() {
		if s.up != nil {
			s.up.CloseIdleConnections()
		}
	}()
	limits := c.proxy.limits
	for n := 1; ; n++ {
		if _, err := s.in.first(limits.Idle); err != nil {
			return
		}
		data, err := s.in.head(limits.HeaderBytes, limits.HeaderTime)
		if err != nil {
			c.refuseHead(s, err)
			return
		}
		h, r := parseHead(data)
		s.in.consume(len(data))
		switch {
		case r != nil:
			c.refuse(s, nil, Event{Time: time.Now(), Kind: Request}, r)
			return
		case s.tunnel == nil && h.method == http.MethodConnect:
			c.connect(s, h)
			return
		case !c.request(s, h, n == limits.Requests):
			return
		}
	}
}

// refuseHead answers what did not become the head of a request.
func (c *client) refuseHead(s *stream, err error) {
	var r *refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, errTooLong):
		r = malformed("the head of the request is longer than %d bytes", c.proxy.limits.HeaderBytes)
		r.status, r.dimension = http.StatusRequestHeaderFieldsTooLarge, overLimit
	case errors.Is(err, os.ErrDeadlineExceeded):
		r = malformed("the head of the request was not whole within %v", c.proxy.limits.HeaderTime)
		r.status, r.dimension = http.StatusRequestTimeout, overLimit
		c.proxy.counts.late.Add(1)
	default:
		r = malformed("the connection ended inside the head of a request")
	}
	c.refuse(s, nil, Event{Time: time.Now(), Kind: Request}, r)
}

// refuse tells the sink and the client why h is not done, and reports whether the
// client may ask for something else on the stream: not where bytes may follow that
// belong to what was refused.
func (c *client) refuse(s *stream, h *head, e Event, r *refusal) bool {
	c.emit(e, r)
	again := h != nil && h.length == 0 && h.minor == 1 && !h.asks("Close") && h.method != http.MethodConnect && r.status == http.StatusForbidden
	err := answer(s.conn, r.status, r.reason, !again, h != nil && h.method == http.MethodHead)
	if err != nil || again {
		return err == nil
	}
	linger(s.conn)
	return false
}

// emit completes e by the refusal and hands it on.
func (c *client) emit(e Event, r *refusal) {
	if r.dimension == notRequest || r.dimension == overLimit {
		c.proxy.counts.malformed.Add(1)
	}
	e.Decision, e.Dimension, e.Reason = r.decision, string(r.dimension), r.reason
	if r.rule != "" {
		e.Rule = string(r.rule)
	}
	c.identified(&e)
	c.proxy.emit(e)
}

func (c *client) identified(e *Event) {
	if c.who.Known {
		e.Program, e.ProgramSHA256 = c.who.Path.String(), c.sha256
	}
}

// at notes the peer in the event.
func (e *Event) at(p egress.Peer) {
	e.Host, e.Port = p.Host, p.Port
	if p.Host == "" {
		e.Address = p.Addr
	}
}

// authenticated reports whether the client brings the credential, if it has to.
func (c *client) authenticated(h *head) *refusal {
	want := c.proxy.config.Credential
	if want == "" {
		return nil
	}
	scheme, value, _ := strings.Cut(h.value("Proxy-Authorization"), " ")
	got, err := base64.StdEncoding.DecodeString(strings.TrimLeft(value, " "))
	if err == nil && strings.EqualFold(scheme, "Basic") && subtle.ConstantTimeCompare(got, []byte(want)) == 1 {
		return nil
	}
	c.proxy.counts.unauthenticated.Add(1)
	return &refusal{status: http.StatusProxyAuthRequired, decision: Denied, dimension: notAuth, reason: "the proxy's credential is missing or wrong: the proxy variables of the sandbox's environment hold it"}
}

// busy refuses a connection for which there is no place. Few of these are told so at
// once; the others are closed.
func (p *Proxy) busy(conn net.Conn) {
	p.counts.busy.Add(1)
	reason := "the proxy has no place for another connection"
	p.emit(Event{Time: time.Now(), Kind: Connect, Decision: Denied, Dimension: string(overLimit), Reason: reason})
	const atOnce = 64
	if p.refusing.Add(1) > atOnce {
		p.refusing.Add(-1)
		_ = conn.Close()
		return
	}
	p.run(conn, func(done func()) {
		defer done()
		defer p.refusing.Add(-1)
		if answer(conn, http.StatusServiceUnavailable, reason, true, false) == nil {
			linger(conn)
		}
	})
}

// linger closes the sending side and waits for the client to have read what it was
// told: a close with bytes unread would reset the connection first.
func linger(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.CopyN(io.Discard, conn, 256<<10)
	}
}
