package egress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
)

// Peer is whom a client asks to be connected with: a host in canonical form
// (ir.CanonicalHost) or, where Host is "", an address.
type Peer struct {
	Host string
	Addr netip.Addr
	Port uint16
}

// Client is the program that asks, as the sandbox names it. It is not Known where it
// could not be told for certain; then no endpoint that lists programs admits it.
type Client struct {
	Known bool
	Path  ir.Path
}

// Dimension is what a denial failed at, "" where there is none.
type Dimension string

// The dimensions, in the order in which they are looked at: a host that the policy
// denies; no endpoint names the host; not on this port; not by this program; the name
// leads to an address that nothing opens; something else is spoken; no rule for such a
// request.
const (
	DeniedHost Dimension = "denied-host"
	Host       Dimension = "host"
	Port       Dimension = "port"
	Program    Dimension = "program"
	Address    Dimension = "address"
	Protocol   Dimension = "protocol"
	Method     Dimension = "method"
	Path       Dimension = "path"
)

// Answer is a decision. Rule is the statement that decides, or for a denial by default
// the nearest one, which Endpoint is or belongs to; "" and nil where nothing is near.
// Range is the special range of an address that is refused.
type Answer struct {
	Allow    bool
	Failed   Dimension
	Rule     ir.Origin
	Endpoint *ir.Endpoint
	Range    addresses.Range
}

// Table answers for one policy. It is safe for concurrent use, and no answer
// allocates. It costs one step for each label of a host and for each endpoint that
// names it.
type Table struct {
	root  node
	addrs map[netip.Addr][]*ir.Endpoint
}

// node is a name in the trie of reversed labels, and what stands at it.
type node struct {
	children         map[string]*node
	exact, one, many []*ir.Endpoint
	denied           [3]*ir.HostRule // by wildcard
}

// NewTable indexes r, which it keeps.
func NewTable(r *Rules) *Table {
	t := &Table{addrs: map[netip.Addr][]*ir.Endpoint{}}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if e.Host.Addr.IsValid() {
			t.addrs[e.Host.Addr] = append(t.addrs[e.Host.Addr], e)
			continue
		}
		n := t.root.at(e.Host.Name)
		switch e.Host.Wildcard {
		case ir.OneLabel:
			n.one = append(n.one, e)
		case ir.ManyLabels:
			n.many = append(n.many, e)
		default:
			n.exact = append(n.exact, e)
		}
	}
	for i := range r.Denied {
		h := r.Denied[i].Host
		t.root.at(h.Name).denied[h.Wildcard] = &r.Denied[i]
	}
	return t
}

// at is the node of a name below n, made if need be.
func (n *node) at(name string) *node {
	for end := len(name); end > 0; {
		start := strings.LastIndexByte(name[:end], '.') + 1
		label := name[start:end]
		child := n.children[label]
		if child == nil {
			child = &node{}
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[label] = child
		}
		n, end = child, start-1
	}
	return n
}

// found is what stands on the way to a host: endpoints that name it, and rules that
// deny it.
type found struct {
	sets   [maxLabels + 2][]*ir.Endpoint
	n      int
	denied *ir.HostRule
	near   *ir.Endpoint // names no such host, and shares most of its last labels
}

// maxLabels is how many labels a name has at most: 253 bytes, two for each.
const maxLabels = 127

// find walks to the peer. It fills f, which stays on the caller's stack.
func (t *Table) find(p Peer, f *found) {
	if p.Host == "" {
		f.sets[0], f.n = t.addrs[p.Addr.Unmap()], 1
		return
	}
	n := &t.root
	for end := len(p.Host); end > 0; {
		start := strings.LastIndexByte(p.Host[:end], '.') + 1
		if n != &t.root {
			f.add(n.many)
			f.deny(n.denied[ir.ManyLabels])
			if start == 0 {
				f.add(n.one)
				f.deny(n.denied[ir.OneLabel])
			}
		}
		child := n.children[p.Host[start:end]]
		if child == nil {
			f.near = n.nearest()
			return
		}
		n, end = child, start-1
	}
	f.add(n.exact)
	f.deny(n.denied[ir.Exact])
	f.near = n.nearest()
}

func (f *found) add(list []*ir.Endpoint) {
	if len(list) > 0 && f.n < len(f.sets) {
		f.sets[f.n] = list
		f.n++
	}
}

func (f *found) deny(r *ir.HostRule) {
	if f.denied == nil {
		f.denied = r
	}
}

// nearest is an endpoint whose pattern stands at n.
func (n *node) nearest() *ir.Endpoint {
	for _, list := range [...][]*ir.Endpoint{n.exact, n.one, n.many} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

// admits reports whether the endpoint is for that port and program.
func admits(e *ir.Endpoint, p Peer, c Client) bool {
	return slices.Contains(e.Ports, p.Port) && admitsProgram(e, c)
}

func admitsProgram(e *ir.Endpoint, c Client) bool {
	if len(e.Executables) == 0 {
		return true
	}
	if !c.Known {
		return false
	}
	for _, x := range e.Executables {
		if x.Covers(c.Path) {
			return true
		}
	}
	return false
}

// NeedsProgram reports whether the answer about the peer can depend on the program
// that asks. The proxy finds out who asks only then.
func (t *Table) NeedsProgram(p Peer) bool {
	var f found
	t.find(p, &f)
	for _, list := range f.sets[:f.n] {
		for _, e := range list {
			if len(e.Executables) > 0 && slices.Contains(e.Ports, p.Port) {
				return true
			}
		}
	}
	return false
}

// Connect decides whether the client may be connected with the peer, as far as names,
// ports and programs go. A name that is allowed is resolved, and Address asked about
// what it leads to.
func (t *Table) Connect(p Peer, c Client) Answer {
	var f found
	t.find(p, &f)
	return f.connect(p, c)
}

func (f *found) connect(p Peer, c Client) Answer {
	if f.denied != nil {
		return Answer{Failed: DeniedHost, Rule: f.denied.Origin}
	}
	near, failed := f.near, Host
	for _, list := range f.sets[:f.n] {
		for _, e := range list {
			switch {
			case !slices.Contains(e.Ports, p.Port):
				if failed == Host || failed == Port && !admitsProgram(near, c) {
					near, failed = e, Port
				}
			case !admitsProgram(e, c):
				if failed != Program {
					near, failed = e, Program
				}
			default:
				return Answer{Allow: true, Rule: e.Origin, Endpoint: e}
			}
		}
	}
	return denied(failed, near)
}

// denied is a denial by default.
func denied(failed Dimension, near *ir.Endpoint) Answer {
	out := Answer{Failed: failed, Endpoint: near}
	if near != nil {
		out.Rule = near.Origin
	}
	return out
}

// Protocol is what a connection that Connect allowed must speak. Endpoints that can be
// of one connection agree on it.
func (t *Table) Protocol(p Peer, c Client) ir.Protocol {
	if a := t.Connect(p, c); a.Allow {
		return a.Endpoint.Protocol
	}
	return ir.Web
}

// Address decides whether the peer may be reached at that address, which is its own or
// one that its name led to.
func (t *Table) Address(p Peer, c Client, at netip.Addr) Answer {
	var f found
	t.find(p, &f)
	out := f.connect(p, c)
	if !out.Allow {
		return out
	}
	special, ok := addresses.Admitted(at, out.Endpoint.Addresses)
	if ok || p.Host == "" && at.Unmap() == p.Addr.Unmap() && !special.Never {
		return out
	}
	return Answer{Failed: Address, Rule: out.Rule, Endpoint: out.Endpoint, Range: special}
}

// Request decides one request on a connection that Connect allowed: method and path in
// canonical form (ir.CanonicalTarget), scheme http or https.
func (t *Table) Request(p Peer, c Client, scheme, method, path string) Answer {
	var f found
	t.find(p, &f)
	out := f.connect(p, c)
	if !out.Allow {
		return out
	}
	var allow, near Answer
	for _, list := range f.sets[:f.n] {
		for _, e := range list {
			if !admits(e, p, c) {
				continue
			}
			a := request(e, scheme, method, path)
			switch {
			case a.Allow && !allow.Allow:
				allow = a
			case !a.Allow && decides(a):
				return a
			case !a.Allow && near.Failed == "":
				near = a
			}
		}
	}
	if allow.Allow {
		return allow
	}
	return near
}

// decides reports whether a denial is by a rule that says so, and not by default.
func decides(a Answer) bool { return a.Rule != a.Endpoint.Origin }

// request is what one endpoint says of a request.
func request(e *ir.Endpoint, scheme, method, path string) Answer {
	if !e.Speaks(scheme) {
		return denied(Protocol, e)
	}
	if e.Protocol != ir.REST {
		return Answer{Allow: true, Rule: e.Origin, Endpoint: e}
	}
	out := denied(Path, e)
	for i := range e.Requests {
		r := &e.Requests[i]
		reached := r.Path.Matches(path)
		switch matches := reached && (len(r.Methods) == 0 || slices.Contains(r.Methods, method)); {
		case matches && !r.Allow:
			return Answer{Failed: Path, Rule: r.Origin, Endpoint: e}
		case matches && !out.Allow:
			out = Answer{Allow: true, Rule: r.Origin, Endpoint: e}
		case reached && r.Allow && !out.Allow:
			out.Failed = Method
		}
	}
	return out
}
