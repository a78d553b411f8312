package ir

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// defaultPorts are the ports of URLs that name none (RFC 9110, section 4.2).
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// authority is the host and port of a request, IPv6 in brackets.
func (r Request) authority() string {
	if r.Addr.IsValid() {
		return netip.AddrPortFrom(r.Addr, r.Port).String()
	}
	return r.Host + ":" + strconv.Itoa(int(r.Port))
}

// parseURL reads METHOD and an absolute URL (RFC 9110, section 4.2) as a client would
// send them. A query is read and not compared.
func parseURL(r Request, method, url string) (Request, error) {
	if method == "CONNECT" || method == "TRACE" {
		return Request{}, fmt.Errorf("%s is no request that a server decides; ask connect HOST:PORT", method)
	}
	if !IsMethod(method) {
		return Request{}, fmt.Errorf("%q is no method; write one in capital letters, as in GET", method)
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if _, known := defaultPorts[scheme]; !ok || !known {
		return Request{}, fmt.Errorf("%q wants a scheme, as in https://api.example.com/", url)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, target := rest[:end], rest[end:]
	if strings.Contains(authority, "@") {
		return Request{}, fmt.Errorf("%q names a user; write the host alone", url)
	}
	if colon := strings.LastIndexByte(authority, ':'); colon <= strings.LastIndexByte(authority, ']') {
		authority += ":" + defaultPorts[scheme]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	r, err := parseAuthority(r, authority)
	if err != nil {
		return Request{}, err
	}
	r.Method, r.Scheme = method, scheme
	r.Target, _, err = CanonicalTarget(target)
	return r, err
}
