package proof

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// network adds what the policy wants of sockets. Endpoints are the proxy's to decide:
// of them a profile opens the proxy's port on 127.0.0.1 and nothing else. Listening and
// the rest of the loopback is for policies that state it. Sockets are opened before
// they are connected: of a family that is reached, and no datagrams but of Unix.
func network(p *ir.Policy, out map[string]want) {
	sockets, families := map[string]ir.Origin{}, map[string]ir.Origin{}
	if p.Unix.Visible {
		sockets["AF_UNIX"] = p.Unix.Origin
	}
	if len(p.Endpoints) > 0 {
		families["AF_INET"] = p.Endpoints[0].Origin
	}
	ends := [fragment.NumEnds]bool{fragment.ProxyEnd: len(p.Endpoints) > 0 || p.Loopback.Host, fragment.LoopbackEnd: p.Loopback.Host}
	listens := map[string]ir.Origin{}
	if p.Loopback.Host {
		families["AF_INET"], families["AF_INET6"] = p.Loopback.Origin, p.Loopback.Origin
		listens["localhost:*"] = p.Loopback.Origin
	}
	for _, name := range []string{"network-bind", "network-inbound"} {
		out[name] = want{kind: fragment.Own, words: listens}
	}
	for family, origin := range families {
		sockets[family+fragment.Stream] = origin
	}
	out["system-socket"] = want{kind: fragment.SocketDomain, words: sockets}
	for _, name := range []string{"socket-ioctl", "socket-option-get", "socket-option-set"} {
		for family, origin := range families {
			out[name].words[family] = origin
		}
	}
	outbound := out["network-outbound"]
	outbound.ends = ends
	out["network-outbound"] = outbound
}

// reach compares what network-outbound says of addresses.
func reach(list fragment.List, w want, differs func(*fragment.Rule, string, ...any) error) error {
	for end := range fragment.End(fragment.NumEnds) {
		switch allow, by := list.Network(end); {
		case allow && !w.ends[end]:
			return differs(by, "%s may be reached, and no statement of the policy allows it", end)
		case !allow && w.ends[end]:
			return differs(by, "%s cannot be reached, and the policy wants it", end)
		}
	}
	return nil
}

// proxy refuses a profile that asks for the port of a proxy where the runtime starts
// none, or does not ask where it starts one; and a policy that opens the loopback by
// one statement and denies its name by another, which no profile can tell apart.
func (c *check) proxy() error {
	asks := slices.ContainsFunc(c.profile.Rules, func(r *fragment.Rule) bool {
		return slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool { return f.Kind == fragment.Proxy })
	})
	switch has := len(c.policy.Endpoints) > 0; {
	case asks && !has:
		return &Fault{Detail: "it opens the port of a proxy, and the policy has no endpoint"}
	case has && !asks:
		return &Fault{Detail: fmt.Sprintf("it does not open the port of the proxy, by which %s (%s) is reached", &c.policy.Endpoints[0], c.policy.Endpoints[0].Origin)}
	}
	if r := c.policy.LocalhostDenied(); r != nil {
		return &Fault{Detail: fmt.Sprintf("%s (%s) denies the name of what %s (%s) opens", r, r.Origin, c.policy.Loopback, c.policy.Loopback.Origin)}
	}
	return nil
}
