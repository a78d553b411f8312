package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// String is the peer as people write it, HOST:PORT.
func (p Peer) String() string {
	if p.Host == "" {
		return netip.AddrPortFrom(p.Addr, p.Port).String()
	}
	return p.Host + ":" + strconv.Itoa(int(p.Port))
}

// Reason is the answer in one line, for evidence, for people and for the body of a
// 403. It names nothing that the client did not say itself, but the policy's own
// statement.
func (a Answer) Reason(p Peer) string {
	if a.Allow {
		return fmt.Sprintf("%s is allowed by %s", p, a.Rule)
	}
	switch a.Failed {
	case DeniedHost:
		return fmt.Sprintf("the policy denies the host %s (%s)", p.Host, a.Rule)
	case Host:
		return fmt.Sprintf("no endpoint of the policy names %s%s", hostOf(p), a.nearest())
	case Port:
		return fmt.Sprintf("no endpoint for %s is for port %d; the nearest is for %s (%s)", hostOf(p), p.Port, ports(a.Endpoint.Ports), a.Rule)
	case Program:
		return fmt.Sprintf("%s may be reached by %s alone, and it is not known that one of these asks (%s)", p, paths(a.Endpoint.Executables), a.Rule)
	case Address:
		return fmt.Sprintf("%s leads to an address that the endpoint does not open: %s, %s (%s)", hostOf(p), a.Range.Prefix, a.Range.Kind, a.Rule)
	case Protocol:
		return fmt.Sprintf("the endpoint for %s is for %s (%s)", p, a.Endpoint.Protocol.Words(), a.Rule)
	case Method:
		return fmt.Sprintf("the endpoint for %s allows this path to other methods (%s)", p, a.Rule)
	case Path:
		if decides(a) {
			return fmt.Sprintf("the policy denies this request to %s (%s)", p, a.Rule)
		}
		return fmt.Sprintf("the endpoint for %s allows no such request (%s)", p, a.Rule)
	}
	return fmt.Sprintf("%s is denied", p)
}

func hostOf(p Peer) string {
	if p.Host == "" {
		return p.Addr.String()
	}
	return p.Host
}

func (a Answer) nearest() string {
	if a.Endpoint == nil {
		return ""
	}
	return fmt.Sprintf("; the nearest is %s (%s)", a.Endpoint.Host, a.Rule)
}

func ports(list []uint16) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = strconv.Itoa(int(p))
	}
	return "port " + strings.Join(words, ", ")
}

func paths(list []ir.Path) string {
	const most = 3
	var words []string
	for i, p := range list {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}
