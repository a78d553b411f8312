package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

func (b *block) decodeNetwork(out *Body) {
	n := b.single("network")
	if n == nil {
		return
	}
	out.Network = Network{
		Unix:     n.choice("unix", "none", "visible"),
		Loopback: n.choice("loopback", "sandbox", "host"),
		Deny:     n.strs("deny"),
		Range:    n.header,
	}
	taken := b.p.names()
	for _, hb := range n.all("endpoint") {
		e := b.p.open(hb)
		e.checkName(identifierName.MatchString, identifierHelp)
		taken.take("endpoint", e.name)
		if e.repeats {
			continue
		}
		out.Network.Endpoints = append(out.Network.Endpoints, e.endpoint())
	}
}

func (b *block) endpoint() *Endpoint {
	e := &Endpoint{
		Name:        b.name,
		Range:       b.header,
		Host:        b.str("host"),
		Address:     b.str("address"),
		Ports:       b.ports(),
		Executables: b.paths("executables"),
		Addresses:   b.strs("addresses"),
		Protocol:    b.choice("protocol", "tls", "http", "tcp", "rest"),
	}
	for _, hb := range b.blocks {
		e.Requests = append(e.Requests, b.p.openAs(hb, "endpoint "+hb.Type).requestRule(hb.Type == "allow"))
	}
	if a := b.attrs["ports"]; a != nil {
		e.PortsRange = at(a.NameRange)
	}
	if a := b.attrs["executables"]; a != nil {
		e.ExecutablesRange = at(a.NameRange)
	}
	host, address := b.attrs["host"], b.attrs["address"]
	switch {
	case host == nil && address == nil:
		b.p.add(missingAttribute(b.header, "endpoint", "host", `write host = "api.example.com", or address = "10.2.0.7"`))
	case host != nil && address != nil:
		b.p.add(hostAndAddress(at(address.NameRange), at(host.NameRange)))
	}
	return e
}

func (b *block) requestRule(allow bool) RequestRule {
	r := RequestRule{Allow: allow, Methods: b.strs("methods"), Path: b.str("path"), Range: b.header}
	if b.attrs["methods"] == nil && b.attrs["path"] == nil {
		b.p.add(requestEmpty(r))
	}
	return r
}

func (b *block) ports() []Integer {
	if b.attrs["ports"] == nil {
		b.p.add(missingAttribute(b.header, "endpoint", "ports", "write ports = [443]"))
		return nil
	}
	items := b.items("ports", elsewhere)
	if items == nil {
		return nil
	}
	if e := b.attrs["ports"].Expr; len(items) == 0 && !holdsElements(e) {
		b.p.add(portsEmpty(at(e.Range())))
	}
	out := []Integer{}
	for _, it := range items {
		n, ok := b.p.integer(it, "a port")
		if ok && (n.Value < 1 || n.Value > 65535) {
			b.p.add(portRange(n))
			ok = false
		}
		if ok {
			out = append(out, n)
		}
	}
	return out
}

// holdsElements reports whether a literal list has elements, faulty ones
// included: such a list is not empty.
func holdsElements(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.TupleConsExpr)
	return ok && len(t.Exprs) > 0
}

// limit is one attribute of a limits block: a size or a time as text, or a whole
// number.
func (b *block) limit(a *hclsyntax.Attribute) (Limit, bool) {
	l := Limit{Name: String{a.Name, at(a.NameRange)}}
	it, ok := b.item(a.Name, elsewhere)
	if !ok {
		return l, false
	}
	plain, _ := it.value.Unmark()
	if !plain.IsNull() && plain.Type() == cty.Number {
		n, ok := b.p.integer(it, a.Name)
		l.Number = &n
		return l, ok
	}
	l.Value, ok = b.p.str(it, a.Name)
	return l, ok
}

func hostAndAddress(r, host diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "host-and-address",
		At:      r,
		Message: "an endpoint has both a host and an address",
		Help:    "keep one of them, or write two endpoints",
		Related: []diag.Related{{At: host, Message: "the host stands here"}},
	}
}

// requestEmpty reports a block that reads as "nothing" and would be everything.
func requestEmpty(r RequestRule) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "request-empty",
		At:      r.Range,
		Message: "a deny block names neither methods nor a path",
		Help:    `write path = "/**" for every request`,
	}
	if r.Allow {
		d.Message = "an allow block names neither methods nor a path"
	}
	return d
}

func portRange(n Integer) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "port-range",
		At:      n.Range,
		Message: fmt.Sprintf("port %d does not exist", n.Value),
		Help:    "write a number from 1 to 65535",
	}
}

func portsEmpty(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "ports-empty",
		At:      r,
		Message: "an endpoint has no port",
		Help:    "write ports = [443]",
	}
}
