package diff

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// hosts compares connections (O7) on the trie of reversed labels of all names of
// both policies. An exact name, "*." and "**." are constant on each node's own
// name, on names of one label more that no child has, and on those of two and
// more; so the name, ★.name and ★.★.name represent all. Of ports only those that
// an endpoint of the class names can differ: no endpoint admits another. A host that a
// policy denies has no port there. Where both policies let a class be reached, how its
// connections are handled is compared as well (handling).
func (c *comparison) hosts() {
	root, addrs := c.domains()
	h := hostView{comparison: c, labels: labels(root)}
	for side, p := range c.policies {
		private := *p
		private.Loopback = ir.LoopbackRule{} // which loopback tells of
		h.deciders[side] = ir.NewDecider(&private)
	}
	for side, p := range c.policies {
		h.stated[side] = map[string]*ir.Endpoint{}
		for i := range p.Endpoints {
			h.stated[side][p.Endpoints[i].Name] = &p.Endpoints[i]
		}
	}
	nothing := &nearby{}
	h.domain(root, nothing, nothing)
	for _, addr := range slices.SortedFunc(maps.Keys(addrs), netip.Addr.Compare) {
		at := h.class(addr.String(), ir.Request{Addr: addr}, nothing, addrs[addr], denials{})
		h.compare(at)
	}
	for _, g := range h.groups {
		c.tell(g.change(h.stated[1-g.side][g.endpoint.Name]))
	}
	for _, g := range h.handled {
		c.tell(g.change())
	}
	c.loopback()
}

// denials are the rules that deny a class, by side; nil where none does.
type denials [2]*ir.HostRule

// domain is one name of the trie, and the endpoints whose pattern stands at it, by
// side.
type domain struct {
	name     string // "" is the root
	children map[string]*domain
	exact    [2][]*ir.Endpoint
	one      [2][]*ir.Endpoint
	many     [2][]*ir.Endpoint
	denied   [3]denials // by wildcard
}

// domains is the joint trie of names, and the endpoints by address.
func (c *comparison) domains() (*domain, map[netip.Addr][2][]*ir.Endpoint) {
	root, addrs := &domain{}, map[netip.Addr][2][]*ir.Endpoint{}
	for side, p := range c.policies {
		for i := range p.Endpoints {
			e := &p.Endpoints[i]
			if e.Host.Addr.IsValid() {
				pair := addrs[e.Host.Addr]
				pair[side] = append(pair[side], e)
				addrs[e.Host.Addr] = pair
				continue
			}
			d := root.at(e.Host.Name)
			switch e.Host.Wildcard {
			case ir.OneLabel:
				d.one[side] = append(d.one[side], e)
			case ir.ManyLabels:
				d.many[side] = append(d.many[side], e)
			default:
				d.exact[side] = append(d.exact[side], e)
			}
		}
	}
	for side, p := range c.policies {
		for i := range p.DeniedHosts {
			h := p.DeniedHosts[i].Host
			root.at(h.Name).denied[h.Wildcard][side] = &p.DeniedHosts[i]
		}
	}
	return root, addrs
}

// at is the domain of that name below d, made if need be.
func (d *domain) at(name string) *domain {
	for end := len(name); end > 0; {
		start := strings.LastIndexByte(name[:end], '.') + 1
		child := d.children[name[start:end]]
		if child == nil {
			child = &domain{name: name[start:]}
			if d.children == nil {
				d.children = map[string]*domain{}
			}
			d.children[name[start:end]] = child
		}
		d, end = child, start-1
	}
	return d
}

// labels are the labels of all names below d.
func labels(d *domain) map[string]bool {
	out := map[string]bool{}
	var walk func(*domain)
	walk = func(d *domain) {
		for label, child := range d.children {
			out[label] = true
			walk(child)
		}
	}
	walk(d)
	return out
}

// hostView is the comparison of hosts under way.
type hostView struct {
	*comparison
	deciders [2]*ir.Decider
	labels   map[string]bool
	stated   [2]map[string]*ir.Endpoint // by name
	byKey    map[hostKey]*hostGroup
	groups   []*hostGroup
	handled  []*handlingGroup
	byWords  map[string]*handlingGroup
	searched map[string]searched
}

// nearby is one class of hosts: how it reads, a request that represents it, and
// which ports it opens to whom, by side.
type nearby struct {
	name    string
	request ir.Request
	ports   [2]*ports
	denied  denials
	within  *nearby
	told    map[opening]*hostGroup // where the class is not as the wider one
}

// who may use a port of the class.
func (n *nearby) who(side int, port uint16) programs {
	if n.denied[side] != nil {
		return programs{}
	}
	return n.ports[side].at(port)
}

// opening is a port that one side alone opens.
type opening struct {
	side int
	port uint16
}

// group is the group that tells of the opening, nil for none.
func (n *nearby) group(o opening) *hostGroup {
	for ; n != nil; n = n.within {
		if g, ok := n.told[o]; ok {
			return g
		}
	}
	return nil
}

// class is a class that the endpoints add to, within another.
func (h *hostView) class(name string, r ir.Request, within *nearby, add [2][]*ir.Endpoint, denied denials) *nearby {
	r.Kind = ir.ConnectRequest
	out := &nearby{name: name, request: r, within: within, told: map[opening]*hostGroup{}, denied: within.denied}
	for side := range out.ports {
		out.ports[side] = within.ports[side].with(add[side])
		out.denied[side] = cmp.Or(out.denied[side], denied[side])
	}
	return out
}

// domain compares the classes at d. Deep and near are those of the domain above:
// what holds two and more labels below it, and one label below it.
func (h *hostView) domain(d *domain, deep, near *nearby) {
	if d.name != "" {
		self := h.class(d.name, ir.Request{Host: d.name}, near, d.exact, d.denied[ir.Exact])
		h.compare(self)
		one, two := h.below(d.name)
		if two != "" {
			deep = h.class("**."+d.name, ir.Request{Host: two}, deep, d.many, d.denied[ir.ManyLabels])
			h.compare(deep)
			near = h.class("*."+d.name, ir.Request{Host: one}, deep, d.one, d.denied[ir.OneLabel])
			h.compare(near)
		} else if one != "" { // no name is longer by two labels
			for side := range d.one {
				d.one[side] = append(d.one[side], d.many[side]...)
				d.denied[ir.OneLabel][side] = cmp.Or(d.denied[ir.OneLabel][side], d.denied[ir.ManyLabels][side])
			}
			near = h.class("*."+d.name, ir.Request{Host: one}, deep, d.one, d.denied[ir.OneLabel])
			h.compare(near)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(d.children)) {
		h.domain(d.children[label], deep, near)
	}
}

// longestName is what a host name holds at most, in bytes (RFC 1035, section
// 2.3.4, less the length byte and the root).
const longestName = 253

// below are names of one and of two labels more than name that no pattern of
// either policy names; "" where they would be too long.
func (h *hostView) below(name string) (one, two string) {
	for _, label := range []string{h.unnamed("any"), h.unnamed("x")} {
		if one == "" && len(label)+1+len(name) <= longestName {
			one = label + "." + name
		}
		if longer := label + "." + label + "." + name; two == "" && len(longer) <= longestName {
			two = longer
		}
	}
	return one, two
}

// unnamed is a label that no name has: stem, or that with some more of its last
// letter.
func (h *hostView) unnamed(stem string) string {
	for h.labels[stem] {
		stem += stem[len(stem)-1:]
	}
	return stem
}

// compare tells of the ports of a class that differ otherwise than in the wider
// class that it lies in.
func (h *hostView) compare(at *nearby) {
	named := map[uint16]bool{}
	for side, p := range at.ports {
		if p != at.within.ports[side] {
			for port := range p.own {
				named[port] = true
			}
		}
	}
	if at.denied != at.within.denied {
		for _, p := range at.ports {
			p.name(named)
		}
	}
	for _, port := range slices.Sorted(maps.Keys(named)) {
		h.handling(at, port)
		for side := range at.ports {
			who := at.who(side, port).beyond(at.who(1-side, port))
			wide := at.within.who(side, port).beyond(at.within.who(1-side, port))
			o := opening{side, port}
			switch {
			case slices.Equal(who, wide):
			case len(who) > 0:
				g := h.group(side, at.ask(port, who[0]))
				g.add(at, port, who)
				at.told[o] = g
			default:
				at.within.group(o).leave(at, port)
				at.told[o] = nil
			}
		}
	}
}

// hostKey is the reason of a change: the endpoint that alone allows.
type hostKey struct {
	side     int
	endpoint *ir.Endpoint
}

// hostGroup is what one endpoint allows and the other policy does not.
type hostGroup struct {
	hostKey
	denied  *ir.HostRule // that the other policy denies it by
	names   []string
	ports   map[uint16]bool
	by      map[string]bool
	witness []ir.Request
	except  []string
	scope   []string
}

// group is the group of the endpoint that allows the request.
func (h *hostView) group(side int, r ir.Request) *hostGroup {
	got := h.deciders[side].Decide(r)
	e, ok := got.Rule.(*ir.Endpoint)
	refused := h.deciders[1-side].Decide(r)
	if !ok || refused.Allow {
		panic("bug in obspc: not one policy alone allows " + r.String())
	}
	k := hostKey{side, e}
	g := h.byKey[k]
	if g == nil {
		g = &hostGroup{hostKey: k, ports: map[uint16]bool{}, by: map[string]bool{}}
		g.scope = []string{"as " + e.String()} // what such connections carry is approved with them
		g.denied, _ = refused.Rule.(*ir.HostRule)
		if h.byKey == nil {
			h.byKey = map[hostKey]*hostGroup{}
		}
		h.byKey[k], h.groups = g, append(h.groups, g)
	}
	return g
}

// ask is a request about the class.
func (n *nearby) ask(port uint16, program string) ir.Request {
	r := n.request
	r.Port = port
	if program != "" {
		r.By, r.HasBy = ir.MustPath(program), true
	}
	return r
}

func (g *hostGroup) add(at *nearby, port uint16, who []string) {
	if len(g.names) == 0 || g.names[len(g.names)-1] != at.name {
		g.names = append(g.names, at.name)
	}
	g.ports[port] = true
	for _, program := range who {
		g.by[program] = true
		g.witness = append(g.witness, at.ask(port, program))
		g.scope = append(g.scope, at.name+" "+at.ask(port, program).String())
	}
}

// leave records what an endpoint does not add, because it was there.
func (g *hostGroup) leave(at *nearby, port uint16) {
	text := at.ask(port, "").String()
	text = strings.TrimPrefix(strings.Replace(text, at.request.Host, at.name, 1), string(ir.ConnectRequest)+" ")
	g.except, g.scope = append(g.except, text), append(g.scope, "not "+text)
}

// change is the group told: one witness for each port and program, of the first
// class. Other is the endpoint of that name in the other policy, nil if it has none.
func (g *hostGroup) change(other *ir.Endpoint) Change {
	out := Change{Kind: GrantAdded, Words: []ir.RequestKind{ir.ConnectRequest}, Except: g.except, scope: g.scope}
	if g.side == before {
		out.Kind = GrantRemoved
	}
	out.Subject = listed(g.names, 3) + ":" + portsText(g.ports)
	if by := slices.Sorted(maps.Keys(g.by)); len(by) > 0 && by[0] != "" {
		out.Subject += " by " + listed(by, 3)
	}
	seen := map[ir.Request]bool{}
	for _, r := range g.witness {
		key := ir.Request{Port: r.Port, By: r.By, HasBy: r.HasBy}
		if !seen[key] {
			seen[key] = true
			out.Witnesses = append(out.Witnesses, Witness{Request: r})
		}
	}
	slices.SortStableFunc(out.Witnesses, func(x, y Witness) int { return cmp.Compare(x.Request.Port, y.Request.Port) })
	var stated [2]*Statement
	stated[g.side] = &Statement{g.endpoint.String(), g.endpoint.Origin}
	switch {
	case g.denied != nil:
		stated[1-g.side] = &Statement{g.denied.String(), g.denied.Origin}
	case other != nil:
		stated[1-g.side] = &Statement{other.String(), other.Origin}
	}
	out.Old, out.New = stated[before], stated[after]
	return out
}
