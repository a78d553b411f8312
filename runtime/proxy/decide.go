package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// A route is a peer that the table lets a client reach. Only decide makes one, and
// only a route dials.
type route struct {
	proxy    *Proxy
	peer     egress.Peer
	who      egress.Client
	protocol ir.Protocol
	rule     ir.Origin
	wire     *wire // shared by the requests of one tunnel
}

// wire is what a route's dialling has come to. net/http dials in goroutines of its own.
type wire struct {
	mu      sync.Mutex
	reached netip.Addr // by the last dial, or refused by it
	ready   net.Conn   // dialled, and not used yet
}

func (w *wire) reach(addr netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = addr
}

func (w *wire) at() netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reached
}

// park keeps a connection for the next dial, or with nil takes the parked one.
func (w *wire) park(conn net.Conn) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.ready
	w.ready = conn
	return before
}

// A refusal says why a client does not get what it asked for. Failures of servers
// are refusals too; their decision was to allow.
type refusal struct {
	status    int // of HTTP
	decision  string
	dimension egress.Dimension
	rule      ir.Origin
	reason    string
	socks     byte // the number of SOCKS5, if it is a particular one
}

func (r *refusal) Error() string { return r.reason }

// malformed refuses what is no request.
func malformed(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, decision: Denied, dimension: notRequest, reason: fmt.Sprintf(format, args...)}
}

// denied refuses what the policy does not allow.
func denied(dimension egress.Dimension, rule ir.Origin, format string, args ...any) *refusal {
	return &refusal{status: http.StatusForbidden, decision: Denied, dimension: dimension, rule: rule, reason: fmt.Sprintf(format, args...)}
}

// answered is the refusal that a denying answer means.
func (c *client) answered(peer egress.Peer, a egress.Answer) *refusal {
	reason := a.Reason(peer)
	if a.Failed == egress.Program && c.why != "" {
		reason += "; " + c.why
	}
	return denied(a.Failed, a.Rule, "%s", reason)
}

// decide allows or refuses the peer by name, port and program. It resolves nothing.
func (c *client) decide(peer egress.Peer) (*route, *refusal) {
	who := c.program(peer)
	a := c.proxy.config.Table.Connect(peer, who)
	if !a.Allow {
		return nil, c.answered(peer, a)
	}
	return &route{proxy: c.proxy, peer: peer, who: who, protocol: a.Endpoint.Protocol, rule: a.Rule, wire: &wire{}}, nil
}

// decideRequest allows or refuses one request on the route by scheme, method and
// canonical path.
func (c *client) decideRequest(r *route, scheme, method, path string) *refusal {
	a := c.proxy.config.Table.Request(r.peer, r.who, scheme, method, path)
	if !a.Allow {
		return c.answered(r.peer, a)
	}
	r.rule = a.Rule
	return nil
}

// program finds out who asks, where it matters, and each time anew: a connection can
// be handed on between two requests.
func (c *client) program(peer egress.Peer) egress.Client {
	c.who, c.sha256, c.why = egress.Client{}, "", ""
	if c.proxy.config.Table.NeedsProgram(peer) {
		c.why = "nothing tells programs apart"
		if c.proxy.config.Attribute != nil {
			c.who, c.sha256, c.why = c.proxy.config.Attribute(c.conn.RemoteAddr())
		}
	}
	return c.who
}

// checked is every address that the route's peer has, if the table admits all.
func (r *route) checked(ctx context.Context) ([]netip.AddrPort, error) {
	found := []netip.Addr{r.peer.Addr}
	if r.peer.Host != "" {
		var err error
		if found, err = r.proxy.config.Resolve(ctx, r.peer.Host); err != nil {
			return nil, r.failed("its name is not resolved", err)
		}
		if len(found) == 0 {
			return nil, r.failed("its name is not resolved", errors.New("it has no address"))
		}
	}
	out := make([]netip.AddrPort, 0, len(found))
	for _, addr := range found {
		addr = addr.Unmap() // an IPv4-mapped address is dialled as IPv4, so it is judged as that
		if a := r.proxy.config.Table.Address(r.peer, r.who, addr); !a.Allow {
			r.wire.reach(addr)
			return nil, denied(a.Failed, a.Rule, "%s", a.Reason(r.peer))
		}
		out = append(out, netip.AddrPortFrom(addr, r.peer.Port))
	}
	return out, nil
}

// dial connects to one of the route's addresses after all were checked. Its errors
// are refusals.
func (r *route) dial(ctx context.Context) (net.Conn, error) {
	if conn := r.wire.park(nil); conn != nil {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.proxy.limits.DialTime)
	defer cancel()
	list, err := r.checked(ctx)
	if err != nil {
		return nil, err
	}
	conn, to, err := race(ctx, list, r.proxy.config.Dial)
	if err != nil {
		return nil, r.failed("it is not reached", err)
	}
	r.wire.reach(to.Addr())
	if !r.proxy.track(conn) {
		return nil, r.failed("it is not reached", net.ErrClosed)
	}
	return conn, nil
}

// failed is the refusal for a server that err keeps out of reach.
func (r *route) failed(what string, err error) *refusal {
	status := http.StatusBadGateway
	if late(err) {
		status = http.StatusGatewayTimeout
	}
	return &refusal{status: status, decision: Failed, rule: r.rule, reason: fmt.Sprintf("%s is allowed, but %s: %v", r.peer, what, plain(err))}
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// plain is err without what the net package says around it: addresses that the
// sandbox has no need to know.
func plain(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsTimeout {
			return errors.New("no answer in time")
		}
		if dns.IsNotFound {
			return errors.New("no such host")
		}
		return errors.New("the resolver fails")
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// stagger is how long the next address waits for the one before (RFC 8305, section 5).
const stagger = 250 * time.Millisecond

// maxAttempts bounds how many addresses of a name are tried.
const maxAttempts = 8

// race dials the addresses, the families in turns, each when the one before has
// failed or had its time; the first connection wins, the others are closed.
func race(ctx context.Context, list []netip.AddrPort, dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, netip.AddrPort, error) {
	list = interleaved(list)
	if len(list) == 1 {
		conn, err := dial(ctx, list[0])
		return conn, list[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	type attempt struct {
		conn net.Conn
		to   netip.AddrPort
		err  error
	}
	done := make(chan attempt)
	next, running := 0, 0
	start := func() {
		to := list[next]
		next++
		running++
		go func() {
			conn, err := dial(ctx, to)
			done <- attempt{conn, to, err}
		}()
	}
	var won attempt
	var first error
	timer := time.NewTimer(stagger)
	defer timer.Stop()
	start()
	for running > 0 {
		select {
		case <-timer.C:
			if next < len(list) && won.conn == nil && ctx.Err() == nil {
				start()
				timer.Reset(stagger)
			}
		case a := <-done:
			running--
			switch {
			case a.err != nil:
				if first == nil {
					first = a.err
				}
				if next < len(list) && won.conn == nil && ctx.Err() == nil {
					start()
					timer.Reset(stagger)
				}
			case won.conn == nil:
				won = a
				cancel()
			default:
				_ = a.conn.Close()
			}
		}
	}
	cancel()
	if won.conn == nil {
		return nil, netip.AddrPort{}, first
	}
	return won.conn, won.to, nil
}

// interleaved is the list with the families in turns, the first's first, cut to
// maxAttempts.
func interleaved(list []netip.AddrPort) []netip.AddrPort {
	var same, other []netip.AddrPort
	for _, a := range list {
		if a.Addr().Is4() == list[0].Addr().Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	out := make([]netip.AddrPort, 0, len(list))
	for i := 0; i < len(same) || i < len(other); i++ {
		if i < len(same) {
			out = append(out, same[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out[:min(len(out), maxAttempts)]
}
