package propose

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// dnsPort is where names are asked for (RFC 1035, section 4.2).
const dnsPort = 53

// noPeer is why no endpoint is proposed for a connection, "" when one is.
func (p *proposer) noPeer(r ir.Request) string {
	switch {
	case r.Addr.IsValid() && r.Port == dnsPort:
		return "names are resolved outside the sandbox: name the host that was asked for in an endpoint"
	case r.Addr.IsValid() && (r.Addr.IsLoopback() || r.Addr.IsUnspecified()):
		return "the sandbox has a loopback of its own"
	case r.Port == 0:
		return "it names no port"
	}
	return ""
}

// endpoint allows one host, or one address, on one port.
func (p *proposer) endpoint(r ir.Request) *ir.Endpoint {
	e := &ir.Endpoint{Host: ir.HostPattern{Name: r.Host}, Ports: []uint16{r.Port}, Origin: Proposed}
	if r.Addr.IsValid() {
		e.Host = ir.HostPattern{Addr: r.Addr}
	}
	e.Name = p.free(e.Host.String())
	return e
}

// free is a name for an endpoint that the policy has none of.
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
	const longest = 60 // of 63, to leave room for a number
	name = name[:min(len(name), longest)]
	taken := func(n string) bool {
		return slices.ContainsFunc(p.Policy.Endpoints, func(e ir.Endpoint) bool { return e.Name == n })
	}
	out := name
	for i := byte('2'); taken(out) && i <= '9'; i++ {
		out = name + "-" + string(i)
	}
	return out
}
