package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// ask is a request as far as it is decided.
type ask struct {
	method  string
	target  string // as it was sent
	host    string // the value of Host, or of :authority
	hasHost bool
	upgrade bool // to a websocket

	path, query string // canonical; set by judge
}

// upgradeWord is the one protocol that a connection may change to (RFC 6455).
const upgradeWord = "websocket"

var defaultPorts = map[string]uint16{"http": 80, "https": 443}

// request does one request of HTTP/1 and reports whether another may follow.
func (c *client) request(s *stream, h *head, last bool) bool {
	e := Event{Time: time.Now(), Kind: Request, Method: h.method}
	a := &ask{method: h.method, target: h.target, host: h.host, hasHost: h.hasHost}
	a.upgrade = h.minor == 1 && h.asks("Upgrade") && strings.EqualFold(h.value("Upgrade"), upgradeWord)
	if a.upgrade && h.length != 0 {
		return c.refuse(s, h, e, malformed("a request with a body changes to no other protocol"))
	}
	if s.tunnel == nil {
		if r := c.authenticated(h); r != nil {
			return c.refuse(s, h, e, r)
		}
	}
	rt, r := c.judge(s, a, &e)
	if r != nil {
		return c.refuse(s, h, e, r)
	}
	if s.up == nil {
		s.up = c.transport(s.scheme)
	}
	from := newBody(s.in, h.length, c.proxy.limits.Idle, c.proxy.limits.Sent-c.sent.Load())
	told := &sync.Mutex{} // who may write to the client: an answer is not interrupted
	answered := false
	if h.length != 0 && h.minor == 1 && strings.EqualFold(h.value("Expect"), "100-continue") {
		from.expected = func() {
			told.Lock()
			defer told.Unlock()
			if !answered {
				_ = s.conn.SetWriteDeadline(time.Now().Add(writeTime))
				_, _ = io.WriteString(s.conn, "HTTP/1.1 100 Continue\r\n\r\n")
			}
		}
	}
	ctx, cancel := context.WithCancel(context.WithValue(c.ctx, routeKey{}, rt))
	defer cancel()
	resp, err := s.up.RoundTrip(c.outgoing(ctx, s.scheme, rt, a, h, from))
	told.Lock()
	answered = true
	told.Unlock()
	e.Rule = string(rt.rule)
	if e.Address = rt.wire.at(); !e.Address.IsValid() { // a connection of an earlier request
		e.Address = c.lastDialled(rt.peer)
	}
	if err != nil {
		from.stop(s.conn)
		e.Sent = from.sent()
		return c.refuse(s, h, e, c.roundTripFailed(rt, from, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.upgraded(s, h, a, rt, resp, e)
		return false
	}
	closing := last || h.minor == 0 || h.asks("Close")
	n, again, err := c.respond(s.conn, h, resp, closing)
	rested := from.stop(s.conn)
	e.Sent, e.Received = from.sent(), n
	c.sent.Add(e.Sent)
	c.received.Add(n)
	c.answeredWith(e, rt, err)
	if err == nil && !(again && rested) {
		linger(s.conn)
	}
	return again && rested
}

// answeredWith tells the sink of a request that was answered, until err.
func (c *client) answeredWith(e Event, rt *route, err error) {
	if errors.Is(err, errReceived) || errors.Is(err, errBudget) {
		c.overLimit(e, rt, "the connection has sent or received as many bytes as one may")
		return
	}
	c.allowed(e, rt)
}

// allowed tells the sink of what was allowed and done.
func (c *client) allowed(e Event, rt *route) {
	e.Decision, e.Rule = Allowed, string(rt.rule)
	e.Reason = egress.Answer{Allow: true, Rule: rt.rule}.Reason(rt.peer)
	c.identified(&e)
	c.proxy.emit(e)
}

// judge decides the request, and makes its target canonical. The event learns what
// the client asked for as far as it was a request.
func (c *client) judge(s *stream, a *ask, e *Event) (*route, *refusal) {
	rt, target := s.tunnel, a.target
	if rt == nil {
		peer, rest, r := absoluteForm(a.target)
		if r != nil {
			return nil, r
		}
		e.at(peer)
		if path, _, err := ir.CanonicalTarget(rest); err == nil {
			e.Path = path // for the evidence of a denial by name
		}
		if rt, r = c.decide(peer); r != nil {
			return nil, r
		}
		target = rest
	} else {
		again := *rt // requests have rules of their own
		rt = &again
		e.at(rt.peer)
		if !strings.HasPrefix(target, "/") {
			return nil, malformed("inside a tunnel a request's target is a path")
		}
	}
	if a.hasHost {
		named, err := parseAuthority(a.host, defaultPorts[s.scheme])
		if err != nil {
			return nil, malformed("Host: %v", err)
		}
		if named != rt.peer {
			r := denied(egress.Host, rt.rule, "Host is %s, and what was asked for and decided is %s", named, rt.peer)
			if s.scheme == "https" {
				r.status = http.StatusMisdirectedRequest
			}
			return nil, r
		}
	}
	path, query, err := ir.CanonicalTarget(target)
	if err != nil {
		return nil, malformed("%v", err)
	}
	a.path, a.query, e.Path = path, query, path
	if a.method == http.MethodConnect || a.method == http.MethodTrace {
		return nil, denied(egress.Method, rt.rule, "%s is no request to a server", a.method)
	}
	if a.upgrade && rt.protocol != ir.Web && rt.protocol != ir.HTTP {
		return nil, denied(egress.Protocol, rt.rule, "the endpoint for %s decides every request, and a websocket is none", rt.peer)
	}
	if r := c.decideRequest(rt, s.scheme, a.method, path); r != nil {
		return nil, r
	}
	return rt, nil
}

// absoluteForm takes the target of a request to a proxy apart (RFC 9112, section
// 3.2.2): whom it is for, and the target in that one's eyes.
func absoluteForm(target string) (egress.Peer, string, *refusal) {
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok || strings.HasPrefix(target, "/"):
		return egress.Peer{}, "", malformed("this is a proxy: the target is http://HOST/PATH, or the method CONNECT")
	case strings.EqualFold(scheme, "https"):
		return egress.Peer{}, "", malformed("https goes through CONNECT HOST:PORT, not through a request for https://")
	case !strings.EqualFold(scheme, "http"):
		return egress.Peer{}, "", malformed("this is a proxy for http:// and, with CONNECT, for https://")
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	peer, err := parseAuthority(authority, defaultPorts["http"])
	if err != nil {
		return egress.Peer{}, "", malformed("%v", err)
	}
	return peer, rest, nil
}

// outgoing is the request that the server gets: the canonical target, the host that
// was decided, and the fields that are not the client's connection's.
func (c *client) outgoing(ctx context.Context, scheme string, rt *route, a *ask, h *head, from *body) *http.Request {
	fields := make(http.Header, len(h.fields)+1)
	for _, f := range h.fields {
		if forwards(f.name) && !h.asks(f.name) {
			fields[f.name] = append(fields[f.name], f.value)
		}
	}
	if len(fields["User-Agent"]) == 0 {
		fields["User-Agent"] = []string{""} // net/http would add its own
	}
	if from.expected != nil {
		fields["Expect"] = []string{"100-continue"}
	}
	if a.upgrade {
		fields["Connection"], fields["Upgrade"] = []string{"Upgrade"}, []string{upgradeWord}
	}
	out := sendable(scheme, rt, a, fields)
	if h.length != 0 {
		withBody(out, from, h.length)
	}
	return out.WithContext(ctx)
}

// withBody gives the request its body, and makes it the last on its connection to the
// server. A server that takes no body of such a request (of GET, say) would read it as
// the next request, which nobody has decided; told that there is none, it does not (RFC
// 9112, section 9.6). Length is -1 where it is not known.
func withBody(out *http.Request, body io.ReadCloser, length int64) {
	out.Body, out.ContentLength, out.Close = body, length, true
}

// sendable is the request without its body.
func sendable(scheme string, rt *route, a *ask, fields http.Header) *http.Request {
	return &http.Request{
		Method: a.method,
		// Opaque is sent as it stands: net/http would decode and encode the path anew.
		URL: &url.URL{
			Scheme: scheme, Host: authorityOf(rt.peer, 0), Opaque: a.path,
			RawQuery: strings.TrimPrefix(a.query, "?"), ForceQuery: a.query == "?",
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host:   authorityOf(rt.peer, defaultPorts[scheme]),
		Header: fields,
	}
}

type routeKey struct{}

// transport sends requests on connections that routes dial, and on no other.
func (c *client) transport(scheme string) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return c.dialFor(ctx, address)
		},
		DisableCompression:     true,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        time.Minute,
		MaxIdleConns:           2,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if scheme == "https" {
		c.proxy.secure(c, t)
	}
	return t
}

// dialFor dials the route of the request that ctx belongs to.
func (c *client) dialFor(ctx context.Context, address string) (net.Conn, error) {
	rt, _ := ctx.Value(routeKey{}).(*route)
	if rt == nil || authorityOf(rt.peer, 0) != address {
		return nil, errors.New("the request has no route to " + address)
	}
	ctx, cancel := context.WithCancel(ctx) // net/http keeps dialling when a request ends
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	conn, err := rt.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if len(c.dialled) >= 64 || c.dialled == nil {
		c.dialled = map[egress.Peer]netip.Addr{}
	}
	c.dialled[rt.peer] = rt.wire.at()
	c.mu.Unlock()
	return &paced{Conn: conn, idle: c.proxy.limits.Idle, close: func() { c.proxy.untrack(conn) }}, nil
}

// lastDialled is where the connection that requests to the peer go over leads to.
func (c *client) lastDialled(peer egress.Peer) netip.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialled[peer]
}

// roundTripFailed is why there is no answer: the client's body, the policy's word
// about an address, or the server.
func (c *client) roundTripFailed(rt *route, from *body, err error) *refusal {
	var r *refusal
	switch fault := from.fault(); {
	case errors.As(err, &r):
		return r
	case errors.Is(fault, errBudget):
		r = malformed("%v", fault)
		r.status, r.dimension = http.StatusRequestEntityTooLarge, overLimit
		return r
	case fault != nil && late(fault):
		r = malformed("the body of the request was not whole in time")
		r.status, r.dimension = http.StatusRequestTimeout, overLimit
		return r
	case fault != nil && !errors.Is(fault, errClosed):
		return malformed("%v", plain(fault))
	}
	return rt.failed("the server does not answer", err)
}
