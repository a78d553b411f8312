package compiler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// Test is one test of a configuration: the policy it asks, where its slots lie,
// and what the answers must be.
type Test struct {
	Name         string
	At           diag.Range
	Policy       Result
	Binding      ir.Binding
	Expectations []Expectation
}

// Expectation is a request and the answer it must have.
type Expectation struct {
	Allow   bool
	Request ir.Request
	At      diag.Range
}

// Tests are the configuration's tests in source order, their requests typed.
// compiled is what Compile made of it. A test of a policy that did not compile is
// left out: the policy's own findings say why.
func Tests(cfg *lang.Config, compiled []Result) ([]Test, diag.List) {
	a := asker{config: cfg, compiled: compiled}
	var out []Test
	for _, t := range cfg.Tests {
		if asked, ok := a.test(t); ok {
			out = append(out, asked)
		}
	}
	return out, a.diags
}

// asker types the requests of one configuration.
type asker struct {
	config   *lang.Config
	compiled []Result
	diags    diag.List
}

func (a *asker) test(t *lang.Test) (Test, bool) {
	before := len(a.diags)
	out := Test{Name: t.Name.Value, At: t.Range}
	bound := a.binding(t)
	for _, e := range t.Expectations {
		r, fault := request(e)
		if fault != nil {
			a.diags.Add(*fault)
			continue
		}
		out.Expectations = append(out.Expectations, Expectation{e.Allow, r, e.Range})
	}
	result, ok := a.policy(t)
	if !ok || len(a.diags) > before {
		return out, false
	}
	var refused *ir.InadmissibleError
	if err := result.Policy.Admit(bound); errors.As(err, &refused) {
		a.diags.Add(bindingInadmissible(t, refused, result.Ranges))
		return out, false
	}
	out.Policy, out.Binding = result, bound
	return out, true
}

// policy is the one that the test asks.
func (a *asker) policy(t *lang.Test) (Result, bool) {
	var names []string
	for _, p := range a.config.Policies {
		names = append(names, p.Name.Value)
	}
	name := t.Policy.Value
	switch {
	case t.Policy.Range.IsZero() && len(names) == 1:
		name = names[0]
	case t.Policy.Range.IsZero() && len(names) > 1 && !a.config.Partial:
		a.diags.Add(testWithoutPolicy(t, names))
	case !t.Policy.Range.IsZero() && !slices.Contains(names, name):
		a.diags.Add(unknownPolicy(t.Policy, names))
	}
	i := slices.IndexFunc(a.compiled, func(r Result) bool { return r.Policy.Name == name })
	if i < 0 {
		return Result{}, false
	}
	return a.compiled[i], true
}

func (a *asker) binding(t *lang.Test) ir.Binding {
	var b ir.Binding
	for _, s := range t.Bind {
		at, fault := place(s.Path)
		if fault != nil {
			a.diags.Add(*fault)
			continue
		}
		b = b.With(slotRoot(s.Slot.Value), at)
	}
	return b
}

// request is what an expectation asks.
func request(e lang.Expectation) (ir.Request, *diag.Diagnostic) {
	words := []string{e.Word.Value}
	for _, o := range e.Objects {
		if e.Word.Value == string(ir.SyscallRequest) && len(syscalls.On(text(o))) == 0 {
			fault := unknownSyscall(lang.String{Value: text(o), Range: o.Range})
			return ir.Request{}, &fault
		}
		switch ir.RequestKind(e.Word.Value) {
		case ir.ConnectRequest, ir.SyscallRequest, ir.URLRequest:
			words = append(words, text(o))
			continue
		}
		p, fault := place(o)
		if fault != nil {
			return ir.Request{}, inTest(fault)
		}
		words = append(words, p.String())
	}
	if !e.By.Range.IsZero() {
		p, fault := place(e.By)
		if fault != nil {
			return ir.Request{}, inTest(fault)
		}
		words = append(words, "by", p.String())
	}
	r, err := ir.ParseRequest(words)
	switch {
	case err == nil:
		return r, nil
	case e.Word.Value == string(ir.URLRequest):
		d := requestMalformed(e.Objects[0], err)
		return ir.Request{}, &d
	case e.Word.Value != string(ir.ConnectRequest):
		diag.Bug("the request %q at %s: %v", words, e.Range, err)
	}
	d := connectMalformed(e.Objects[0], err)
	return ir.Request{}, &d
}

// inTest is a finding about a path, with help for one that is asked about.
func inTest(d *diag.Diagnostic) *diag.Diagnostic {
	if d.Code == "path-wildcard" {
		d.Help = "write the path of one file: a test asks about what a program would open"
	}
	return d
}

func connectMalformed(t lang.Text, err error) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "connect-malformed",
		At:      t.Range,
		Message: err.Error(),
		Help:    `name one host or address and one port, as in "api.example.com:443" or "[2001:db8::7]:443"`,
	}
}

func requestMalformed(t lang.Text, err error) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "request-malformed",
		At:      t.Range,
		Message: err.Error(),
		Help:    `write a method and a URL, as in "GET https://api.example.com/repos"`,
	}
}

func testWithoutPolicy(t *lang.Test, names []string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "test-without-policy",
		At:      t.Range,
		Message: fmt.Sprintf("test %q does not say which of the %d policies it asks", t.Name.Value, len(names)),
		Help:    fmt.Sprintf("write policy = %q, or the name of another one", slices.Min(names)),
	}
}

func unknownPolicy(name lang.String, names []string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-policy",
		At:      name.Range,
		Message: fmt.Sprintf("no policy is called %q", name.Value),
		Help:    lang.DidYouMean(name.Value, names),
	}
}

// bindingInadmissible reports a slot that the runtime would refuse to put there.
func bindingInadmissible(t *lang.Test, e *ir.InadmissibleError, ranges map[ir.Origin]diag.Range) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "binding-inadmissible",
		At:      t.Range,
		Message: fmt.Sprintf("%s cannot be %s: %s", e.Slot, e.At, e.Reason),
		Help:    "no run has such a binding: choose another path",
	}
	for _, s := range t.Bind {
		if s.Slot.Value == e.Slot.String() {
			d.At = s.Path.Range
		}
	}
	for _, r := range e.Rules {
		if at := ranges[r.From()]; !at.IsZero() {
			d.Related = append(d.Related, diag.Related{At: at, Message: "this rule stands in its way"})
		}
	}
	return d
}
