package ir

import (
	"slices"
	"strings"
)

// NetworkChain lists the rules that speak of a connection or a request, the one that
// decides first: hosts that are denied, the loopback, rules of endpoints that deny it,
// rules that allow it, endpoints that it can be of. Those behind the first are what
// would count without it.
func (p *Policy) NetworkChain(r Request) []Rule {
	var out, allowing, endpoints []Rule
	for i := range p.DeniedHosts {
		if h := &p.DeniedHosts[i]; h.Host.Matches(r.Host) {
			out = append(out, h)
		}
	}
	if p.Loopback.Host && r.toLoopback() {
		out = append(out, &p.Loopback)
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if !e.Host.stands(r) || !e.Admits(r) {
			continue
		}
		endpoints = append(endpoints, e)
		for j := range e.Requests {
			switch rule := &e.Requests[j]; {
			case r.Kind != URLRequest || !rule.Matches(r.Method, r.Target):
			case rule.Allow:
				allowing = append(allowing, rule)
			default:
				out = append(out, rule)
			}
		}
	}
	out = slices.Concat(out, allowing, endpoints)
	if first := Decide(p, r).Rule; first != nil {
		out = slices.DeleteFunc(out, func(rule Rule) bool { return rule.From() == first.From() })
		out = slices.Insert(out, 0, first)
	}
	return out
}

// stands reports whether the pattern is for the request's host or address.
func (h HostPattern) stands(r Request) bool {
	return r.Addr.IsValid() && h.Addr == r.Addr || r.Host != "" && h.Matches(r.Host)
}

// nearestWay is about a connection or a request that p denies.
func nearestWay(p *Policy, r Request) Near {
	switch d := Decide(p, r); d.Reason {
	case HostDenied, ByRequest:
		return Near{d.Rule, DeniedDimension}
	case OtherProtocol:
		return Near{d.Rule, ProtocolDimension}
	case NoRequest:
		return nearestRequest(p, r)
	}
	return nearestEndpoint(p, r)
}

// nearestRequest prefers a rule for this path and other methods to the one that shares
// most of the path.
func nearestRequest(p *Policy, r Request) Near {
	best, at := Near{Failed: PathDimension}, -1
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if !e.Host.stands(r) || !e.Admits(r) {
			continue
		}
		for j := range e.Requests {
			rule := &e.Requests[j]
			if !rule.Allow {
				continue
			}
			failed, score := PathDimension, 2*sharedSegments(string(rule.Path), r.Target)
			if len(rule.Methods) == 0 || slices.Contains(rule.Methods, r.Method) {
				score++
			}
			if rule.Path.Matches(r.Target) {
				failed, score = MethodDimension, 2*MaxTargetBytes
			}
			if score > at {
				best, at = Near{rule, failed}, score
			}
		}
	}
	return best
}

// sharedSegments is how many segments a pattern and a path begin with alike, a "*"
// being like any.
func sharedSegments(pattern, path string) int {
	as, bs := strings.Split(pattern, "/"), strings.Split(path, "/")
	n := 0
	for n < len(as) && n < len(bs) && (as[n] == bs[n] || as[n] != "**" && matchesSegment(as[n], bs[n])) {
		n++
	}
	return n
}

// nearestEndpoint is about a connection that no endpoint is for. It prefers an endpoint whose
// host and port match, then one whose host matches, then the one that shares most of
// the host's last labels.
func nearestEndpoint(p *Policy, r Request) Near {
	var best Near
	at := -1
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		failed, score := HostDimension, sharedLabels(e.Host.Name, r.Host)
		if e.Host.Matches(r.Host) || e.Host.Addr.IsValid() && e.Host.Addr == r.Addr {
			failed, score = PortDimension, 1000
			if e.Admits(Request{Port: r.Port, HasBy: true, By: firstProgram(e)}) {
				failed, score = ProgramDimension, 2000
			}
		}
		if score > at {
			best, at = Near{e, failed}, score
		}
	}
	return best
}

// firstProgram is a program that the endpoint admits, if it lists any.
func firstProgram(e *Endpoint) Path {
	if len(e.Executables) == 0 {
		return Path{}
	}
	return e.Executables[0]
}

// sharedLabels is how many labels two hosts have in common, counted from the end.
func sharedLabels(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < len(as) && n < len(bs) && as[len(as)-1-n] == bs[len(bs)-1-n] {
		n++
	}
	return n
}
