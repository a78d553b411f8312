package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// connect does a CONNECT (RFC 9110, section 9.3.6).
func (c *client) connect(s *stream, h *head) {
	e := Event{Time: time.Now(), Kind: Connect}
	if r := c.authenticated(h); r != nil {
		c.refuse(s, h, e, r)
		return
	}
	peer, err := parseAuthority(h.target, 0)
	if err != nil {
		c.refuse(s, h, e, malformed("%v", err))
		return
	}
	e.at(peer)
	if h.length != 0 {
		c.refuse(s, h, e, malformed("CONNECT has no body"))
		return
	}
	if h.hasHost {
		// Some clients leave the port out, though RFC 9110, section 7.2, does not.
		if named, err := parseAuthority(h.host, peer.Port); err != nil || named != peer {
			c.refuse(s, h, e, malformed("Host is not the host and port of CONNECT"))
			return
		}
	}
	rt, up, r := c.open(peer, &e)
	if r != nil {
		c.refuse(s, h, e, r)
		return
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.proxy.untrack(up)
		c.allowed(e, rt)
		return
	}
	c.tunnel(rt, up, e)
}

// open decides the peer and connects to it.
func (c *client) open(peer egress.Peer, e *Event) (*route, net.Conn, *refusal) {
	rt, r := c.decide(peer)
	if r != nil {
		return nil, nil, r
	}
	up, err := rt.dial(c.ctx)
	e.Address = rt.wire.at()
	if err != nil {
		if !errors.As(err, &r) {
			r = rt.failed("it is not reached", err)
		}
		return nil, nil, r
	}
	return rt, up, nil
}

// tunnel relays between the client and up, once the client has said what the
// endpoint's protocol is.
func (c *client) tunnel(rt *route, up net.Conn, e Event) {
	if rt.protocol == ir.TCP {
		c.relay(rt, up, e)
		return
	}
	first, err := c.in.first(c.proxy.limits.HeaderTime)
	switch {
	case err != nil && late(err):
		c.refuseTunnel(up, e, denied(egress.Protocol, rt.rule, "the client said nothing within %v, and only \"tcp\" is for protocols in which the server speaks first", c.proxy.limits.HeaderTime))
	case err != nil: // it has closed the connection
		c.proxy.untrack(up)
		c.allowed(e, rt)
	case first == recordHandshake:
		c.tunnelTLS(rt, up, e)
	default:
		c.tunnelHTTP(rt, up, e)
	}
}

// refuseTunnel ends a tunnel with words that the client's protocol has for it.
func (c *client) refuseTunnel(up net.Conn, e Event, r *refusal, words ...byte) {
	c.proxy.untrack(up)
	c.emit(e, r)
	if len(words) > 0 {
		_ = c.conn.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := c.conn.Write(words); err == nil {
			linger(c.conn)
		}
	}
}

// accessDenied is the fatal alert access_denied (RFC 8446, section 6.2).
var accessDenied = []byte{21, 3, 3, 0, 2, 2, 49}

// tunnelTLS holds the client to the name it was allowed.
func (c *client) tunnelTLS(rt *route, up net.Conn, e Event) {
	said, r := c.hello(rt)
	if r == nil {
		r = said.check(rt)
	}
	if r != nil {
		c.refuseTunnel(up, e, r, accessDenied...)
		return
	}
	if rt.protocol == ir.REST {
		rt.wire.park(up)
		c.intercept(rt, e)
		if left := rt.wire.park(nil); left != nil {
			c.proxy.untrack(left)
		}
		return
	}
	c.relay(rt, up, e)
}

// hello reads the ClientHello and leaves it in the input.
func (c *client) hello(rt *route) (hello, *refusal) {
	_ = c.conn.SetReadDeadline(time.Now().Add(c.proxy.limits.HeaderTime))
	for {
		said, whole, err := parseHello(c.in.data, c.proxy.limits.HeaderBytes)
		if err != nil {
			return hello{}, denied(egress.Protocol, rt.rule, "what the client sent to %s begins like TLS and is no ClientHello: %v", rt.peer, err)
		}
		if whole {
			return said, nil
		}
		// Fragments have headers of their own.
		if err := c.in.fill(2 * c.proxy.limits.HeaderBytes); err != nil {
			return hello{}, denied(egress.Protocol, rt.rule, "the ClientHello for %s was not whole within %v and %d bytes", rt.peer, c.proxy.limits.HeaderTime, c.proxy.limits.HeaderBytes)
		}
	}
}

// tunnelHTTP serves requests, if the first line is one's.
func (c *client) tunnelHTTP(rt *route, up net.Conn, e Event) {
	switch r := c.firstLine(rt); {
	case r != nil:
		c.refuseTunnel(up, e, r)
		return
	case rt.protocol == ir.TLS:
		r := denied(egress.Protocol, rt.rule, "the endpoint for %s is for TLS, and the client speaks HTTP", rt.peer)
		c.emit(e, r)
		c.proxy.untrack(up)
		if answer(c.conn, r.status, r.reason, true, false) == nil {
			linger(c.conn)
		}
		return
	}
	rt.wire.park(up)
	c.requests(&stream{conn: c.conn, in: c.in, scheme: "http", tunnel: rt})
	if left := rt.wire.park(nil); left != nil {
		c.proxy.untrack(left)
	}
	e.Sent, e.Received = c.sent.Load(), c.received.Load()
	c.allowed(e, rt)
}

// preface begins HTTP/2 without TLS (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0"

// firstLine waits for the first line of what the client says and refuses what is no
// request of HTTP/1.
func (c *client) firstLine(rt *route) *refusal {
	neither := denied(egress.Protocol, rt.rule, "what the client sent to %s is neither TLS nor HTTP/1; what is no web protocol needs an endpoint of protocol \"tcp\"", rt.peer)
	_ = c.conn.SetReadDeadline(time.Now().Add(c.proxy.limits.HeaderTime))
	for {
		line, _, whole := bytes.Cut(c.in.data, []byte("\r\n"))
		if bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\r' || r >= 0x7f }) >= 0 {
			return neither
		}
		if whole {
			if strings.HasPrefix(string(line), preface) {
				return denied(egress.Protocol, rt.rule, "the client speaks HTTP/2 without TLS to %s, in which requests cannot be told apart here", rt.peer)
			}
			if (&head{}).parseRequestLine(string(line)) != nil {
				return neither
			}
			return nil
		}
		if c.in.fill(c.proxy.limits.HeaderBytes) != nil {
			return neither
		}
	}
}
