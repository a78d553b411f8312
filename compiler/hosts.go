package compiler

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// host is the pattern that an endpoint's host attribute means.
func host(s lang.String) (ir.HostPattern, *diag.Diagnostic) {
	p, fault := hostPattern(s)
	if fault == nil && p.Wildcard != ir.Exact && isSuffix(p.Name) {
		return ir.HostPattern{}, hostWildcardTooWide(s, "every host below "+p.Name)
	}
	return p, fault
}

// hostPattern is the pattern that s means, however wide.
func hostPattern(s lang.String) (ir.HostPattern, *diag.Diagnostic) {
	if addr, ok := addressSpelling(s.Value); ok {
		return ir.HostPattern{}, hostIsAddress(s, addr)
	}
	wildcard, name := ir.Exact, s.Value
	if first, rest, _ := strings.Cut(s.Value, "."); strings.Contains(s.Value, "*") {
		switch {
		case first == "*":
			wildcard = ir.OneLabel
		case first == "**":
			wildcard = ir.ManyLabels
		default:
			return ir.HostPattern{}, hostWildcardPosition(s)
		}
		if strings.Contains(rest, "*") {
			return ir.HostPattern{}, hostWildcardPosition(s)
		}
		if strings.Trim(rest, ".") == "" {
			return ir.HostPattern{}, hostWildcardTooWide(s, "every host")
		}
		name = rest
	}
	canonical, err := ir.CanonicalHost(name)
	if err != nil {
		return ir.HostPattern{}, hostMalformed(s)
	}
	return ir.HostPattern{Wildcard: wildcard, Name: canonical}, nil
}

// isSuffix reports whether anybody can register names directly below the
// canonical name: it is one label, or a public suffix of the ICANN section
// (publicsuffix.org, compiled in with x/net).
func isSuffix(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	return icann && suffix == name
}

// address is the address that an endpoint's address attribute means.
func address(s lang.String) (ir.HostPattern, *diag.Diagnostic) {
	addr, err := netip.ParseAddr(s.Value)
	if err != nil || addr.Zone() != "" {
		return ir.HostPattern{}, addressMalformed(s)
	}
	addr = addr.Unmap()
	return ir.HostPattern{Addr: addr}, rangeNever(s, netip.PrefixFrom(addr, addr.BitLen()))
}

// addressSpelling is the address that some resolver would take s for: literals
// with or without brackets and zone, and the decimal, octal, hexadecimal and
// shortened forms of IPv4 (inet_aton(3); WHATWG URL standard, "IPv4 parser").
func addressSpelling(s string) (netip.Addr, bool) {
	bare := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(s, "["), "."), "]")
	if addr, err := netip.ParseAddr(bare); err == nil {
		return addr.WithZone("").Unmap(), true
	}
	numbers := strings.Split(bare, ".")
	if len(numbers) > 4 {
		return netip.Addr{}, false
	}
	var total uint64
	for i, text := range numbers {
		n, ok := number(text)
		last := i == len(numbers)-1
		width := 1
		if last {
			width = 4 - i
		}
		if !ok || n >= 1<<(8*width) {
			return netip.Addr{}, false
		}
		total = total<<(8*width) | n
	}
	return netip.AddrFrom4([4]byte{byte(total >> 24), byte(total >> 16), byte(total >> 8), byte(total)}), true
}

// number reads one part of an IPv4 address as inet_aton does.
func number(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) > 1 && (s[:2] == "0x" || s[:2] == "0X"):
		base, s = 16, s[2:]
		if s == "" {
			s = "0"
		}
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil && !strings.HasPrefix(s, "+")
}

// hostIsAddress reports an address, in whatever spelling, where a name belongs.
func hostIsAddress(s lang.String, addr netip.Addr) *diag.Diagnostic {
	message := fmt.Sprintf("host %q is an address, not a name", s.Value)
	if addr.String() != s.Value {
		message = fmt.Sprintf("host %q is a spelling of the address %s, not a name", s.Value, addr)
	}
	return &diag.Diagnostic{
		Code:    "host-is-address",
		At:      s.Range,
		Message: message,
		Help:    fmt.Sprintf("the attribute for addresses is address: write address = %q", addr),
	}
}

// hostWildcardTooWide reports a wildcard over names that anybody can register.
func hostWildcardTooWide(s lang.String, matches string) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "host-wildcard-too-wide",
		At:      s.Range,
		Message: fmt.Sprintf("host %q matches %s", s.Value, matches),
		Help:    `name the domain you trust, as in "*.example.com" (one label) or "**.example.com" (one or more)`,
	}
}

// hostWildcardPosition reports a wildcard that is not the whole first label.
func hostWildcardPosition(s lang.String) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "host-wildcard-position",
		At:      s.Range,
		Message: fmt.Sprintf("host %q has a wildcard that is not its whole first label", s.Value),
		Help:    `a wildcard is "*." or "**." before a name, as in "*.example.com"`,
	}
}

// hostMalformed reports text that no resolver would look up.
func hostMalformed(s lang.String) *diag.Diagnostic {
	help := "a host name is labels of letters, digits and - joined by dots, as in api.example.com"
	switch {
	case strings.Contains(s.Value, "://"):
		help = "write the host name alone, without scheme and path"
	case strings.Contains(s.Value, "/"):
		help = "write the host name alone, without a path; address ranges cannot stand here"
	case strings.Contains(s.Value, "@"):
		help = "write the host name alone, without a user"
	case strings.Contains(s.Value, ":"):
		help = "write the host name alone; ports stand in ports"
	case strings.Contains(s.Value, "_"):
		help = "an underscore cannot stand in a host name; is it a -?"
	}
	return &diag.Diagnostic{
		Code:    "host-malformed",
		At:      s.Range,
		Message: fmt.Sprintf("%q is not a host name", s.Value),
		Help:    help,
	}
}

// addressMalformed reports text that is not one address in the usual form.
func addressMalformed(s lang.String) *diag.Diagnostic {
	help := "write an IPv4 or IPv6 address, as in 10.2.0.7 or 2001:db8::7; a name belongs into host"
	if addr, ok := addressSpelling(s.Value); ok {
		help = fmt.Sprintf("write %q", addr)
	} else if prefix, err := netip.ParsePrefix(s.Value); err == nil {
		help = fmt.Sprintf("an endpoint is one address, as in %q, not a range", prefix.Addr())
	}
	return &diag.Diagnostic{
		Code:    "address-malformed",
		At:      s.Range,
		Message: fmt.Sprintf("%q is not an address in its usual form", s.Value),
		Help:    help,
	}
}
