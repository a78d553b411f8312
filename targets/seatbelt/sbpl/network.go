package sbpl

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

var errTooManyPatterns = errors.New("the patterns of the profile are too long together")

// address is one (remote PROTOCOL "HOST:PORT").
type address struct {
	protocol  string // ip, tcp or udp
	family    byte   // 4, 6, or 0 for both
	localhost bool   // the host is localhost, not *
	port      int    // -1 for *
}

// makeAddress reads the arguments of remote and local.
func (p *parser) makeAddress(c *scheme.Call, f *Filter) (scheme.Value, error) {
	protocol, ok := c.Args[0].(Constant)
	if !ok || !familyIndex()["protocol"].has(protocol.Name) {
		return nil, wants(c, 0, "a protocol")
	}
	if strings.HasPrefix(protocol.Name, "unix") {
		return p.makeUnixSocket(c, f)
	}
	base := address{protocol: protocol.Name, port: -1}
	if last := base.protocol[len(base.protocol)-1]; last == '4' || last == '6' {
		base.protocol, base.family = base.protocol[:len(base.protocol)-1], last-'0'
	}
	if len(c.Args) == 1 {
		f.atom.addresses = []address{base}
	}
	for i, arg := range c.Args[1:] {
		s, ok := arg.(string)
		if !ok {
			return nil, wants(c, i+1, "a string")
		}
		host, port, ok := strings.Cut(s, ":")
		if !ok {
			return nil, c.Fail(i+1, BadAddress, "port missing in network address %s: write HOST:PORT", Quote(s))
		}
		if last := strings.LastIndexByte(s, ':'); last >= 0 {
			host, port = s[:last], s[last+1:]
		}
		if host != "*" && host != "localhost" {
			return nil, c.Fail(i+1, BadAddress, "host must be * or localhost in network address")
		}
		a := base
		a.localhost = host == "localhost"
		if port != "*" {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, c.Fail(i+1, BadAddress, "port must be * or a number from 0 to 65535 in network address")
			}
			a.port = int(n)
		}
		f.atom.addresses = append(f.atom.addresses, a)
	}
	return f, nil
}

// makeUnixSocket reads the old way to name Unix-domain sockets: path filters, or in
// 10.9 regular expressions.
func (p *parser) makeUnixSocket(c *scheme.Call, f *Filter) (scheme.Value, error) {
	f.atom.how = isUnixSocket
	var inner []*Filter
	for i, arg := range c.Args[1:] {
		switch v := arg.(type) {
		case *Filter:
			inner = append(inner, v)
		case string:
			if p.release > operations.Mavericks {
				return nil, wants(c, i+1, "a filter")
			}
			e, err := p.expression(v)
			if err != nil {
				return nil, c.Fail(i+1, BadRegex, "%s", err)
			}
			a := &atom{spec: filterNamed("path"), how: matches, args: []scheme.Value{v}, expressions: []*expression{e}}
			inner = append(inner, &Filter{Name: "regex", At: c.Place(i + 1), atom: a, size: 1, where: []scheme.Pos{c.Place(i + 1)}})
		default:
			return nil, wants(c, i+1, "a filter")
		}
	}
	if len(inner) > 0 {
		value, err := anyOf(c.At, inner)
		if err != nil {
			return nil, err
		}
		f.atom.value, f.size = value, f.size+value.size
	}
	return f, nil
}

func filterNamed(name string) *filterSpec {
	for i := range filterTable {
		if filterTable[i].name == name {
			return &filterTable[i]
		}
	}
	return nil
}

// socketAddress is one end of a connection, as a Context gives it: "tcp
// 192.0.2.1:443", "udp [::1]:53", "tcp4 localhost:80", "tcp example.com:443".
type socketAddress struct {
	protocol string
	family   byte // 0: not known
	host     string
	addr     netip.Addr // invalid for names
	port     int
}

func parseSocketAddress(s string) (socketAddress, error) {
	fault := errors.New(Quote(s) + " is no socket address: write PROTOCOL HOST:PORT, as in tcp 192.0.2.1:443")
	protocol, rest, ok := strings.Cut(s, " ")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 {
		return socketAddress{}, fault
	}
	out := socketAddress{protocol: strings.TrimRight(protocol, "46"), host: strings.Trim(rest[:colon], "[]")}
	port, err := strconv.ParseUint(rest[colon+1:], 10, 16)
	if err != nil || out.protocol == "" {
		return socketAddress{}, fault
	}
	out.port = int(port)
	if last := protocol[len(protocol)-1]; last == '4' || last == '6' {
		out.family = last - '0'
	}
	if addr, err := netip.ParseAddr(out.host); err == nil {
		out.addr, out.family = addr, 4
		if addr.Is6() {
			out.family = 6 // 4-in-6 too: such a socket is an IPv6 one
		}
	}
	return out, nil
}

// matches compares the address of a filter with one end of a connection.
func (a address) matches(s socketAddress) truth {
	out := yes
	if a.protocol != "ip" {
		switch {
		case s.protocol == "ip":
			out = unknown
		case s.protocol != a.protocol:
			return no
		}
	}
	if a.family != 0 {
		switch {
		case s.family == 0:
			out = unknown
		case s.family != a.family:
			return no
		}
	}
	if a.port >= 0 && a.port != s.port {
		return no
	}
	if a.localhost {
		out = min(out, s.isLocalhost())
	}
	return out
}

// isLocalhost: localhost is 127.0.0.1 and ::1; the IPv4-mapped form is not (measured,
// navikt/cplt PR 223). Nobody measured the rest of 127.0.0.0/8, nor what the
// unspecified address counts as.
func (s socketAddress) isLocalhost() truth {
	switch {
	case s.host == "localhost", s.addr == netip.IPv6Loopback(), s.addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}):
		return yes
	case s.addr.Is4() && s.addr.IsLoopback(), s.addr.IsValid() && s.addr.IsUnspecified():
		return unknown
	}
	return no
}
