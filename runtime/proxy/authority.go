package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/egress"
)

// parseAuthority reads HOST:PORT (RFC 9112, section 3.2.3) into a peer. Without a
// port it is defaultPort, or an error if that is 0. A host is a name (ir.CanonicalHost)
// written in ASCII, an IPv4 address in its one usual form, or an IPv6 address in
// brackets that is not an IPv4 address in disguise and has no zone.
func parseAuthority(text string, defaultPort uint16) (egress.Peer, error) {
	host, port := text, ""
	hasPort := false
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return egress.Peer{}, fmt.Errorf("%s has no closing bracket", quoted(text))
		}
		host, port = text[:end+1], text[end+1:]
		if port, hasPort = strings.CutPrefix(port, ":"); !hasPort && port != "" {
			return egress.Peer{}, fmt.Errorf("%s has something else than a port behind its bracket", quoted(text))
		}
	} else {
		host, port, hasPort = strings.Cut(text, ":")
	}
	peer, err := parseHost(host)
	if err != nil {
		return egress.Peer{}, err
	}
	if !hasPort {
		if defaultPort == 0 {
			return egress.Peer{}, fmt.Errorf("%s has no port: write HOST:PORT", quoted(text))
		}
		peer.Port = defaultPort
		return peer, nil
	}
	peer.Port, err = parsePort(port)
	if err != nil {
		return egress.Peer{}, fmt.Errorf("%s: %w", quoted(text), err)
	}
	return peer, nil
}

func parseHost(host string) (egress.Peer, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() {
			return egress.Peer{}, fmt.Errorf("%s is no IPv6 address", quoted(host))
		}
		return peerOf(addr)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Is6() {
			return egress.Peer{}, fmt.Errorf("%s is an IPv6 address without brackets", quoted(host))
		}
		return peerOf(addr)
	}
	for i := range len(host) {
		if host[i] >= 0x80 {
			return egress.Peer{}, fmt.Errorf("%s is not written in ASCII: write names in their A-label form (xn--)", quoted(host))
		}
	}
	name, err := ir.CanonicalHost(host)
	if err != nil {
		return egress.Peer{}, fmt.Errorf("%s is no host name, and no address in its usual form", quoted(host))
	}
	return egress.Peer{Host: name}, nil
}

// peerOf is the peer of an address that a client wrote. Addresses that are IPv4 ones
// in another spelling are refused: who reads a log, or a rule, would not see it.
func peerOf(addr netip.Addr) (egress.Peer, error) {
	switch {
	case addr.Zone() != "":
		return egress.Peer{}, fmt.Errorf("%s has a zone, which means something on one machine alone", quoted(addr.String()))
	case addr.Is4In6():
		return egress.Peer{}, fmt.Errorf("%s is an IPv4 address in another spelling: write %s", addr, addr.Unmap())
	}
	return egress.Peer{Addr: addr}, nil
}

func parsePort(text string) (uint16, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" || text[0] == '0' {
		return 0, errors.New("its port is no number from 1 to 65535")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, errors.New("its port is no number from 1 to 65535")
	}
	return uint16(n), nil
}

// quoted is what a client wrote, for a reason: escaped and short.
func quoted(text string) string {
	const most = 100
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}

// authorityOf is the peer as a Host field says it: without the scheme's own port.
func authorityOf(p egress.Peer, defaultPort uint16) string {
	host := p.Host
	if host == "" {
		host = p.Addr.String()
		if p.Addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if p.Port == defaultPort {
		return host
	}
	return host + ":" + strconv.Itoa(int(p.Port))
}
