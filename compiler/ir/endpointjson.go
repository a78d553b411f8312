package ir

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// EndpointJSON is an Endpoint in a file; ir.json and egress.json share it.
type EndpointJSON struct {
	Name        string        `json:"name"`
	Host        string        `json:"host,omitempty"`
	Address     string        `json:"address,omitempty"`
	Ports       []uint16      `json:"ports"`
	Executables []string      `json:"executables,omitempty"`
	Addresses   []string      `json:"addresses,omitempty"`
	Protocol    Protocol      `json:"protocol,omitempty"`
	Requests    []RequestJSON `json:"requests,omitempty"`
	Origin      Origin        `json:"origin"`
}

// RequestJSON is a RequestRule in a file.
type RequestJSON struct {
	Answer  string   `json:"answer"` // allow or deny
	Methods []string `json:"methods,omitempty"`
	Path    string   `json:"path"`
	Origin  Origin   `json:"origin"`
}

// HostJSON is a HostRule in a file.
type HostJSON struct {
	Host   string `json:"host"`
	Origin Origin `json:"origin"`
}

// JSON is the endpoint as it stands in a file.
func (e Endpoint) JSON() EndpointJSON {
	out := EndpointJSON{Name: e.Name, Host: e.Host.String(), Ports: e.Ports, Protocol: e.Protocol, Origin: e.Origin}
	if e.Host.Addr.IsValid() {
		out.Host, out.Address = "", e.Host.Addr.String()
	}
	for _, x := range e.Executables {
		out.Executables = append(out.Executables, x.String())
	}
	for _, a := range e.Addresses {
		out.Addresses = append(out.Addresses, a.String())
	}
	for _, r := range e.Requests {
		out.Requests = append(out.Requests, RequestJSON{answerWord(r.Allow), r.Methods, string(r.Path), r.Origin})
	}
	return out
}

// Endpoint reads an endpoint back: what it accepts is well-formed by itself. Errors
// name the endpoint.
func (w EndpointJSON) Endpoint() (Endpoint, error) {
	e, err := w.read()
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", w.Name, err)
	}
	return e, nil
}

func (w EndpointJSON) read() (Endpoint, error) {
	host, err := parseHostPattern(w.Host, w.Address)
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{Name: w.Name, Host: host, Ports: w.Ports, Protocol: w.Protocol, Origin: w.Origin}
	for _, x := range w.Executables {
		path, err := canonicalPath(x)
		if err != nil {
			return Endpoint{}, err
		}
		e.Executables = append(e.Executables, path)
	}
	for _, a := range w.Addresses {
		prefix, err := netip.ParsePrefix(a)
		if err != nil || prefix.String() != a {
			return Endpoint{}, fmt.Errorf("%q is no canonical range of addresses", a)
		}
		e.Addresses = append(e.Addresses, prefix)
	}
	for _, r := range w.Requests {
		if r.Answer != answerWord(true) && r.Answer != answerWord(false) {
			return Endpoint{}, fmt.Errorf("a request is %q, not allow or deny", r.Answer)
		}
		path, err := ParsePathPattern(r.Path)
		if err != nil {
			return Endpoint{}, err
		}
		e.Requests = append(e.Requests, RequestRule{r.Answer == answerWord(true), r.Methods, path, r.Origin})
	}
	return e, nil
}

// check is what holds of every endpoint by itself.
func (e *Endpoint) check() error {
	switch {
	case !IsName(e.Name):
		return errors.New("its name is malformed")
	case (e.Host.Name == "") != e.Host.Addr.IsValid():
		return errors.New("it has a host or an address, one of them")
	case len(e.Ports) == 0 || e.Ports[0] == 0 || !isSet(e.Ports):
		return errors.New("ports are not a sorted set of 1 to 65535")
	case !slices.Contains(append(Protocols(), string(Web)), string(e.Protocol)):
		return fmt.Errorf("the protocol %q is unknown", e.Protocol)
	case e.Host.Addr.IsValid() && len(e.Addresses) > 0:
		return errors.New("an address lists itself and no others")
	}
	for i := 1; i < len(e.Executables); i++ {
		if e.Executables[i-1].Compare(e.Executables[i]) >= 0 {
			return fmt.Errorf("executables %s and %s are out of order or the same", e.Executables[i-1], e.Executables[i])
		}
	}
	for i, a := range e.Addresses {
		if !a.IsValid() || a != a.Masked() || a.Addr().Is4In6() || i > 0 && ComparePrefixes(e.Addresses[i-1], a) >= 0 {
			return fmt.Errorf("the addresses %s are no canonical range, out of order or stated twice", a)
		}
	}
	return e.checkRequests()
}

func (e *Endpoint) checkRequests() error {
	if e.Protocol != REST && len(e.Requests) > 0 {
		return fmt.Errorf("the protocol %q decides no requests", e.Protocol)
	}
	for i, r := range e.Requests {
		if !isSet(r.Methods) || !allMethods(r.Methods) {
			return fmt.Errorf("the methods %q are no sorted set of methods", r.Methods)
		}
		if _, err := ParsePathPattern(string(r.Path)); err != nil {
			return err
		}
		if i > 0 && e.Requests[i-1].Compare(r) >= 0 {
			return fmt.Errorf("the rules %s and %s are out of order or the same", e.Requests[i-1], r)
		}
	}
	if e.Protocol == REST && (len(e.Requests) == 0 || !e.Requests[0].Allow) {
		return errors.New("it allows no request")
	}
	return nil
}

// ComparePrefixes orders ranges of addresses by address, wider ones first.
func ComparePrefixes(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

// MaxMethodBytes is what the name of a method holds at most.
const MaxMethodBytes = 32

// IsMethod reports whether s names a method as policies state them: a token of
// letters A to Z and "-" (RFC 9110, section 9.1: names are case-sensitive, and those
// that are registered are of these). CONNECT is none, for it asks for a connection, nor is
// TRACE, which has a server repeat what it was sent, credentials included.
func IsMethod(s string) bool {
	return s != "" && len(s) <= MaxMethodBytes && s != "CONNECT" && s != "TRACE" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == "" && s[0] != '-'
}

func allMethods(list []string) bool {
	return !slices.ContainsFunc(list, func(m string) bool { return !IsMethod(m) })
}

// JSON is the rule as it stands in a file.
func (r HostRule) JSON() HostJSON { return HostJSON{r.Host.String(), r.Origin} }

// HostRule reads a rule back.
func (w HostJSON) HostRule() (HostRule, error) {
	host, err := parseHostPattern(w.Host, "")
	if err != nil {
		return HostRule{}, fmt.Errorf("denied host: %w", err)
	}
	return HostRule{host, w.Origin}, nil
}

// parseHostPattern reads a pattern that must already be canonical.
func parseHostPattern(host, address string) (HostPattern, error) {
	if address != "" {
		addr, err := netip.ParseAddr(address)
		if err != nil || host != "" || addr.String() != address || addr.Is4In6() || addr.Zone() != "" {
			return HostPattern{}, fmt.Errorf("%q is no canonical address", address)
		}
		return HostPattern{Addr: addr}, nil
	}
	p := HostPattern{Name: host}
	if name, ok := strings.CutPrefix(host, "**."); ok {
		p = HostPattern{Wildcard: ManyLabels, Name: name}
	} else if name, ok := strings.CutPrefix(host, "*."); ok {
		p = HostPattern{Wildcard: OneLabel, Name: name}
	}
	name, err := CanonicalHost(p.Name)
	if err == nil && name != p.Name {
		err = fmt.Errorf("host %q is not canonical; %q is", p.Name, name)
	}
	return p, err
}
