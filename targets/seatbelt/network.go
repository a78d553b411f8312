package seatbelt

import (
	"github.com/obspc/obspc/compiler/ir"
)

// Filters of what a profile may let be reached. The language knows no host but * and
// localhost (127.0.0.1 and ::1), so a profile opens the port of the proxy, and the
// proxy decides where to. tcp4: a socket of IPv6 would reach whatever listens at ::1 on
// the same port.
const (
	toProxy    = `(remote tcp4 (string-append "localhost:" (param "` + ProxyParameter + `")))`
	toLoopback = `(remote tcp "localhost:*")`
	atLoopback = `(local tcp "localhost:*")`
)

// stream is a filter of TCP's sockets: nothing that sends datagrams is opened. Both
// conditions must hold; two filters in a row would be either.
func stream(domain string) string {
	return "(require-all (socket-domain " + domain + ") (socket-type SOCK_STREAM))"
}

// network writes what endpoints need, and loopback = "host": connections to one port,
// or to all of the machine's loopback, and for the latter listening there (bind(2) is
// network-bind, listen(2) and accept(2) are network-inbound). It stands behind the
// rules about Unix sockets, which deny every address.
//
// Programs set options of their sockets (SO_ERROR tells whether a connection came
// about), and ioctl(2) makes a socket that does not block: O_NONBLOCK of fcntl(2) is
// asked about as FIONBIO too (soo_ioctl in bsd/kern/sys_socket.c of xnu). Names are
// resolved by nobody: mDNSResponder's socket and services stay closed.
func (w *printer) network(p *ir.Policy) {
	domains, origin := []string{"AF_INET"}, p.Loopback.Origin
	switch {
	case p.Loopback.Host:
		domains = append(domains, "AF_INET6")
	case len(p.Endpoints) > 0:
		origin = p.Endpoints[0].Origin
	default:
		return
	}
	w.section("sockets of TCP")
	var open, have []string
	for _, d := range domains {
		open, have = append(open, stream(d)), append(have, "(socket-domain "+d+")")
	}
	allow := func(o ir.Origin, filters []string, operations ...string) {
		w.add(rule{Allow: true, Operations: operations, Filters: filters, Origin: o})
	}
	allow(origin, open, "system-socket")
	allow(origin, have, "socket-ioctl", "socket-option-get", "socket-option-set")
	if len(p.Endpoints) > 0 {
		w.section("the way out of every endpoint: the port of the proxy")
		allow(p.Endpoints[0].Origin, []string{toProxy}, "network-outbound")
	}
	if p.Loopback.Host {
		w.section("the machine's loopback")
		allow(p.Loopback.Origin, []string{toLoopback}, "network-outbound")
		allow(p.Loopback.Origin, []string{atLoopback}, "network-bind", "network-inbound")
	}
}
