// Package egress turns the endpoints of a policy into what the proxy decides by: which
// hosts and addresses may be connected to, on which ports, by which programs, in which
// protocol, and which requests may be sent there.
//
// Its one rule: there is one Table, made of the verified bytes of egress.json, and
// everything that asks for a way out of a sandbox is answered by it. It resolves no
// name and dials nothing; that is the proxy's, which asks again with each address.
// It shares types with package ir and none of its decisions, so that the two can be
// held against each other.
package egress

import (
	"errors"
	"fmt"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of egress.json.
const Schema = "obspc.egress/v1"

// Rules is what egress.json says. Endpoints are sorted by name, Denied by pattern.
type Rules struct {
	Policy    string
	Endpoints []ir.Endpoint
	Denied    []ir.HostRule
}

// Wanted reports whether the policy has a way out at all; one that has none has no
// egress.json and no proxy.
func Wanted(p *ir.Policy) bool { return len(p.Endpoints) > 0 }

// Compile takes from the policy what the proxy decides.
func Compile(p *ir.Policy) *Rules {
	return &Rules{Policy: p.Name, Endpoints: p.Endpoints, Denied: p.DeniedHosts}
}

type wireRules struct {
	Schema    string            `json:"schema"`
	Policy    string            `json:"policy"`
	Endpoints []ir.EndpointJSON `json:"endpoints"`
	Denied    []ir.HostJSON     `json:"deniedHosts,omitempty"`
}

// JSON is egress.json: canonical, so the same rules have the same bytes.
func (r *Rules) JSON() []byte {
	w := wireRules{Schema: Schema, Policy: r.Policy}
	for _, e := range r.Endpoints {
		w.Endpoints = append(w.Endpoints, e.JSON())
	}
	for _, h := range r.Denied {
		w.Denied = append(w.Denied, h.JSON())
	}
	data, err := canon.Marshal(w)
	if err != nil {
		diag.Bug("egress.json of %s: %v", r.Policy, err)
	}
	return data
}

// Parse reads egress.json strictly: what it accepts is what JSON writes.
func Parse(data []byte) (*Rules, error) {
	var w wireRules
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("egress.json: %w", err)
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("egress.json: schema is %q, this version reads %q", w.Schema, Schema)
	}
	r := &Rules{Policy: w.Policy}
	if err := r.fill(w); err != nil {
		return nil, fmt.Errorf("egress.json: %w", err)
	}
	return r, nil
}

func (r *Rules) fill(w wireRules) error {
	if len(w.Endpoints) == 0 {
		return errors.New("it has no endpoint")
	}
	for i, we := range w.Endpoints {
		e, err := we.Endpoint()
		if err != nil {
			return err
		}
		if i > 0 && r.Endpoints[i-1].Name >= e.Name {
			return fmt.Errorf("endpoints %q and %q are out of order or the same", r.Endpoints[i-1].Name, e.Name)
		}
		r.Endpoints = append(r.Endpoints, e)
	}
	for i, wh := range w.Denied {
		h, err := wh.HostRule()
		if err != nil {
			return err
		}
		if i > 0 && r.Denied[i-1].Host.String() >= h.Host.String() {
			return fmt.Errorf("denied hosts %s and %s are out of order or the same", r.Denied[i-1].Host, h.Host)
		}
		r.Denied = append(r.Denied, h)
	}
	return nil
}

// Bind is the rules with the slots in the programs of endpoints replaced by their
// paths.
func (r *Rules) Bind(b ir.Binding) *Rules {
	out := &Rules{Policy: r.Policy, Denied: r.Denied}
	for _, e := range r.Endpoints {
		e.Executables = b.Paths(e.Executables)
		out.Endpoints = append(out.Endpoints, e)
	}
	return out
}
