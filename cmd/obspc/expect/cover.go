package expect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Coverage tells which statements of a policy the tests touch: those that decide
// an expectation, and those that speak of one and are overruled. Statements about
// what no request asks (environment, limits, commands) are not counted.
type Coverage struct {
	Policy     string
	Tests      int
	Statements []Statement // of the configuration's own files, in reading order
	Embedded   []Embedded  // of embedded templates, by file
}

// Statement is one statement and how many expectations it decides and covers.
type Statement struct {
	Rule
	Decides, Covers int
}

// Embedded counts the statements of one embedded template.
type Embedded struct {
	File                string
	Touched, Statements int
}

// Touched counts the own statements that some test touches.
func (c Coverage) Touched() int {
	n := 0
	for _, s := range c.Statements {
		if s.Decides+s.Covers > 0 {
			n++
		}
	}
	return n
}

// count is how often a statement decided and how often it was only concerned.
type count struct{ decides, covers int }

// touches are the counts of one policy, by statement.
type touches map[ir.Origin]*count

func (t touches) at(o ir.Origin) *count {
	if t[o] == nil {
		t[o] = &count{}
	}
	return t[o]
}

// add counts what one request touches. p is bound as the request is.
func (t touches) add(p *ir.Policy, q ir.Request, d ir.Decision) {
	concerned := map[ir.Origin]bool{}
	if d.Rule != nil {
		t.at(d.Rule.From()).decides++
	}
	switch q.Kind {
	case ir.ConnectRequest, ir.URLRequest:
		t.hosts(p, q, concerned)
	case ir.RenameRequest, ir.LinkRequest:
		t.paths(p, q.Path, d, concerned)
		t.paths(p, q.To, d, concerned)
	case ir.SyscallRequest: // one statement speaks of a call at most
	default:
		t.paths(p, q.Path, d, concerned)
	}
	if q.Kind == ir.ConnectUnixRequest {
		concerned[p.Unix.Origin] = true
	}
	if q.Kind == ir.ExecuteRequest {
		for _, r := range p.Execute {
			concerned[r.Origin] = concerned[r.Origin] || r.Covers(q.Path)
		}
	}
	for o, is := range concerned {
		if is && (d.Rule == nil || d.Rule.From() != o) {
			t.at(o).covers++
		}
	}
}

// paths notes the file rules that speak of at. A name that is held, and a
// directory that leads to something readable, are so by what lies below.
func (touches) paths(p *ir.Policy, at ir.Path, d ir.Decision, concerned map[ir.Origin]bool) {
	below := d.Reason == ir.ByHeld || d.Reason == ir.Seen
	for _, r := range p.Files {
		if r.Covers(at) || below && at.Covers(r.Path) {
			concerned[r.Origin] = true
		}
	}
	for _, r := range p.Execute {
		if d.Reason == ir.ByHeld && at.Covers(r.Path) {
			concerned[r.Origin] = true
		}
	}
}

// coverage is that of every policy, tested or not.
func (r *runner) coverage(results []compiler.Result, own func(string) bool) []Coverage {
	var out []Coverage
	for _, res := range results {
		c := Coverage{Policy: res.Policy.Name, Tests: r.testsOf(res.Policy.Name)}
		embedded := map[string]*Embedded{}
		for _, rule := range stated(res.Policy) {
			at := res.Ranges[rule.From()]
			n := r.touched[c.Policy][rule.From()]
			if n == nil {
				n = &count{}
			}
			switch {
			case strings.HasPrefix(string(rule.From()), "builtin/"): // nobody's statement
			case own(at.File):
				c.Statements = append(c.Statements, Statement{Rule{r.options.Place(at), rule.String(), rule.From()}, n.decides, n.covers})
			default:
				if embedded[at.File] == nil {
					embedded[at.File] = &Embedded{File: at.File}
				}
				embedded[at.File].Statements++
				if n.decides+n.covers > 0 {
					embedded[at.File].Touched++
				}
			}
		}
		slices.SortStableFunc(c.Statements, func(a, b Statement) int { return order(a.At, b.At) })
		for _, e := range embedded {
			c.Embedded = append(c.Embedded, *e)
		}
		slices.SortFunc(c.Embedded, func(a, b Embedded) int { return strings.Compare(a.File, b.File) })
		out = append(out, c)
	}
	return out
}

func (r *runner) testsOf(policy string) int {
	n := 0
	for _, c := range r.report.Tests {
		if c.Policy == policy {
			n++
		}
	}
	return n
}

// stated are the policy's rules, one for each statement.
func stated(p *ir.Policy) []ir.Rule {
	var out []ir.Rule
	seen := map[ir.Origin]bool{}
	add := func(r ir.Rule) {
		if !seen[r.From()] {
			seen[r.From()] = true
			out = append(out, r)
		}
	}
	for i := range p.Files {
		add(&p.Files[i])
	}
	for i := range p.Execute {
		add(&p.Execute[i])
	}
	if p.Unix.Origin != "" {
		add(&p.Unix)
	}
	if p.Loopback.Host {
		add(&p.Loopback)
	}
	for i := range p.DeniedHosts {
		add(&p.DeniedHosts[i])
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		add(e)
		for j := range e.Requests {
			add(&e.Requests[j])
		}
	}
	for i := range p.Syscalls {
		add(&p.Syscalls[i])
	}
	return out
}

// hosts notes what speaks of the host of a request, and of its method and path.
func (t touches) hosts(p *ir.Policy, q ir.Request, concerned map[ir.Origin]bool) {
	for _, r := range p.DeniedHosts {
		if q.Host != "" && r.Host.Matches(q.Host) {
			concerned[r.Origin] = true
		}
	}
	for _, e := range p.Endpoints {
		if !e.Host.Matches(q.Host) && (!e.Host.Addr.IsValid() || e.Host.Addr != q.Addr) {
			continue
		}
		concerned[e.Origin] = true
		for _, r := range e.Requests {
			if q.Kind == ir.URLRequest && r.Matches(q.Method, q.Target) {
				concerned[r.Origin] = true
			}
		}
	}
}

func order(a, b diag.Range) int {
	return cmp.Or(strings.Compare(a.File, b.File), a.Start.Byte-b.Start.Byte)
}
