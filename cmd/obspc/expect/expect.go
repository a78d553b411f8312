// Package expect holds the tests of a configuration to what its policies mean and
// to what each target's artifacts, read back from their bytes, make of them. Its
// one rule: what was not asked is said, never passed over. How tests are written
// is in package lang, what their requests mean in compiler; trying them against a
// kernel is the caller's.
package expect

import (
	"fmt"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/models"
)

// Options are what a call adds to the tests.
type Options struct {
	// Models are the targets to ask; models.All() unless a test wants others.
	Models []models.Modelled
	// Place is a range as its reader can open it.
	Place func(diag.Range) diag.Range
	// Because are the words for a reason.
	Because func(ir.Reason) string
	// Live tries an expectation against the kernel; nil: nobody asked for it.
	Live func(compiler.Test, compiler.Expectation) Live
}

// Status is what came of one question.
type Status string

// Passed: the answer is the one expected. Failed: it is not. Waived: the target
// denies what the policy allows, and the policy accepts that by a waive block.
// Skipped: the question was not asked, and Why says so.
const (
	Passed  Status = "pass"
	Failed  Status = "fail"
	Waived  Status = "waived"
	Skipped Status = "skip"
)

// Report is what came of all tests.
type Report struct {
	Tests    []Case
	Unasked  []Unasked
	Coverage []Coverage
}

// Case is one test.
type Case struct {
	Name     string
	Policy   string
	At       diag.Range
	Binding  ir.Binding
	Outcomes []Outcome
}

// Outcome is what came of one expectation. Rule is the one that decided, nil when
// none speaks of the request; Depends lists the slots that are not bound and
// whose place could turn the answer.
type Outcome struct {
	At      diag.Range
	Want    bool
	Request ir.Request
	Status  Status
	Allow   bool
	Because string
	Rule    *Rule
	Depends []string
	Targets []Answer
	Live    *Live
}

// Rule is a statement as people find it.
type Rule struct {
	At        diag.Range // zero for what is built in
	Text      string
	Statement ir.Origin
}

// Answer is one target's.
type Answer struct {
	Target ir.Target
	Status Status
	Allow  bool
	Layer  string
	Why    string // why a difference is no failure, or what to do about one
}

// Live is what a kernel did. Why says what was observed, or why nothing was tried.
type Live struct {
	Status Status
	Why    string
}

// Unasked is a target whose artifacts no test of the policy was held to.
type Unasked struct {
	Policy string
	Target ir.Target
	Why    string
}

// Failed reports whether any expectation of the case failed.
func (c Case) Failed() bool {
	for _, o := range c.Outcomes {
		if o.Failed() {
			return true
		}
	}
	return false
}

// Failed reports whether some answer is not the one expected.
func (o Outcome) Failed() bool {
	return o.Status == Failed || o.Live != nil && o.Live.Status == Failed
}

// Failed reports whether some answer of some test is not the one expected.
func (r *Report) Failed() bool { return r.Sum().FailedTests > 0 }

// Run asks everything. results are all policies of the configuration, for
// coverage; own tells the configuration's files from those of embedded templates.
func Run(tests []compiler.Test, results []compiler.Result, own func(file string) bool, o Options) *Report {
	r := &runner{options: o, report: &Report{}, subjects: map[string]*subject{}, touched: map[string]touches{}}
	for _, t := range tests {
		r.test(t)
	}
	r.report.Coverage = r.coverage(results, own)
	return r.report
}

// runner is the state of one Run.
type runner struct {
	options  Options
	report   *Report
	subjects map[string]*subject
	touched  map[string]touches // by policy
}

func (r *runner) test(t compiler.Test) {
	p := t.Policy.Policy
	bound, err := p.Bind(t.Binding)
	if err != nil {
		diag.Bug("test %q has a binding that compiler.Tests admitted: %v", t.Name, err)
	}
	means := ir.NewDecider(bound)
	asked := r.subject(p)
	models := asked.models(t.Binding)
	if r.touched[p.Name] == nil {
		r.touched[p.Name] = touches{}
	}
	c := Case{Name: t.Name, Policy: p.Name, At: r.options.Place(t.At), Binding: t.Binding}
	for _, e := range t.Expectations {
		q := placed(e.Request, t.Binding)
		d := means.Decide(q)
		r.touched[p.Name].add(bound, q, d)
		out := r.outcome(t, e, d)
		for _, m := range models {
			out.answer(p, m, q, d)
		}
		if r.options.Live != nil {
			live := r.options.Live(t, e)
			out.Live = &live
		}
		c.Outcomes = append(c.Outcomes, out)
	}
	r.report.Tests = append(r.report.Tests, c)
}

// placed is the request with bound slots replaced by their paths.
func placed(q ir.Request, b ir.Binding) ir.Request {
	q.Path, q.To = b.Path(q.Path), b.Path(q.To)
	if q.HasBy {
		q.By = b.Path(q.By)
	}
	return q
}

func (r *runner) outcome(t compiler.Test, e compiler.Expectation, d ir.Decision) Outcome {
	out := Outcome{
		At: r.options.Place(e.At), Want: e.Allow, Request: e.Request,
		Status: verdict(d.Allow, e.Allow), Allow: d.Allow, Because: r.options.Because(d.Reason),
	}
	if d.Rule != nil {
		out.Rule = &Rule{r.options.Place(t.Policy.Ranges[d.Rule.From()]), d.Rule.String(), d.Rule.From()}
	}
	for _, slot := range ir.Slots() {
		if d.Depends.Has(slot) {
			out.Depends = append(out.Depends, slot.String())
		}
	}
	return out
}

func verdict(got, want bool) Status {
	if got == want {
		return Passed
	}
	return Failed
}

// answer asks one target.
func (out *Outcome) answer(p *ir.Policy, m model, q ir.Request, d ir.Decision) {
	if !models.Asked(m.target, q.Kind) {
		out.Targets = append(out.Targets, Answer{Target: m.target, Status: Skipped, Why: "system calls are those of Linux"})
		return
	}
	allow, layer := m.answers.Decide(q)
	a := Answer{Target: m.target, Status: verdict(allow, out.Want), Allow: allow, Layer: layer}
	if a.Status == Failed && d.Allow && !allow {
		a.Why = "it is tighter than the policy; obspc matrix says where, and a waive block accepts it"
		if w, ok := waiver(p, m.target, q, d); ok {
			a.Status, a.Why = Waived, fmt.Sprintf("%s is waived: %s", w.Feature, w.Reason)
		}
	}
	if a.Status == Failed && allow && len(out.Depends) > 0 {
		a.Why = "it depends on where the slots lie: on Linux ${tmp} is /tmp"
	}
	if a.Status == Failed {
		out.Status = Failed
	}
	out.Targets = append(out.Targets, a)
}

// waiver is the policy's acceptance of a target that denies the request: it is
// about a feature that the deciding rule uses, or that the request's word is
// about.
func waiver(p *ir.Policy, t ir.Target, q ir.Request, d ir.Decision) (ir.Waiver, bool) {
	concerned := map[ir.Feature]bool{}
	switch q.Kind {
	case ir.ConnectRequest, ir.ConnectUnixRequest, ir.ExecuteRequest, ir.SyscallRequest:
	case ir.RenameRequest, ir.LinkRequest:
		concerned[ir.FeatureHeldDirectory], concerned[ir.FeatureOnlyCarveOut] = true, true
	default:
		concerned[ir.FeatureOnlyCarveOut] = true
	}
	for _, use := range p.Uses() {
		if d.Rule != nil && use.Origin == d.Rule.From() {
			concerned[use.Feature] = true
		}
	}
	for _, w := range p.Waivers {
		if w.Target == t && concerned[w.Feature] {
			return w, true
		}
	}
	return ir.Waiver{}, false
}
