package seatbelt

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestNetwork: what can be reached and listened at, on every release, beside what
// TestProxyIsNeeded and the proof say.
func TestNetwork(t *testing.T) {
	endpoints := statements("read=[/private/var/run]")
	endpoints.Unix = ir.UnixRule{Visible: true, Origin: "p/network.unix"}
	endpoints.Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}}
	loopback := *endpoints
	loopback.Endpoints, loopback.Loopback = nil, ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
	closed := *endpoints
	closed.Endpoints = nil
	for _, tt := range []struct {
		op, word, value             string
		endpoints, loopback, closed bool
	}{
		{"network-outbound", "remote", "tcp4 127.0.0.1:49152", true, true, false},
		{"network-outbound", "remote", "tcp6 [::1]:49152", false, true, false},
		{"network-outbound", "remote", "tcp4 127.0.0.1:5432", false, true, false},
		{"network-outbound", "remote", "udp4 127.0.0.1:49152", false, false, false},
		{"network-outbound", "remote", "tcp4 192.0.2.1:49152", false, false, false},
		{"network-outbound", "remote", "udp4 192.0.2.1:53", false, false, false},
		{"network-bind", "local", "tcp4 127.0.0.1:5432", false, true, false},
		{"network-inbound", "local", "tcp6 [::1]:5432", false, true, false},
		{"network-bind", "local", "tcp4 192.0.2.1:5432", false, false, false},
		{"network-inbound", "local", "udp4 127.0.0.1:5432", false, false, false},
		{"system-socket", "socket-domain", "AF_INET", true, true, false},
		{"system-socket", "socket-domain", "AF_INET6", false, true, false},
		{"system-socket", "socket-domain", "AF_SYSTEM", false, false, false},
		{"socket-ioctl", "socket-domain", "AF_INET", true, true, false},
	} {
		event := event{Words: map[string]string{tt.word: tt.value, "socket-type": "SOCK_STREAM"}}
		for p, want := range map[*ir.Policy]bool{endpoints: tt.endpoints, &loopback: tt.loopback, &closed: tt.closed} {
			profile, err := Compile(p)
			if err != nil {
				t.Fatal(err)
			}
			for r := range numReleases {
				m, err := load(profile, release(r), map[string]string{ProxyParameter: "49152"})
				if err != nil {
					t.Fatal(err)
				}
				if got := m.allows(tt.op, event); got != want {
					t.Errorf("%s: %s of %s is %v, want %v, in\n%s", m.release, tt.op, tt.value, got, want, profile)
				}
				event.Words["socket-type"] = "SOCK_DGRAM"
				if tt.op == "system-socket" && m.allows(tt.op, event) {
					t.Errorf("%s: datagrams of %s", m.release, tt.value)
				}
				event.Words["socket-type"] = "SOCK_STREAM"
			}
		}
	}
}
