package ir

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Protocol is what the connections of an endpoint must speak (design 5.3).
type Protocol string

// The protocols. Web, where a policy says nothing, is TLS whose server name is the
// authorised host, or HTTP/1 whose Host is. TLS and HTTP are one of these alone. TCP
// is any bytes: nothing is looked at. REST decides every request by method and path,
// and ends TLS to see them.
const (
	Web  Protocol = ""
	TLS  Protocol = "tls"
	HTTP Protocol = "http"
	TCP  Protocol = "tcp"
	REST Protocol = "rest"
)

// Protocols lists the words that a policy may write.
func Protocols() []string { return []string{string(TLS), string(HTTP), string(TCP), string(REST)} }

// Words is the protocol for people, as what is spoken.
func (p Protocol) Words() string {
	switch p {
	case REST:
		return "requests that it allows"
	case TLS:
		return "TLS that names its host"
	case HTTP:
		return "HTTP without TLS"
	case TCP:
		return "any bytes"
	}
	return "TLS that names its host, and HTTP"
}

// Endpoint allows connections to a host or an address on some ports, by some
// programs (none listed: by any). Addresses are what its names may resolve to beside
// public addresses, sorted. Requests, of REST alone, are sorted as RequestRule.Compare
// orders.
type Endpoint struct {
	Name        string
	Host        HostPattern
	Ports       []uint16
	Executables []Path
	Addresses   []netip.Prefix
	Protocol    Protocol
	Requests    []RequestRule
	Origin      Origin
}

// RequestRule allows or denies the requests whose method is one of Methods (none: any)
// and whose path Path matches.
type RequestRule struct {
	Allow   bool
	Methods []string // a sorted set
	Path    PathPattern
	Origin  Origin
}

// HostRule denies the hosts of a pattern, whatever endpoints say.
type HostRule struct {
	Host   HostPattern
	Origin Origin
}

// LoopbackRule says whether the machine's own loopback is reached (Host), or the
// sandbox has one of its own.
type LoopbackRule struct {
	Host   bool
	Origin Origin
}

func (e *Endpoint) From() Origin     { return e.Origin }
func (r *RequestRule) From() Origin  { return r.Origin }
func (r *HostRule) From() Origin     { return r.Origin }
func (r *LoopbackRule) From() Origin { return r.Origin }

func (*Endpoint) isRule()     {}
func (*RequestRule) isRule()  {}
func (*HostRule) isRule()     {}
func (*LoopbackRule) isRule() {}

// Matches reports whether the rule speaks of a request with that method and that
// canonical path (CanonicalTarget).
func (r *RequestRule) Matches(method, path string) bool {
	return (len(r.Methods) == 0 || slices.Contains(r.Methods, method)) && r.Path.Matches(path)
}

// Compare orders rules: by what they say, and no two of an endpoint say the same.
func (r RequestRule) Compare(o RequestRule) int {
	switch {
	case r.Allow != o.Allow && r.Allow:
		return -1
	case r.Allow != o.Allow:
		return 1
	}
	if c := strings.Compare(string(r.Path), string(o.Path)); c != 0 {
		return c
	}
	return slices.Compare(r.Methods, o.Methods)
}

// Speaks reports whether what is sent over the endpoint's connections may be a
// request to a URL of that scheme, http or https.
func (e *Endpoint) Speaks(scheme string) bool {
	switch e.Protocol {
	case TLS:
		return scheme == "https"
	case HTTP:
		return scheme == "http"
	}
	return true
}

// Overlaps reports whether one connection, of whatever program, can be of both
// endpoints.
func (e *Endpoint) Overlaps(o *Endpoint) bool {
	return e.Host.Overlaps(o.Host) && slices.ContainsFunc(e.Ports, func(p uint16) bool { return slices.Contains(o.Ports, p) })
}

// Overlaps reports whether some host or address is of both patterns.
func (h HostPattern) Overlaps(o HostPattern) bool {
	switch {
	case h.Addr.IsValid() || o.Addr.IsValid():
		return h.Addr == o.Addr
	case h.Wildcard == Exact:
		return o.Matches(h.Name)
	case o.Wildcard == Exact:
		return h.Matches(o.Name)
	case h.Name == o.Name:
		return true
	case len(h.Name) < len(o.Name):
		h, o = o, h
	}
	// h has the longer suffix: its names lie below o's name by its own labels and one more.
	return o.Wildcard == ManyLabels && strings.HasSuffix(h.Name, "."+o.Name)
}

func (e Endpoint) String() string {
	var b strings.Builder
	b.WriteString("endpoint " + e.Host.String() + ":")
	for i, p := range e.Ports {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(p)))
	}
	for i, p := range e.Executables {
		if i == 0 {
			b.WriteString(" by")
		}
		b.WriteString(" " + p.String())
	}
	for i, p := range e.Addresses {
		if i == 0 {
			b.WriteString(" at")
		}
		b.WriteString(" " + p.String())
	}
	if e.Protocol != Web {
		b.WriteString(", " + string(e.Protocol))
	}
	for _, r := range e.Requests {
		b.WriteString("; " + r.String())
	}
	return b.String()
}

func (r RequestRule) String() string {
	methods := "any method"
	if len(r.Methods) > 0 {
		methods = strings.Join(r.Methods, ",")
	}
	return answerWord(r.Allow) + " " + methods + " " + string(r.Path)
}

func (r HostRule) String() string { return "deny " + r.Host.String() }

func (r LoopbackRule) String() string {
	if r.Host {
		return "loopback host"
	}
	return "loopback sandbox"
}
