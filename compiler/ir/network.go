package ir

import (
	"slices"
	"strings"
)

func (d *Decider) addEndpoint(e *Endpoint) {
	switch {
	case e.Host.Addr.IsValid():
		d.addrs = append(d.addrs, e)
	case e.Host.Wildcard == OneLabel:
		d.one[e.Host.Name] = append(d.one[e.Host.Name], e)
	case e.Host.Wildcard == ManyLabels:
		d.many[e.Host.Name] = append(d.many[e.Host.Name], e)
	default:
		d.exact[e.Host.Name] = append(d.exact[e.Host.Name], e)
	}
}

// connect is allowed by any endpoint for the host and port that the program may
// use. Which programs those are may depend on where slots are bound.
func (d *Decider) connect(r Request) Decision {
	var depends RootSet
	e := d.endpointFor(r, func(e *Endpoint) bool {
		if e.admits(r) {
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

// endpointFor is the first endpoint for the request's host or address that admits
// takes. It costs one map look-up for each label of the host.
func (d *Decider) endpointFor(r Request, admits func(*Endpoint) bool) *Endpoint {
	if r.Addr.IsValid() {
		return first(d.addrs, func(e *Endpoint) bool { return e.Host.Addr == r.Addr && admits(e) })
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

// admits judges port and program. A request without a program matches no
// endpoint that lists some.
func (e *Endpoint) admits(r Request) bool {
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
