package compiler

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// addresses are the ranges that an endpoint opens, sorted.
func (c *compilation) addresses(b *body, e *lang.Endpoint) (out []netip.Prefix, whole bool) {
	whole = true
	for _, s := range e.Addresses {
		prefix, fault := addressRange(s)
		if fault == nil && !e.Address.Range.IsZero() {
			fault = addressesMisplaced(s)
		}
		if fault != nil {
			c.find(b, *fault)
			whole = false
			continue
		}
		if special := specialIn(prefix); !special {
			c.find(b, rangeOrdinary(s))
		}
		out = append(out, prefix)
	}
	slices.SortFunc(out, ir.ComparePrefixes)
	return slices.Compact(out), whole
}

// addressRange is the range that s means: a prefix, or one address.
func addressRange(s lang.String) (netip.Prefix, *diag.Diagnostic) {
	if addr, err := netip.ParseAddr(s.Value); err == nil && addr.Zone() == "" {
		prefix := netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		return prefix, rangeNever(s, prefix)
	}
	prefix, err := netip.ParsePrefix(s.Value)
	if err != nil {
		return netip.Prefix{}, rangeMalformed(s)
	}
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 { // RFC 4291, section 2.5.5.2
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, rangeBits(s, prefix.Masked())
	}
	return prefix, rangeNever(s, prefix)
}

// specialIn reports whether some address of the range needs to be opened.
func specialIn(prefix netip.Prefix) bool {
	return slices.ContainsFunc(addresses.Ranges(), func(r addresses.Range) bool { return r.Prefix.Overlaps(prefix) })
}

// rangeNever reports a range that lies in one which nothing opens.
func rangeNever(s lang.String, prefix netip.Prefix) *diag.Diagnostic {
	special, ok := addresses.Special(prefix.Addr())
	if !ok || !special.Never || special.Prefix.Bits() > prefix.Bits() {
		return nil
	}
	return &diag.Diagnostic{
		Code:    "range-never",
		At:      s.Range,
		Message: fmt.Sprintf("nothing opens %q: it is %s (%s)", s.Value, special.Kind, special.Source),
		Help:    "remove it",
	}
}

// rangeOrdinary reports a range that names may lead to anyway.
func rangeOrdinary(s lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "range-ordinary",
		At:       s.Range,
		Message:  fmt.Sprintf("%q holds ordinary addresses alone, which names may lead to anyway", s.Value),
		Help:     "remove it: addresses adds ranges and keeps names out of none",
	}
}

// requests places the allow and deny blocks of an endpoint into out, their origins
// cut to what follows the endpoint's own. Inner is where each stands.
func (c *compilation) requests(b *body, e *lang.Endpoint, out *ir.Endpoint) (inner map[string]diag.Range, whole bool) {
	whole = true
	refuse := func(d diag.Diagnostic) {
		c.find(b, d)
		whole = false
	}
	if len(e.Requests) > 0 && out.Protocol != ir.REST {
		refuse(requestsNeedREST(e))
		return nil, false
	}
	inner = map[string]diag.Range{}
	counts, allows := map[bool]int{}, false
	said := map[string]lang.RequestRule{}
	for _, r := range e.Requests {
		rule, fault := requestRule(r)
		if fault != nil {
			refuse(*fault)
			continue
		}
		word := map[bool]string{true: "allow", false: "deny"}[r.Allow]
		rule.Origin = ir.Origin(fmt.Sprintf(".%s[%d]", word, counts[r.Allow]))
		counts[r.Allow]++
		allows = allows || r.Allow
		same := strings.Join(rule.Methods, " ") + " " + string(rule.Path)
		if first, again := said[same]; again {
			refuse(requestTwice(r, first))
			continue
		}
		said[same] = r
		inner[string(rule.Origin)] = r.Range
		out.Requests = append(out.Requests, rule)
	}
	if out.Protocol == ir.REST && !allows && whole && !c.config.Partial {
		refuse(restAllowsNothing(e))
	}
	slices.SortFunc(out.Requests, ir.RequestRule.Compare)
	return inner, whole
}

func requestRule(r lang.RequestRule) (ir.RequestRule, *diag.Diagnostic) {
	out := ir.RequestRule{Allow: r.Allow, Path: ir.AnyPath}
	if r.Methods != nil && len(r.Methods) == 0 {
		return out, methodsEmpty(r)
	}
	for _, m := range r.Methods {
		if !ir.IsMethod(m.Value) {
			return out, methodMalformed(m)
		}
		out.Methods = append(out.Methods, m.Value)
	}
	slices.Sort(out.Methods)
	out.Methods = slices.Compact(out.Methods)
	if r.Path.Range.IsZero() {
		return out, nil
	}
	var err error
	if out.Path, err = ir.ParsePathPattern(r.Path.Value); err != nil {
		return out, pathPattern(r.Path, err)
	}
	return out, nil
}

// deniedHosts places the hosts that network blocks deny. They may be as wide as their
// author likes: a denial only takes away.
func deniedHosts(c *compilation) {
	for _, b := range c.bodies {
		said := map[ir.HostPattern]diag.Range{}
		for i, s := range b.source.Network.Deny {
			p, fault := hostPattern(s)
			switch {
			case fault != nil && fault.Code == "host-wildcard-too-wide":
				fault.Help = "without an endpoint no host is reached: remove the endpoints instead"
			case fault != nil && fault.Code == "host-is-address":
				fault.Help = "deny is about names; an address is reached only where an endpoint states it"
			}
			if first, again := said[p]; fault == nil && again {
				fault = hostTwice(s, first)
			}
			if fault != nil {
				c.find(b, *fault)
				continue
			}
			said[p] = s.Range
			b.add(key{kind: hostKind, name: p.String()}, ir.HostRule{Host: p}, fmt.Sprintf("network.deny[%d]", i), s.Range)
		}
	}
}

// endpointsAgree reports endpoints that can be of one connection and differ in how it
// is handled.
func endpointsAgree(c *compilation) {
	type pair struct{ a, b diag.Range }
	told := map[pair]bool{}
	for _, d := range c.drafts {
		stated, ranges := ir.Policy{}, map[string]diag.Range{}
		for _, s := range d.merged {
			if e, ok := s.value.(ir.Endpoint); ok {
				stated.Endpoints = append(stated.Endpoints, e)
				ranges[e.Name] = s.at
			}
		}
		for _, found := range stated.Disagreements() {
			d.body.faulty = true
			at := pair{ranges[found.A.Name], ranges[found.B.Name]}
			if told[at] {
				continue
			}
			told[at] = true
			c.find(d.body, endpointsDiffer(found, at.a, at.b))
		}
	}
}

func endpointsDiffer(d ir.Disagreement, a, b diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "endpoints-differ",
		At:      b,
		Message: fmt.Sprintf("one connection can be of endpoint %q and of %q, and they differ in %s", d.B.Name, d.A.Name, d.What),
		Help:    fmt.Sprintf("give both the same %s, or name hosts or ports that are apart", d.What),
		Related: []diag.Related{{At: a, Message: "the other endpoint"}},
	}
}

func addressesMisplaced(s lang.String) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "addresses-misplaced",
		At:      s.Range,
		Message: "an endpoint by address opens that address and no other",
		Help:    "remove addresses, or name a host",
	}
}

func rangeMalformed(s lang.String) *diag.Diagnostic {
	help := `write a range or an address, as in "10.2.0.0/16" or "2001:db8::/32"`
	if addr, ok := addressSpelling(s.Value); ok {
		help = fmt.Sprintf("write %q", addr)
	}
	return &diag.Diagnostic{
		Code:    "range-malformed",
		At:      s.Range,
		Message: fmt.Sprintf("%q is no range of addresses", s.Value),
		Help:    help,
	}
}

// rangeBits reports a range whose address has bits that the range does not: it may be
// meant wider, or as one address.
func rangeBits(s lang.String, masked netip.Prefix) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "range-bits",
		At:      s.Range,
		Message: fmt.Sprintf("%q names an address in a range and not the range", s.Value),
		Help:    fmt.Sprintf("write %q for the range, or the address alone", masked),
	}
}

func requestsNeedREST(e *lang.Endpoint) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "requests-need-rest",
		At:      e.Requests[0].Range,
		Message: fmt.Sprintf("endpoint %q does not look at requests, so that this would decide nothing", e.Name.Value),
		Help:    `write protocol = "rest" in the endpoint`,
	}
	if !e.Protocol.Range.IsZero() {
		d.Related = []diag.Related{{At: e.Protocol.Range, Message: "the protocol stands here"}}
	}
	return d
}

func restAllowsNothing(e *lang.Endpoint) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "rest-allows-nothing",
		At:      e.Range,
		Message: fmt.Sprintf("endpoint %q decides requests and allows none", e.Name.Value),
		Help:    `add an allow block with methods = ["GET"] and path = "/repos/**", or remove the endpoint`,
	}
}

func requestTwice(r, first lang.RequestRule) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "duplicate-request",
		At:      r.Range,
		Message: "the same requests are named twice",
		Help:    "remove one of the blocks",
		Related: []diag.Related{{At: first.Range, Message: "first stated here"}},
	}
	if r.Allow != first.Allow {
		d.Code, d.Message, d.Help = "request-both", "the same requests are allowed and denied", "decide: deny would win, so the allow block says nothing"
	}
	return d
}

func methodsEmpty(r lang.RequestRule) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "methods-empty",
		At:      r.Range,
		Message: "a list of methods is empty, so that the block speaks of no request",
		Help:    "name methods, or remove the attribute for every method",
	}
}

func methodMalformed(m lang.String) *diag.Diagnostic {
	help := `write methods in capital letters, as in "GET"`
	switch upper := strings.ToUpper(m.Value); {
	case m.Value == "*":
		help = "remove the attribute for every method"
	case upper == "CONNECT":
		help = "a connection is what the endpoint itself allows"
	case upper == "TRACE":
		help = "no proxy passes it on: it has a server repeat what it was sent, credentials included"
	case ir.IsMethod(upper):
		help = fmt.Sprintf("write %q: names of methods are case-sensitive", upper)
	}
	return &diag.Diagnostic{Code: "method-malformed", At: m.Range, Message: fmt.Sprintf("%q is no method of a request", m.Value), Help: help}
}

func pathPattern(s lang.String, err error) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "request-path-malformed",
		At:      s.Range,
		Message: err.Error(),
		Help:    `"*" stands for what one segment holds, "**" for any number of segments, as in "/repos/*/issues/**"`,
	}
}

func hostTwice(s lang.String, first diag.Range) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "duplicate-host",
		At:      s.Range,
		Message: fmt.Sprintf("deny names %q twice", s.Value),
		Help:    "remove one of them",
		Related: []diag.Related{{At: first, Message: "first stated here"}},
	}
}
