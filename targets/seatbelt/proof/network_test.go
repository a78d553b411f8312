package proof

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestNetwork: a profile that reaches more of the network than the policy says, less, or
// by other ways is refused; the profile as it was compiled passes.
func TestNetwork(t *testing.T) {
	endpoint := ir.Endpoint{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}
	policy := func(endpoints, loopback bool) *ir.Policy {
		p := stated(t, "read /private/var/run")
		p.Unix = ir.UnixRule{Visible: true, Origin: "p/network.unix"}
		if endpoints {
			p.Endpoints = []ir.Endpoint{endpoint}
		}
		if loopback {
			p.Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
		}
		return p
	}
	const (
		proxy  = `(allow network-outbound (remote tcp4 (string-append "localhost:" (param "PROXY"))))`
		all    = `(allow network-outbound (remote tcp "localhost:*"))`
		listen = `(allow network-bind network-inbound (local tcp "localhost:*"))`
		inet   = `(require-all (socket-domain AF_INET) (socket-type SOCK_STREAM))`
		inet6  = `(require-all (socket-domain AF_INET6) (socket-type SOCK_STREAM))`
		unix   = `(deny network-outbound (remote ip "*:*")`
		last   = "\x00" // behind the profile
	)
	for _, tt := range []struct {
		name                string
		endpoints, loopback bool
		from, to            string
		want                string
	}{
		{"no way out", true, false, proxy, `(allow process-fork)`, "it does not open the port of the proxy, by which endpoint a.test:443 (p/network.endpoint.e) is reached"},
		{"a way out of nothing", false, false, last, proxy, "it opens the port of a proxy, and the policy has no endpoint"},
		{"a way out of nothing beside the loopback", false, true, last, proxy, "the policy has no endpoint"},
		{"no way out beside the loopback", true, true, proxy, `(allow process-fork)`, "it does not open the port of the proxy"},
		{"the way out closed again", true, false, last, unix + ` (with message "obspc p p/network.unix"))`, "the port of the proxy cannot be reached"},
		{"a way out for the configuration alone", true, false, proxy, `(when (param "CONFIG") ` + proxy + ")", "the port of the proxy cannot be reached"},
		{"a fixed port", true, false, proxy, strings.Replace(proxy, `(string-append "localhost:" (param "PROXY"))`, `"localhost:3128"`, 1), "an address that obspc does not write"},
		{"every port", true, false, proxy, all, "does not open the port of the proxy"},
		{"every port beside it", true, false, last, all, "the machine's loopback may be reached"},
		{"every host", true, false, proxy, strings.Replace(proxy, "localhost:", "*:", 1), "an address that obspc does not write"},
		{"every address", true, false, last, `(allow network-outbound (remote ip "*:*"))`, "an address of a network may be reached"},
		{"another parameter", true, false, proxy, strings.Replace(proxy, "PROXY", "HOME", 1), "an address that obspc does not write"},
		{"another protocol", true, false, proxy, strings.Replace(proxy, "tcp4", "udp", 1), "an address that obspc does not write"},
		{"both families", true, false, proxy, strings.Replace(proxy, "tcp4", "tcp", 1), "an address that obspc does not write"},
		{"its own end", true, false, proxy, strings.Replace(proxy, "remote", "local", 1), "an address that obspc does not write"},
		{"its own end of the loopback", true, true, all, `(allow network-outbound (local tcp "localhost:*"))`, "network-outbound does not take"},
		{"a listener", true, false, last, listen, `network-bind of macOS 10.15: the policy has no statement that allows "localhost:*"`},
		{"a bound socket", true, false, last, `(allow network-bind (local tcp "localhost:*"))`, "network-bind"},
		{"an open door", true, true, last, `(allow network-inbound)`, "network-inbound of macOS 10.15: everything is allowed"},
		{"a listener that cannot bind", true, true, listen, `(allow network-inbound (local tcp "localhost:*"))`, "the policy allows \"localhost:*\" by p/network.loopback, and the profile does not"},
		{"a listener that cannot listen", true, true, listen, `(allow network-bind (local tcp "localhost:*"))`, "network-inbound"},
		{"a listener everywhere", true, true, listen, `(allow network-bind network-inbound (local tcp "*:*"))`, "an address that obspc does not write"},
		{"no loopback", true, true, all, `(allow process-fork)`, "the machine's loopback cannot be reached"},
		{"no sockets", true, false, inet, `(socket-domain AF_UNIX)`, `the policy allows "AF_INET SOCK_STREAM" by p/network.endpoint.e, and the profile does not`},
		{"sockets of IPv6", true, false, last, "(allow system-socket " + inet6 + ")", `the policy has no statement that allows "AF_INET6 SOCK_STREAM"`},
		{"no sockets of IPv6", true, true, " " + inet6, "", `the policy allows "AF_INET6 SOCK_STREAM"`},
		{"datagrams", true, false, inet, `(socket-domain AF_INET)`, `the policy has no statement that allows "AF_INET"`},
		{"datagrams alone", true, false, "SOCK_STREAM", "SOCK_DGRAM", "other than a family and SOCK_STREAM"},
		{"either of both", true, false, inet, strings.Replace(inet, "require-all", "require-any", 1), "no filter that obspc writes"},
		{"sockets closed again", true, false, last, `(deny system-socket (socket-domain AF_INET) (with message "obspc p"))`, `the policy allows "AF_INET SOCK_STREAM"`},
		{"a route", true, false, last, `(allow system-socket (socket-domain AF_ROUTE))`, "socket-domain of something"},
		{"no options", true, false, "socket-option-get (socket-domain AF_INET)", "socket-option-get (socket-domain AF_UNIX)", `the policy allows "AF_INET" by p/network.endpoint.e`},
		{"options of IPv6", true, false, last, `(allow socket-ioctl (socket-domain AF_INET6))`, `the policy has no statement that allows "AF_INET6"`},
		{"a stream in another operation", true, false, last, "(allow socket-ioctl " + inet + ")", "socket-ioctl does not take"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(tt.endpoints, tt.loopback)
			profile := compiled(t, p) + last
			if !strings.Contains(profile, tt.from) {
				t.Fatalf("the profile has no %s\n%s", tt.from, profile)
			}
			changed := strings.Replace(strings.Replace(profile, tt.from, tt.to, 1), last, "", 1)
			if err := Check(p, []byte(changed)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want %q", err, tt.want)
			}
			if err := Check(p, []byte(strings.Replace(profile, last, "", 1))); err != nil {
				t.Errorf("Check() of the profile as it was = %v", err)
			}
		})
	}
}

// TestLocalhostDenied: what one statement opens by address and another denies by name is
// refused, whatever the profile.
func TestLocalhostDenied(t *testing.T) {
	p := stated(t)
	p.Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
	p.DeniedHosts = []ir.HostRule{{Host: ir.HostPattern{Name: "localhost"}, Origin: "p/network.deny[0]"}}
	const want = "deny localhost (p/network.deny[0]) denies the name of what loopback host (p/network.loopback) opens"
	if err := Check(p, []byte(compiled(t, p))); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Check() = %v, want %q", err, want)
	}
	p.DeniedHosts[0].Host.Name = "localhost.example.com"
	if err := Check(p, []byte(compiled(t, p))); err != nil {
		t.Errorf("Check() of another name = %v", err)
	}
}
