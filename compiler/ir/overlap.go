package ir

import (
	"net/netip"
	"slices"
)

// Disagreement is two endpoints that can be of one connection and differ in what
// changes how it is handled. What names the attribute. B is stated later, by name.
type Disagreement struct {
	A, B *Endpoint
	What string
}

// place is where endpoints meet: a pattern and a port.
type place struct {
	wildcard Wildcard
	name     string
	addr     netip.Addr
	port     uint16
}

// Disagreements lists endpoints of p that overlap and differ in their protocol or in
// what addresses they open, whatever their programs: which of the two answers holds
// could not be said. Of each endpoint the first is told. The cost grows with the ports
// and labels of all endpoints, not with their pairs.
func (p *Policy) Disagreements() []Disagreement {
	first := map[place]*Endpoint{}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		for _, port := range e.Ports {
			at := place{e.Host.Wildcard, e.Host.Name, e.Host.Addr, port}
			if first[at] == nil {
				first[at] = e
			}
		}
	}
	var out []Disagreement
	for i := range p.Endpoints {
		if d := p.Endpoints[i].differing(first); d != nil {
			out = append(out, *d)
		}
	}
	return out
}

// differing is the first disagreement of e with what stands at its own pattern, or at
// a wider one.
func (e *Endpoint) differing(first map[place]*Endpoint) *Disagreement {
	for _, port := range e.Ports {
		if e.Host.Addr.IsValid() {
			if d := e.against(first[place{addr: e.Host.Addr, port: port}]); d != nil {
				return d
			}
			continue
		}
		for suffix := range suffixes(e.Host.Name) {
			for _, w := range [...]Wildcard{Exact, OneLabel, ManyLabels} {
				if d := e.against(first[place{wildcard: w, name: suffix, port: port}]); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

func (e *Endpoint) against(o *Endpoint) *Disagreement {
	if o == nil || o == e || !e.Overlaps(o) {
		return nil
	}
	a, b := o, e
	if a.Name > b.Name {
		a, b = b, a
	}
	switch {
	case e.Protocol != o.Protocol:
		return &Disagreement{a, b, "protocol"}
	case !slices.Equal(e.Addresses, o.Addresses):
		return &Disagreement{a, b, "addresses"}
	}
	return nil
}
