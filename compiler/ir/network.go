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

// connect costs one map look-up for each label of the host.
func (d *Decider) connect(r Request) Decision {
	if r.Addr.IsValid() {
		for _, e := range d.addrs {
			if e.Host.Addr == r.Addr && e.admits(r) {
				return Decision{Allow: true, Reason: EndpointMatch, Rule: e}
			}
		}
		return Decision{Reason: NoEndpoint}
	}
	if e := firstAdmitting(d.exact[r.Host], r); e != nil {
		return Decision{Allow: true, Reason: EndpointMatch, Rule: e}
	}
	suffix, first := r.Host, true
	for {
		_, rest, ok := strings.Cut(suffix, ".")
		if !ok {
			return Decision{Reason: NoEndpoint}
		}
		suffix = rest
		if first {
			if e := firstAdmitting(d.one[suffix], r); e != nil {
				return Decision{Allow: true, Reason: EndpointMatch, Rule: e}
			}
		}
		if e := firstAdmitting(d.many[suffix], r); e != nil {
			return Decision{Allow: true, Reason: EndpointMatch, Rule: e}
		}
		first = false
	}
}

func firstAdmitting(list []*Endpoint, r Request) *Endpoint {
	for _, e := range list {
		if e.admits(r) {
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
