package propose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
)

// dnsPort is where names are asked for (RFC 1035, section 4.2).
const dnsPort = 53

// noPeer is why nothing is proposed for a connection or a request, "" when something
// is. An address of a special range is never proposed: what lies there trusts who can
// reach it, so its author has to have meant it.
func (p *proposer) noPeer(r ir.Request, d ir.Decision) string {
	switch {
	case d.Reason == ir.HostDenied || d.Reason == ir.ByRequest:
		return fmt.Sprintf("%s was put there to refuse it", d.Rule)
	case d.Reason == ir.NoRequest: // the connection is the author's word already
		return noTarget(r)
	case r.Addr.IsValid() && r.Port == dnsPort:
		return "names are resolved outside the sandbox: name the host that was asked for in an endpoint"
	case r.Addr.IsValid() && (r.Addr.IsLoopback() || r.Addr.IsUnspecified()):
		return "the sandbox has a loopback of its own"
	case r.Addr.IsValid():
		if special, ok := addresses.Admitted(r.Addr, nil); !ok {
			return neverProposed(special)
		}
	case r.Host == "localhost" || strings.HasSuffix(r.Host, ".localhost"): // RFC 6761, section 6.3
		return "it is a name of the loopback, and the sandbox has one of its own"
	case metadataNames[r.Host] != "":
		return fmt.Sprintf("it is a name of a metadata service (%s), which is never proposed", metadataNames[r.Host])
	}
	if r.Port == 0 {
		return "it names no port"
	}
	if r.Kind == ir.URLRequest {
		return noTarget(r)
	}
	return ""
}

// neverProposed is why an address of that range is not.
func neverProposed(r addresses.Range) string {
	if r.Never {
		return fmt.Sprintf("it is %s (%s, %s), which nothing opens", r.Kind, r.Prefix, r.Source)
	}
	return fmt.Sprintf("it is %s (%s, %s), which is never proposed; where it is meant, write address, or addresses beside a host", r.Kind, r.Prefix, r.Source)
}

// metadataNames lead to metadata services, whose addresses compiler/addresses has. The
// values are whose they are, by their documentation.
var metadataNames = map[string]string{
	"metadata.google.internal":   "Google Cloud",
	"metadata.goog":              "Google Cloud",
	"instance-data.ec2.internal": "Amazon EC2",
	"instance-data":              "Amazon EC2",
}

// noTarget is why no rule states a request's method and path alone.
func noTarget(r ir.Request) string {
	switch {
	case !ir.IsMethod(r.Method):
		return fmt.Sprintf("no policy allows the method %s", r.Method)
	case strings.Contains(r.Target, "*"):
		return "its path has a *, which a rule would read as any characters"
	}
	if _, err := ir.ParsePathPattern(r.Target); err != nil {
		return err.Error()
	}
	return ""
}

// endpoints are what could allow a connection or a request, the narrowest first, or why
// there is none.
func (p *proposer) endpoints(r ir.Request) (list []want, why string) {
	var admits, other, elsewhere *ir.Endpoint // by all, but for the program, but for the port
	for i := range p.Policy.Endpoints {
		e := &p.Policy.Endpoints[i]
		if !e.Host.Matches(r.Host) && (!r.Addr.IsValid() || e.Host.Addr != r.Addr) {
			continue
		}
		switch bound := p.boundEndpoint(e); {
		case bound.Admits(r):
			admits = closer(admits, e)
		case slices.Contains(e.Ports, r.Port):
			other = closer(other, e)
		default:
			elsewhere = closer(elsewhere, e)
		}
	}
	switch {
	case admits != nil && (r.Kind != ir.URLRequest || admits.Protocol != ir.REST):
		return nil, fmt.Sprintf("endpoint %q is for %s, and all of one connection agree on it", admits.Name, admits.Protocol.Words())
	case admits != nil:
		if p.own(admits) && admits.Host.Wildcard == ir.Exact {
			list = append(list, into(admits, ir.Endpoint{Requests: rule(r)}))
		}
		return append(list, p.like(r, admits, admits.Executables)), ""
	case other != nil && !r.HasBy:
		return nil, fmt.Sprintf("endpoint %q is for certain programs, and it is not known that one of these asked", other.Name)
	case other != nil && other.Protocol == ir.REST && r.Kind != ir.URLRequest:
		return nil, fmt.Sprintf("endpoint %q decides requests, and which ones this program would make is not known; name it in executables there", other.Name)
	case other != nil:
		return []want{p.like(r, other, []ir.Path{Stated(p.Binding, r.By)})}, ""
	case elsewhere != nil && len(elsewhere.Executables) > 0 && !r.HasBy:
		return nil, fmt.Sprintf("endpoint %q is for certain programs, and which one asked for another port is not known; if it is one of these, add %d to its ports", elsewhere.Name, r.Port)
	case elsewhere != nil && p.own(elsewhere) && elsewhere.Host.Wildcard == ir.Exact && r.Kind != ir.URLRequest:
		list = append(list, into(elsewhere, ir.Endpoint{Ports: []uint16{r.Port}}))
	}
	var programs []ir.Path
	if elsewhere != nil && len(elsewhere.Executables) > 0 {
		programs = []ir.Path{Stated(p.Binding, r.By)}
	}
	return append(list, p.anew(r, programs)...), ""
}

// boundEndpoint is an endpoint of the policy with its programs bound.
func (p *proposer) boundEndpoint(e *ir.Endpoint) *ir.Endpoint {
	out := *e
	out.Executables = p.Binding.Paths(e.Executables)
	return &out
}

// closer prefers the endpoint that names a host to one with a wildcard, then the first.
func closer(a, b *ir.Endpoint) *ir.Endpoint {
	if a == nil || a.Host.Wildcard != ir.Exact && b.Host.Wildcard == ir.Exact {
		return b
	}
	return a
}

// own reports whether the policy itself has the endpoint, and none of its templates.
func (p *proposer) own(e *ir.Endpoint) bool {
	return strings.HasPrefix(string(e.Origin), p.Policy.Name+"/")
}

// into adds to an endpoint that is there.
func into(e *ir.Endpoint, more ir.Endpoint) want {
	more.Name, more.Host, more.Protocol = e.Name, e.Host, e.Protocol
	return want{Endpoint: &more, Into: e}
}

// rule is the one that matches a request and no other.
func rule(r ir.Request) []ir.RequestRule {
	return []ir.RequestRule{{Allow: true, Methods: []string{r.Method}, Path: ir.PathPattern(r.Target), Origin: Proposed}}
}

// like is an endpoint of its own for the request's host and port, that agrees with one
// of the policy's which can be of the same connection.
func (p *proposer) like(r ir.Request, e *ir.Endpoint, programs []ir.Path) want {
	out := p.plain(r)
	out.Protocol, out.Addresses, out.Executables = e.Protocol, e.Addresses, programs
	if out.Protocol == ir.REST {
		out.Requests = rule(r)
	}
	return p.named(out)
}

// anew are endpoints for what none of the policy's is about. A policy without temporary
// files has no place for the certificates that deciding requests takes, so the second
// lets HTTP through without looking at requests.
func (p *proposer) anew(r ir.Request, programs []ir.Path) []want {
	out := p.plain(r)
	out.Executables = programs
	if r.Kind != ir.URLRequest {
		return []want{p.named(out)}
	}
	looks, passes := out, out
	looks.Protocol, looks.Requests = ir.REST, rule(r)
	if passes.Protocol = ir.HTTP; r.Scheme == "https" {
		passes.Protocol = ir.TLS
	}
	if !slices.ContainsFunc(p.Policy.Files, func(f ir.FileRule) bool { return f.Path.Root() == ir.Tmp }) {
		return []want{p.named(passes)}
	}
	return []want{p.named(looks), p.named(passes)}
}

// plain is one host, or one address, on one port.
func (p *proposer) plain(r ir.Request) ir.Endpoint {
	e := ir.Endpoint{Host: ir.HostPattern{Name: r.Host}, Ports: []uint16{r.Port}, Origin: Proposed}
	if r.Addr.IsValid() {
		e.Host = ir.HostPattern{Addr: r.Addr}
	}
	return e
}

// named gives a new endpoint its name: the same to those that can be one, and no two
// others.
func (p *proposer) named(e ir.Endpoint) want {
	key := fmt.Sprint(e.Host, " ", e.Protocol, e.Executables, e.Addresses)
	if e.Protocol == ir.REST {
		key += fmt.Sprint(e.Ports)
	}
	if p.called == nil {
		p.called = map[string]string{}
	}
	if p.called[key] == "" {
		p.called[key] = p.free(e.Host.String())
	}
	e.Name = p.called[key]
	return want{Endpoint: &e}
}

// free is a name for an endpoint that neither the policy nor a proposal has.
func (p *proposer) free(host string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host)
	if !ir.IsName(name) {
		name = "to-" + strings.Trim(name, "-")
	}
	const longest = 54 // of 63, to leave room for a number
	name = name[:min(len(name), longest)]
	taken := func(n string) bool {
		for _, have := range p.called {
			if have == n {
				return true
			}
		}
		return slices.ContainsFunc(p.Policy.Endpoints, func(e ir.Endpoint) bool { return e.Name == n })
	}
	out := name
	for i := 2; taken(out); i++ {
		out = name + "-" + strconv.Itoa(i)
	}
	return out
}

// mergeEndpoint adds an endpoint to a list, or what it says to the one of its name.
func mergeEndpoint(list []Addition, a Addition) []Addition {
	for i, have := range list {
		if have.Endpoint != nil && have.Endpoint.Name == a.Endpoint.Name {
			both := joined(*have.Endpoint, *a.Endpoint)
			both.Requests = gathered(both.Requests)
			list[i].Endpoint = &both
			return list
		}
	}
	one := *a.Endpoint
	return append(list, Addition{Endpoint: &one, Into: a.Into})
}

// joined is an endpoint with the ports and the rules of another.
func joined(e, more ir.Endpoint) ir.Endpoint {
	e.Ports = slices.Concat(e.Ports, more.Ports)
	slices.Sort(e.Ports)
	e.Ports = slices.Compact(e.Ports)
	e.Requests = slices.Concat(e.Requests, more.Requests)
	slices.SortFunc(e.Requests, ir.RequestRule.Compare)
	e.Requests = slices.CompactFunc(e.Requests, func(a, b ir.RequestRule) bool { return a.Compare(b) == 0 })
	return e
}

// gathered is a list of rules with one for each path.
func gathered(list []ir.RequestRule) []ir.RequestRule {
	var out []ir.RequestRule
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].Path == r.Path {
			out[n-1].Methods = slices.Concat(out[n-1].Methods, r.Methods)
			slices.Sort(out[n-1].Methods)
			out[n-1].Methods = slices.Compact(out[n-1].Methods)
			continue
		}
		out = append(out, r)
	}
	return out
}

// width orders additions for one network access, from what allows least: a request of
// an endpoint that is there, an endpoint that looks at requests, a port of one that is
// there, another endpoint.
func (a Addition) width() int {
	switch {
	case a.Endpoint == nil:
		return 4
	case a.Into != nil && len(a.Endpoint.Requests) > 0:
		return 0
	case a.Endpoint.Protocol == ir.REST && a.Into == nil:
		return 1
	case a.Into != nil:
		return 2
	}
	return 3
}

// compareWidth orders findings by what they propose, those without a proposal last.
func compareWidth(a, b Finding) int {
	width := func(f Finding) int {
		if len(f.Add) == 0 {
			return 5
		}
		return f.Add[0].width()
	}
	return cmp.Compare(width(a), width(b))
}
