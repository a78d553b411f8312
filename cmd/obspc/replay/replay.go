// Package replay asks a policy, as it is now, what runs asked their proxies: recorded
// connections and requests are decided again, and what comes out otherwise is listed.
// Its one rule: what evidence does not tell is not guessed. Where an answer depends on
// it (which program asked, which requests a connection carried), the answer is unknown,
// and counts as changed.
//
// The answer is ir.Decide's, and compiler/addresses' for the address that was recorded;
// targets/egress names what a denial fails at. Nothing is resolved or connected to.
package replay

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
	"github.com/obspc/obspc/targets/egress"
)

// Answers of a policy, and what is said where it has none.
const (
	Allow   = "allow"
	Deny    = "deny"
	Unknown = "unknown"
)

// File is the evidence of one run, decided again. Changes are in the order of requests;
// Skipped counts what was no question to a policy (a limit of the proxy, no request),
// Untold decisions that the run counted and did not record.
type File struct {
	Name     string
	Policy   string
	Recorded int
	Same     int
	Changed  int
	Unknown  int
	Skipped  int
	Untold   int64
	Changes  []Change
}

// Change is one question whose answer is not what it was, as often as Count says.
type Change struct {
	Request  ir.Request
	Address  netip.Addr // that was connected to or refused; invalid where there was none
	Count    int
	Old, New Answer
	Note     string // why the answer is not known, or what else to know
}

// Answer is what was or is decided. Of the old one the rule's text is not known.
type Answer struct {
	Decision  string
	Statement ir.Origin
	Rule      ir.Rule
	Dimension string // what a denial fails at
	Reason    string
}

// replayed is a policy, bound as one run bound it.
type replayed struct {
	decider *ir.Decider
	table   *egress.Table
	// looked are the places where the run decided requests.
	looked map[egress.Peer]bool
}

// Run decides the recorded questions again. Err is about the evidence: another policy's,
// or a binding that is none.
func Run(name string, e *runtime.Evidence, p *ir.Policy) (*File, error) {
	if e.Policy != p.Name {
		return nil, fmt.Errorf("it is evidence of policy %q, not of %q", e.Policy, p.Name)
	}
	b, err := e.Bound()
	if err != nil {
		return nil, err
	}
	out := &File{Name: name, Policy: p.Name}
	if e.Egress == nil {
		return out, nil
	}
	bound := *p
	bound.Endpoints = slices.Clone(p.Endpoints)
	for i := range bound.Endpoints {
		bound.Endpoints[i].Executables = b.Paths(bound.Endpoints[i].Executables)
	}
	r := &replayed{ir.NewDecider(&bound), egress.NewTable(egress.Compile(&bound)), map[egress.Peer]bool{}}
	out.Untold = e.Egress.Untold
	requests := make([]ir.Request, len(e.Egress.Events))
	for i := range e.Egress.Events {
		event := &e.Egress.Events[i]
		if asksNothing(event) {
			continue
		}
		if requests[i], err = event.Request(); err != nil {
			return nil, fmt.Errorf("its decision %d is malformed: %w", i+1, err)
		}
		if q := requests[i]; q.Kind == ir.URLRequest {
			r.looked[peer(q)] = true
		}
	}
	for i := range e.Egress.Events {
		if out.Recorded++; requests[i].Kind == "" {
			out.Skipped++
			continue
		}
		r.compare(out, &e.Egress.Events[i], requests[i])
	}
	slices.SortStableFunc(out.Changes, func(a, b Change) int { return cmp.Compare(a.Request.String(), b.Request.String()) })
	return out, nil
}

// asksNothing reports a decision that was not the policy's.
func asksNothing(e *runtime.EgressEvent) bool {
	return e.Decision == proxy.Denied && (e.Dimension == "request" || e.Dimension == "limit" || e.Dimension == "credential")
}

func peer(q ir.Request) egress.Peer { return egress.Peer{Host: q.Host, Addr: q.Addr, Port: q.Port} }

// compare counts one recorded decision, and notes it if it would be another now.
func (r *replayed) compare(out *File, e *runtime.EgressEvent, q ir.Request) {
	c := Change{Request: q, Count: 1, Old: Answer{Decision: Allow, Statement: ir.Origin(e.Statement), Dimension: e.Dimension, Reason: e.Reason}}
	if e.Decision == proxy.Denied {
		c.Old.Decision = Deny
	}
	if addr, err := netip.ParseAddr(e.Address); err == nil {
		c.Address = addr.Unmap()
	}
	c.New, c.Note = r.decide(e, q, c.Address)
	switch c.New.Decision {
	case c.Old.Decision:
		out.Same++
		return
	case Unknown:
		out.Unknown++
	default:
		out.Changed++
	}
	for i := range out.Changes {
		if same := &out.Changes[i]; same.Request == c.Request && same.Address == c.Address && same.Old == c.Old {
			same.Count++
			return
		}
	}
	out.Changes = append(out.Changes, c)
}

// decide is the policy's answer now.
func (r *replayed) decide(e *runtime.EgressEvent, q ir.Request, at netip.Addr) (Answer, string) {
	d := r.decider.Decide(q)
	to, who := peer(q), egress.Client{Known: q.HasBy, Path: q.By}
	if d.Rule != nil && d.Rule.From() == "" {
		d.Rule = nil
	}
	out := Answer{Decision: Deny, Rule: d.Rule}
	if d.Rule != nil {
		out.Statement = d.Rule.From()
	}
	if !d.Allow {
		a := r.table.Connect(to, who)
		if q.Kind == ir.URLRequest && a.Allow {
			a = r.table.Request(to, who, q.Scheme, q.Method, q.Target)
		}
		out.Dimension, out.Statement, out.Reason = string(a.Failed), a.Rule, a.Reason(to)
		if a.Failed == egress.Program && !q.HasBy && e.Dimension != string(egress.Program) {
			out.Decision = Unknown
			return out, "endpoints list programs now, and which one asked is not recorded"
		}
		return out, ""
	}
	endpoint := r.table.Connect(to, who).Endpoint
	if endpoint == nil { // the machine's loopback
		out.Decision = Allow
		return out, ""
	}
	if special, ok := admitted(endpoint, q, at); !ok {
		out.Dimension, out.Reason = string(egress.Address), fmt.Sprintf("%s is %s (%s), which the endpoint does not open", at, special.Kind, special.Prefix)
		return out, ""
	}
	switch {
	case q.Kind == ir.URLRequest:
	case e.Dimension == string(egress.Protocol) && endpoint.Protocol != ir.TCP:
		out.Dimension, out.Reason = e.Dimension, e.Reason
		return out, ""
	case endpoint.Protocol == ir.REST && !r.looked[to]:
		out.Decision = Unknown
		return out, "the endpoint decides requests, and which ones this connection was for is not recorded"
	}
	out.Decision, out.Reason = Allow, egress.Answer{Allow: true, Rule: out.Statement}.Reason(to)
	if !at.IsValid() {
		return out, "its name was not resolved then, so its addresses are not judged"
	}
	return out, ""
}

// admitted judges the recorded address as the proxy does.
func admitted(e *ir.Endpoint, q ir.Request, at netip.Addr) (addresses.Range, bool) {
	if !at.IsValid() {
		return addresses.Range{}, true
	}
	special, ok := addresses.Admitted(at, e.Addresses)
	return special, ok || q.Addr.IsValid() && q.Addr == at && !special.Never
}
