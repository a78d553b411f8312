package ir

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Wildcard tells which names a HostPattern stands for.
type Wildcard uint8

// Exact is the name itself. OneLabel ("*.example.com") is exactly one label more,
// ManyLabels ("**.example.com") one or more. Neither matches the bare suffix.
const (
	Exact Wildcard = iota
	OneLabel
	ManyLabels
)

// HostPattern is the host of an endpoint: a name in canonical form with a
// wildcard, or an address. Exactly one of Name and Addr is set.
type HostPattern struct {
	Wildcard Wildcard
	Name     string
	Addr     netip.Addr
}

// String is the pattern as a policy states it.
func (h HostPattern) String() string {
	switch {
	case h.Addr.IsValid():
		return h.Addr.String()
	case h.Wildcard == OneLabel:
		return "*." + h.Name
	case h.Wildcard == ManyLabels:
		return "**." + h.Name
	}
	return h.Name
}

// ErrHostMalformed is wrapped by CanonicalHost for text that is no host name.
var ErrHostMalformed = errors.New("is not a host name")

// hostProfile is the lookup profile of UTS #46 with the checks of STD 3: lower
// case, A-labels, label and name lengths. Hyphens in third and fourth place are
// admitted (CheckHyphens forbids them): content networks have such names.
var hostProfile = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.VerifyDNSLength(true),
	idna.StrictDomainName(true),
	idna.Transitional(false),
	idna.CheckHyphens(false),
)

// CanonicalHost is name in the one form that hosts are compared in: lower-case
// A-labels without the trailing dot. Addresses in any spelling, empty labels,
// control characters, percent signs and everything else that is no host name wrap
// ErrHostMalformed.
func CanonicalHost(name string) (string, error) {
	malformed := fmt.Errorf("%q %w", name, ErrHostMalformed)
	if !utf8.ValidString(name) {
		return "", malformed
	}
	host, err := hostProfile.ToASCII(name)
	if err != nil {
		return "", malformed
	}
	host = strings.TrimSuffix(host, ".") // after mapping: U+3002 is a dot too
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' { // RFC 1123, section 2.1
			return "", malformed
		}
	}
	// A last label of digits is an address in some resolver's eyes (decimal, octal
	// and hexadecimal IPv4; WHATWG URL standard, "ends in a number").
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		return "", fmt.Errorf("%q ends in a number and %w", name, ErrHostMalformed)
	}
	return host, nil
}

// Matches reports whether the pattern stands for the canonical name host.
func (h HostPattern) Matches(host string) bool {
	if h.Addr.IsValid() {
		return false
	}
	if h.Wildcard == Exact {
		return host == h.Name
	}
	labels, ok := strings.CutSuffix(host, "."+h.Name)
	return ok && labels != "" && (h.Wildcard == ManyLabels || !strings.Contains(labels, "."))
}

// suffixes yields name and every name above it, by whole labels.
func suffixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			if !yield(name) {
				return
			}
			_, rest, ok := strings.Cut(name, ".")
			if !ok {
				return
			}
			name = rest
		}
	}
}
