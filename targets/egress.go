package targets

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// Leaves reports whether a connection or a request gets out of a sandbox by the proxy,
// as far as names go.
func Leaves(t *egress.Table, r ir.Request) bool {
	peer, client := egress.Peer{Host: r.Host, Addr: r.Addr, Port: r.Port}, egress.Client{Known: r.HasBy, Path: r.By}
	if r.Kind == ir.URLRequest {
		return t.Request(peer, client, r.Scheme, r.Method, r.Target).Allow
	}
	return t.Connect(peer, client).Allow
}

// egress proves the rules of the proxy (O7 and O8): one host for each class of hosts,
// the ports and programs that either side names there and one that none does, both
// ends and the neighbours of each range of addresses, and what each side says of
// requests.
func (v *validator) egress() error {
	_, ok := v.files[egressFile]
	switch want := egress.Wanted(v.policy); {
	case !want && ok:
		return v.differs(egressFile, "the policy has no endpoint")
	case !want:
		return nil
	case !ok:
		return v.differs(egressFile, "it is missing")
	}
	if v.unread.egress != nil {
		return v.unread.egress
	}
	rules := v.read.Egress
	if rules.Policy != v.policy.Name {
		return v.differs(egressFile, "it is for policy %q", rules.Policy)
	}
	private := *v.policy
	private.Loopback = ir.LoopbackRule{} // the machine's own is opened by no proxy
	w := wayOut{validator: v, table: egress.NewTable(rules), means: ir.NewDecider(&private)}
	w.sides[0].index(v.policy.Endpoints)
	w.sides[1].index(rules.Endpoints)
	for _, peer := range w.peers(rules) {
		if err := w.peer(peer); err != nil {
			return err
		}
	}
	return v.egressStatements(rules)
}

// egressStatements: the same statements, names and origins included, by which evidence
// tells of them.
func (v *validator) egressStatements(rules *egress.Rules) error {
	want := egress.Compile(v.policy)
	for i := range max(len(want.Endpoints), len(rules.Endpoints)) {
		if i >= len(want.Endpoints) || i < len(rules.Endpoints) && !sameJSON(rules.Endpoints[i].JSON(), want.Endpoints[i].JSON()) {
			return v.differs(egressFile, "%s (%s) is no statement of the policy", &rules.Endpoints[i], rules.Endpoints[i].Origin)
		}
		if i >= len(rules.Endpoints) {
			return v.lacks(egressFile, want.Endpoints[i].Origin, "it does not say %s (%s)", &want.Endpoints[i], want.Endpoints[i].Origin)
		}
	}
	for i := range max(len(want.Denied), len(rules.Denied)) {
		if i >= len(want.Denied) || i < len(rules.Denied) && rules.Denied[i] != want.Denied[i] {
			return v.differs(egressFile, "%s (%s) is no statement of the policy", &rules.Denied[i], rules.Denied[i].Origin)
		}
		if i >= len(rules.Denied) {
			return v.lacks(egressFile, want.Denied[i].Origin, "it does not say %s (%s)", &want.Denied[i], want.Denied[i].Origin)
		}
	}
	return nil
}

func sameJSON(a, b ir.EndpointJSON) bool { return reflect.DeepEqual(a, b) }

// side is one side's endpoints by the name or address that their pattern ends in.
type side struct {
	names map[string][]*ir.Endpoint
	addrs map[netip.Addr][]*ir.Endpoint
}

func (s *side) index(list []ir.Endpoint) {
	s.names, s.addrs = map[string][]*ir.Endpoint{}, map[netip.Addr][]*ir.Endpoint{}
	for i := range list {
		e := &list[i]
		if e.Host.Addr.IsValid() {
			s.addrs[e.Host.Addr] = append(s.addrs[e.Host.Addr], e)
		} else {
			s.names[e.Host.Name] = append(s.names[e.Host.Name], e)
		}
	}
}

// of are the endpoints whose pattern the peer is of.
func (s *side) of(p egress.Peer) []*ir.Endpoint {
	if p.Host == "" {
		return s.addrs[p.Addr]
	}
	var out []*ir.Endpoint
	for suffix, more := p.Host, true; more; _, suffix, more = strings.Cut(suffix, ".") {
		for _, e := range s.names[suffix] {
			if e.Host.Matches(p.Host) {
				out = append(out, e)
			}
		}
	}
	return out
}

// wayOut is the comparison of a policy's endpoints with the table of the proxy.
type wayOut struct {
	*validator
	table *egress.Table
	means *ir.Decider
	sides [2]side // the policy's, the artifact's
}

// longestHost is what a host name holds at most, in bytes (RFC 1035, section 2.3.4,
// less the length byte and the root).
const longestHost = 253

// peers are one host for each class, without a port: each name that either side names
// and each name above it, with none, one and two labels more that no name has; each
// address, and one that neither names.
func (w *wayOut) peers(rules *egress.Rules) []egress.Peer {
	names, labels := map[string]bool{}, map[string]bool{}
	add := func(h ir.HostPattern) {
		for suffix, more := h.Name, h.Name != ""; more && !names[suffix]; {
			names[suffix] = true
			var label, rest string
			label, rest, more = strings.Cut(suffix, ".")
			labels[label] = true
			suffix = rest
		}
	}
	var out []egress.Peer
	addrs := map[netip.Addr]bool{netip.AddrFrom4([4]byte{192, 0, 2, 1}): true, netip.MustParseAddr("2001:db8::1"): true}
	for _, list := range [][]ir.Endpoint{w.policy.Endpoints, rules.Endpoints} {
		for _, e := range list {
			add(e.Host)
			if e.Host.Addr.IsValid() {
				addrs[e.Host.Addr] = true
			}
		}
	}
	for _, list := range [][]ir.HostRule{w.policy.DeniedHosts, rules.Denied} {
		for _, r := range list {
			add(r.Host)
		}
	}
	fresh := "x"
	for labels[fresh] {
		fresh += "x"
	}
	names[fresh] = true
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, host := range []string{name, fresh + "." + name, fresh + "." + fresh + "." + name} {
			if len(host) <= longestHost {
				out = append(out, egress.Peer{Host: host})
			}
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(addrs), netip.Addr.Compare) {
		out = append(out, egress.Peer{Addr: addr})
	}
	return out
}

// peer compares one class of hosts on every port that matters there.
func (w *wayOut) peer(p egress.Peer) error {
	ours, theirs := w.sides[0].of(p), w.sides[1].of(p)
	ports := map[uint16]bool{}
	for _, e := range slices.Concat(ours, theirs) {
		for _, port := range e.Ports {
			ports[port] = true
		}
	}
	ports[unusedPort(ports)] = true
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		p.Port = port
		for _, c := range clients(slices.Concat(ours, theirs), port) {
			if err := w.class(p, c, ours, theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

func unusedPort(named map[uint16]bool) uint16 {
	port := uint16(1)
	for named[port] {
		port++
	}
	return port
}

// clients are one for each class of programs: unknown, each path that an endpoint on
// the port names, what lies below it, and one that none names.
func clients(list []*ir.Endpoint, port uint16) []egress.Client {
	out := []egress.Client{{}}
	seen := map[ir.Path]bool{}
	for _, e := range list {
		if !slices.Contains(e.Ports, port) {
			continue
		}
		for _, x := range e.Executables {
			if !seen[x] {
				seen[x] = true
				out = append(out, egress.Client{Known: true, Path: x}, egress.Client{Known: true, Path: x.Join("obspc-any-program")})
			}
		}
	}
	if len(seen) > 0 {
		out = append(out, egress.Client{Known: true, Path: ir.MustPath("/obspc-any-program")})
	}
	return out
}

// class compares one class of connections.
func (w *wayOut) class(p egress.Peer, c egress.Client, ours, theirs []*ir.Endpoint) error {
	r := ir.Request{Kind: ir.ConnectRequest, Host: p.Host, Addr: p.Addr, Port: p.Port, By: c.Path, HasBy: c.Known}
	d := w.means.Decide(r)
	a := w.table.Connect(p, c)
	if d.Allow != a.Allow {
		return w.mismatch(egressFile, r, d, "any machine")
	}
	if !d.Allow {
		return nil
	}
	ours, theirs = admitted(ours, r), admitted(theirs, r)
	if len(ours) == 0 {
		return w.differs(egressFile, "%s is allowed by no endpoint", r)
	}
	for _, e := range theirs {
		if e.Protocol != ours[0].Protocol || w.table.Protocol(p, c) != ours[0].Protocol {
			return w.lacks(egressFile, ours[0].Origin, "%s: another protocol is spoken than %s (%s) says", r, ours[0], ours[0].Origin)
		}
	}
	if err := w.addresses(p, c, ours[0], theirs); err != nil {
		return err
	}
	return w.requests(p, c, ours, theirs)
}

// admitted are the endpoints of the list that are for the request's port and program.
func admitted(list []*ir.Endpoint, r ir.Request) []*ir.Endpoint {
	return slices.DeleteFunc(slices.Clone(list), func(e *ir.Endpoint) bool { return !e.Admits(r) })
}

// addresses compares what a name may lead to: both ends of each range that either side
// opens, and the addresses beside them.
func (w *wayOut) addresses(p egress.Peer, c egress.Client, means *ir.Endpoint, theirs []*ir.Endpoint) error {
	at := map[netip.Addr]bool{netip.MustParseAddr("8.8.8.8"): true, netip.MustParseAddr("10.0.0.1"): true, netip.MustParseAddr("::1"): true}
	for _, e := range append(theirs, means) {
		for _, r := range e.Addresses {
			first, last := r.Masked().Addr(), addresses.Last(r)
			for _, a := range []netip.Addr{first, last, first.Prev(), last.Next()} {
				if a.IsValid() {
					at[a] = true
				}
			}
		}
	}
	if p.Host == "" {
		at[p.Addr] = true
	}
	for _, addr := range slices.SortedFunc(maps.Keys(at), netip.Addr.Compare) {
		special, want := addresses.Admitted(addr, means.Addresses)
		if p.Host == "" {
			want = want || addr == p.Addr && !special.Never
		}
		if have := w.table.Address(p, c, addr).Allow; have != want {
			return w.lacks(egressFile, means.Origin, "%s may lead to %s: %t, and %s (%s) says %t", p, addr, have, means, means.Origin, want)
		}
	}
	return nil
}

// requests compares what both sides say of requests (O8): rule for rule, for the same
// rules decide alike whatever the request; and each rule's own requests are asked.
func (w *wayOut) requests(p egress.Peer, c egress.Client, ours, theirs []*ir.Endpoint) error {
	mine, other := said(ours), said(theirs)
	for _, text := range slices.Sorted(maps.Keys(mine)) {
		if !other[text] {
			return w.lacks(egressFile, ours[0].Origin, "for %s it lacks %q", p, text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(other)) {
		if !mine[text] {
			return w.differs(egressFile, "for %s it says %q, which the policy does not", p, text)
		}
	}
	r := ir.Request{Kind: ir.URLRequest, Host: p.Host, Addr: p.Addr, Port: p.Port, By: c.Path, HasBy: c.Known}
	for _, e := range ours {
		for _, rule := range append(slices.Clone(e.Requests), ir.RequestRule{Path: "/obspc/any"}) {
			r.Target = strings.NewReplacer("**", "x/y", "*", "x").Replace(string(rule.Path))
			for _, r.Method = range append(slices.Clone(rule.Methods), "GET", "ANY") {
				for _, r.Scheme = range []string{"http", "https"} {
					if d := w.means.Decide(r); d.Allow != w.table.Request(p, c, r.Scheme, r.Method, r.Target).Allow {
						return w.mismatch(egressFile, r, d, "any machine")
					}
				}
			}
		}
	}
	return nil
}

// said are the rules about requests, each as one text.
func said(list []*ir.Endpoint) map[string]bool {
	out := map[string]bool{}
	for _, e := range list {
		if e.Protocol != ir.REST {
			out[fmt.Sprintf("every request, %q", e.Protocol)] = true
		}
		for _, r := range e.Requests {
			out[r.String()] = true
		}
	}
	return out
}
