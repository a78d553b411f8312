package egress

import (
	"net/netip"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestEndsTLS(t *testing.T) {
	for _, host := range []ir.HostPattern{
		{Name: "api.example.com"}, {Wildcard: ir.OneLabel, Name: "example.com"}, {Wildcard: ir.ManyLabels, Name: "a.b.example.com"}, {Addr: netip.MustParseAddr("10.2.0.7")},
	} {
		for _, protocol := range []ir.Protocol{ir.Web, ir.TLS, ir.HTTP, ir.TCP, ir.REST} {
			table := NewTable(&Rules{Endpoints: []ir.Endpoint{
				{Name: "a", Host: ir.HostPattern{Name: "example.com"}, Ports: []uint16{443}},
				{Name: "b", Host: host, Ports: []uint16{443}, Protocol: protocol},
			}})
			if got := table.EndsTLS(); got != (protocol == ir.REST) {
				t.Errorf("EndsTLS() of %s in %q = %v", host, protocol, got)
			}
		}
	}
}
