package main

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
)

// changeWay is what to write for the other answer about a connection or a request. What
// it says to add was tried on the policy.
func changeWay(p *ir.Policy, b ir.Binding, q ir.Request) string {
	bound, err := p.Bind(b)
	if err != nil {
		return ""
	}
	d := ir.Decide(bound, q)
	if d.Allow {
		return denyWay(d, q)
	}
	switch rule := d.Rule.(type) {
	case *ir.HostRule:
		return fmt.Sprintf("to allow it, take %q out of deny in the network block", rule.Host)
	case *ir.RequestRule:
		return "to allow it, take that deny block away, or narrow its path or its methods"
	}
	found, err := propose.For(propose.Setting{Policy: p, Binding: b}, []propose.Access{{Request: q, Count: 1}})
	if err != nil || len(found) == 0 {
		return ""
	}
	if len(found[0].Add) == 0 {
		return "no line is proposed to allow it: " + found[0].Withheld
	}
	var lines []string
	for _, l := range found[0].Add {
		lines = append(lines, l.Line().String())
	}
	return "to allow it, " + strings.Join(lines, ", ")
}

// denyWay is how to deny what a rule allows.
func denyWay(d ir.Decision, q ir.Request) string {
	switch rule := d.Rule.(type) {
	case *ir.LoopbackRule:
		return `to deny it, take loopback = "host" out of the network block`
	case *ir.RequestRule:
		return fmt.Sprintf("to deny it, write a deny block with methods = [%q] and path = %q in the endpoint", q.Method, q.Target)
	case *ir.Endpoint:
		if q.Kind == ir.URLRequest {
			return fmt.Sprintf(`to deny it, give endpoint %q protocol = "rest" and allow blocks for the other requests`, rule.Name)
		}
		if rule.Host.Wildcard != ir.Exact {
			return fmt.Sprintf("to deny it, name %q in deny in the network block", q.Host)
		}
	}
	return fmt.Sprintf("to deny it, take %s out of the endpoint", q.Value())
}
