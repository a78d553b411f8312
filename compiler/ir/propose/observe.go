package propose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// ObservedSchema names the format of Observed in JSON.
const ObservedSchema = "obspc.observe/v1"

// Asked is a connection or a request that the proxy of a run denied, as often as Count
// says. Dimension and Reason are the proxy's (targets/egress, runtime/proxy); Address is
// what a name led to, where it was that. A request that could not be read has no Kind.
type Asked struct {
	Request   ir.Request
	Program   string
	Dimension string
	Reason    string
	Address   netip.Addr
	Count     int
}

// Observed is what a run asked for on its way out and was denied, and what an author
// may add: what allows least first, what is not proposed last.
type Observed struct {
	Schema string   `json:"schema"`
	Policy string   `json:"policy"`
	Denied []Turned `json:"denied"`
	Untold int64    `json:"untold"` // decisions that were too many to be told one by one
	HCL    string   `json:"hcl"`    // all that is proposed, each once
}

// Turned is one denial with the proxy's reason, the statement that decides now or is
// nearest (nil: none is), and either the lines that turn it or why there are none.
type Turned struct {
	Query     Query   `json:"query"`
	Program   string  `json:"program"`
	Count     int     `json:"count"`
	Dimension string  `json:"dimension"`
	Reason    string  `json:"reason"`
	Rule      *RuleAt `json:"rule"`
	Add       []Line  `json:"add"`
	Withheld  string  `json:"withheld,omitempty"`
}

// Observe finds what would allow each denial, in the manner of For. Place says where a
// statement stands, false when that is not known. The error is that of a binding which
// is not admissible.
func Observe(s Setting, list []Asked, place func(ir.Origin) (file string, line int, ok bool)) (*Observed, error) {
	p, err := newProposer(s)
	if err != nil {
		return nil, err
	}
	type observed struct {
		Finding
		asked Asked
	}
	var all []observed
	for _, a := range list {
		f := Finding{Access: Access{Request: a.Request, Program: a.Program, Count: a.Count}, Decision: p.decider.Decide(a.Request)}
		if f.Withheld = notThePolicys(a, f.Decision); f.Withheld == "" {
			f = p.finding(f.Access, f.Decision)
		}
		all = append(all, observed{f, a})
	}
	slices.SortStableFunc(all, func(a, b observed) int {
		if c := compareWidth(a.Finding, b.Finding); c != 0 {
			return c
		}
		return compare(a.Access, b.Access)
	})
	found := make([]Finding, len(all))
	for i, a := range all {
		found[i] = a.Finding
	}
	p.beside(found)
	p.keep(found)
	out := &Observed{Schema: ObservedSchema, Policy: s.Policy.Name, Denied: []Turned{}, HCL: HCL(Merge(found))}
	for i, f := range found {
		out.add(p, f, all[i].asked, place)
	}
	return out, nil
}

func (o *Observed) add(p *proposer, f Finding, a Asked, place func(ir.Origin) (file string, line int, ok bool)) {
	u := Turned{Program: a.Program, Count: a.Count, Dimension: a.Dimension, Reason: a.Reason, Withheld: f.Withheld, Add: []Line{}}
	if a.Request.Kind != "" {
		u.Query = TriedOf(p.Binding, f.Access).Query
	}
	rule := f.Decision.Rule
	if rule == nil && a.Request.Kind != "" {
		rule = ir.WhyNot(p.bound, a.Request).Rule
	}
	if rule != nil {
		u.Rule = RuleFor(rule, place)
	}
	for _, add := range f.Add {
		u.Add = append(u.Add, add.Line())
	}
	o.Denied = append(o.Denied, u)
}

// notThePolicys is why a denial is not about which hosts, ports, programs and requests
// the policy names, "" when it is.
func notThePolicys(a Asked, d ir.Decision) string {
	special, ordinary := addresses.Range{}, true
	if a.Address.IsValid() {
		special, ordinary = addresses.Admitted(a.Address, nil)
	}
	switch {
	case a.Dimension == "address" && !ordinary:
		return fmt.Sprintf("its name led to %s: %s", a.Address, neverProposed(special))
	case a.Dimension == "address":
		return "its name led to an address that is never proposed"
	case a.Dimension == "limit":
		return "a limit of the proxy was reached"
	case a.Dimension == "credential":
		return "it did not come from the sandbox"
	case a.Request.Kind == "" || a.Dimension == "request":
		return "it is no request that a policy could allow"
	case d.Allow && a.Dimension == "protocol":
		return "what it sent is not what the endpoint is for; whether other bytes are meant to pass, its author has to say (protocol)"
	case d.Allow:
		return "the policy allows it by name"
	}
	return ""
}

// JSON is the report as one indented object and a newline.
func (o *Observed) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(o); err != nil {
		diag.Bug("what was observed holds what JSON cannot: %v", err)
	}
	return b.Bytes()
}

// Text writes the report for people. Lead stands before each of its sentences.
func (o *Observed) Text(w io.Writer, lead string) {
	say := func(format string, args ...any) { fmt.Fprintf(w, lead+format+"\n", args...) }
	denials, proposed := 0, 0
	for _, u := range o.Denied {
		if denials += u.Count; len(u.Add) > 0 {
			proposed += u.Count
		}
	}
	switch denials {
	case 0:
		say("the proxy of policy %s denied nothing", o.Policy)
	case 1:
		say("the proxy of policy %s denied one connection or request; of %d something is proposed", o.Policy, proposed)
	default:
		say("the proxy of policy %s denied %d connections and requests; of %d something is proposed", o.Policy, denials, proposed)
	}
	for _, u := range o.Denied {
		what := strings.TrimSpace(u.Query.Kind + " " + u.Query.Value)
		if what == "" {
			what = "something else"
		}
		fmt.Fprintf(w, "  %s\n    %s\n", printable(what+times(u.Count)+by(u.Program)), printable(u.Reason))
		for _, l := range u.Add {
			fmt.Fprintf(w, "    %s\n", l)
		}
		if u.Withheld != "" {
			fmt.Fprintf(w, "    nothing is proposed: %s\n", u.Withheld)
		}
	}
	if o.Untold > 0 {
		say("decisions that were too many to tell apart: %d", o.Untold)
	}
	if o.HCL != "" {
		say("to allow what is proposed and nothing else, merge this into policy %s:", o.Policy)
		for line := range strings.Lines(o.HCL) {
			fmt.Fprint(w, "  "+line)
		}
	}
}
