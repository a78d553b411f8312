package compiler

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// endpoints places every endpoint: host or address, ports, programs.
func endpoints(c *compilation) {
	for _, b := range c.bodies {
		for _, e := range b.source.Network.Endpoints {
			c.endpoint(b, e)
		}
	}
}

func (c *compilation) endpoint(b *body, e *lang.Endpoint) {
	named, addressed := !e.Host.Range.IsZero(), !e.Address.Range.IsZero()
	if !c.promised(named != addressed && len(e.Ports) > 0, "an endpoint without host, address or ports", e.Range) {
		return
	}
	out := ir.Endpoint{Name: e.Name.Value}
	var fault *diag.Diagnostic
	if named {
		out.Host, fault = host(e.Host)
	} else {
		out.Host, fault = address(e.Address)
	}
	whole := fault == nil
	if fault != nil {
		c.find(b, *fault)
	}
	for _, p := range e.Ports {
		if c.promised(p.Value >= 1 && p.Value <= 65535, "a port that is none", p.Range) {
			out.Ports = append(out.Ports, uint16(p.Value))
		}
	}
	slices.Sort(out.Ports)
	out.Ports = slices.Compact(out.Ports)
	if len(e.Executables) == 0 && !e.ExecutablesRange.IsZero() && !c.config.Partial {
		c.find(b, executablesEmpty(e))
		whole = false
	}
	for _, p := range e.Executables {
		at, ok := c.program(b, p)
		whole = whole && ok
		out.Executables = append(out.Executables, at)
	}
	slices.SortFunc(out.Executables, ir.Path.Compare)
	out.Executables = slices.Compact(out.Executables)
	out.Protocol = ir.Protocol(e.Protocol.Value)
	var ok bool
	out.Addresses, ok = c.addresses(b, e)
	whole = whole && ok
	inner, ok := c.requests(b, e, &out)
	if whole && ok {
		b.add(key{kind: endpointKind, name: out.Name}, out, "network.endpoint."+out.Name, e.Range)
		b.statements[len(b.statements)-1].inner = inner
	}
}

// executablesEmpty reports a list that reads as "nobody" and must not become
// "anybody".
func executablesEmpty(e *lang.Endpoint) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "executables-empty",
		At:      e.ExecutablesRange,
		Message: fmt.Sprintf("endpoint %q names no program that may use it", e.Name.Value),
		Help:    "name the programs, remove the attribute for any program, or remove the endpoint",
	}
}
