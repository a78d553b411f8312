package ir

import (
	"cmp"
	"slices"
	"strings"
)

func (d *Decider) addEndpoint(e *Endpoint) {
	switch {
	case e.Host.Addr.IsValid():
		put(&d.addrs, e.Host.Addr, append(d.addrs[e.Host.Addr], e))
	case e.Host.Wildcard == OneLabel:
		put(&d.one, e.Host.Name, append(d.one[e.Host.Name], e))
	case e.Host.Wildcard == ManyLabels:
		put(&d.many, e.Host.Name, append(d.many[e.Host.Name], e))
	default:
		put(&d.exact, e.Host.Name, append(d.exact[e.Host.Name], e))
	}
}

// connect is allowed by any endpoint for the host and port that the program may
// use, unless the host is denied. Which programs those are may depend on where slots
// are bound.
func (d *Decider) connect(r Request) Decision {
	if rule := d.deniedHost(r.Host); rule != nil {
		return Decision{Reason: HostDenied, Rule: rule}
	}
	if d.loopback != nil && r.toLoopback() {
		return Decision{Allow: true, Reason: HostLoopback, Rule: d.loopback}
	}
	var depends RootSet
	e := d.endpointFor(r, func(e *Endpoint) bool {
		if e.Admits(r) {
			return true
		}
		depends |= e.dependsFor(r)
		return false
	})
	if e == nil {
		return Decision{Reason: NoEndpoint, Depends: depends}
	}
	return Decision{Allow: true, Reason: EndpointMatch, Rule: e}
}

// toLoopback reports whether the request is for the machine itself: an address of the
// loopback (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3) or its name (RFC 6761,
// section 6.3).
func (r Request) toLoopback() bool { return r.Addr.IsLoopback() || r.Host == "localhost" }

// LocalhostDenied is the rule that denies the loopback's name where the loopback is the
// machine's, nil when none does: what sees addresses alone cannot keep both statements.
func (p *Policy) LocalhostDenied() *HostRule {
	for i := range p.DeniedHosts {
		if r := &p.DeniedHosts[i]; p.Loopback.Host && r.Host.Matches("localhost") {
			return r
		}
	}
	return nil
}

// deniedHost is the rule that denies the host, nil when none does.
func (d *Decider) deniedHost(host string) *HostRule {
	if host == "" || len(d.denied) == 0 {
		return nil
	}
	if r := d.denied[HostPattern{Name: host}]; r != nil {
		return r
	}
	wildcards := []Wildcard{OneLabel, ManyLabels}
	for {
		_, rest, ok := strings.Cut(host, ".")
		if !ok {
			return nil
		}
		for _, w := range wildcards {
			if r := d.denied[HostPattern{Wildcard: w, Name: rest}]; r != nil {
				return r
			}
		}
		host, wildcards = rest, wildcards[len(wildcards)-1:]
	}
}

// request decides one request to a URL: the connection must be allowed, and then what
// its endpoints say of methods and paths. Those that deny win, of all endpoints that
// the connection can be of; endpoints that do not look at requests allow each.
func (d *Decider) request(r Request) Decision {
	out := d.connect(r)
	if !out.Allow || out.Reason == HostLoopback {
		return out
	}
	var whole, looked *Endpoint // that allows every request; that looks at them
	var allowed, denied *RequestRule
	d.endpointFor(r, func(e *Endpoint) bool {
		if !e.Admits(r) || !e.Speaks(r.Scheme) {
			return false
		}
		if e.Protocol != REST {
			whole = cmp.Or(whole, e)
			return false
		}
		looked = cmp.Or(looked, e)
		for i := range e.Requests {
			rule := &e.Requests[i]
			switch {
			case !rule.Matches(r.Method, r.Target):
			case rule.Allow:
				allowed = cmp.Or(allowed, rule)
			default:
				denied = cmp.Or(denied, rule)
			}
		}
		return false
	})
	switch {
	case denied != nil:
		return Decision{Reason: ByRequest, Rule: denied}
	case allowed != nil:
		return Decision{Allow: true, Reason: ByRequest, Rule: allowed}
	case whole != nil:
		return Decision{Allow: true, Reason: EndpointMatch, Rule: whole}
	case looked != nil:
		return Decision{Reason: NoRequest, Rule: looked}
	}
	return Decision{Reason: OtherProtocol, Rule: out.Rule}
}

// endpointFor is the first endpoint for the request's host or address that admits
// takes. It costs one map look-up for each label of the host.
func (d *Decider) endpointFor(r Request, admits func(*Endpoint) bool) *Endpoint {
	if r.Addr.IsValid() {
		return first(d.addrs[r.Addr], admits)
	}
	if e := first(d.exact[r.Host], admits); e != nil {
		return e
	}
	suffix, oneLabel := r.Host, true
	for {
		_, rest, ok := strings.Cut(suffix, ".")
		if !ok {
			return nil
		}
		suffix = rest
		if oneLabel {
			if e := first(d.one[suffix], admits); e != nil {
				return e
			}
		}
		if e := first(d.many[suffix], admits); e != nil {
			return e
		}
		oneLabel = false
	}
}

func first(list []*Endpoint, admits func(*Endpoint) bool) *Endpoint {
	for _, e := range list {
		if admits(e) {
			return e
		}
	}
	return nil
}

// Admits reports whether the endpoint is for the request's port and program. A request
// without a program matches no endpoint that lists some.
func (e *Endpoint) Admits(r Request) bool {
	if !slices.Contains(e.Ports, r.Port) {
		return false
	}
	if len(e.Executables) == 0 {
		return true
	}
	return r.HasBy && slices.ContainsFunc(e.Executables, func(p Path) bool { return p.Covers(r.By) })
}

// dependsFor lists the slots whose binding could make a program that the endpoint
// lists be the one that asks.
func (e *Endpoint) dependsFor(r Request) RootSet {
	var out RootSet
	if !r.HasBy || !slices.Contains(e.Ports, r.Port) {
		return out
	}
	for _, p := range e.Executables {
		if p.root == r.By.root || inSystemTree(p) && !p.IsRoot() || inSystemTree(r.By) {
			continue
		}
		for _, s := range [...]Root{p.root, r.By.root} {
			if s != Host {
				out = out.with(s)
			}
		}
	}
	return out
}
