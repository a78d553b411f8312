package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/models"
)

// subject is a policy made ready for attempts, or why it has none.
type subject struct {
	why        string
	rejected   bool       // the system refuses its artifact
	policy     *ir.Policy // on the bench, with the statements that let the attempt start
	added      string     // the addition with which it starts
	model      func(ir.Request) Verdict
	sandbox    Sandbox
	calibrated *string // why checkWord's answers do not count; nil: not yet known
}

// Added names the addition under which the policy's attempts are made, "" when it
// has none; the error says why.
func (b *Bench) Added(r compiler.Result) (string, error) {
	s := b.subject(r)
	if s.why != "" {
		return "", errors.New(s.why)
	}
	return s.added, nil
}

// subject makes the policy ready, once.
func (b *Bench) subject(r compiler.Result) *subject {
	s, ok := b.ready[r.Policy]
	if !ok {
		s = b.prepare(r)
		b.ready[r.Policy] = s
	}
	return s
}

// prepare finds the least addition with which one attempt that must succeed does.
func (b *Bench) prepare(r compiler.Result) *subject {
	if !r.Policy.HasTarget(b.traits.Target) {
		return &subject{why: "the policy is not for " + b.traits.System}
	}
	var s *subject
	for _, a := range b.launcher.Additions() {
		s = b.with(r, a)
		if s.why == "" || s.rejected || b.Interrupted() != nil {
			break
		}
	}
	return s
}

// with compiles the policy with the addition and without what belongs to a run and
// not to its rights, and starts the program that attempts once.
func (b *Bench) with(r compiler.Result, a Addition) *subject {
	p, err := b.extended(r.Policy, a)
	if err != nil {
		return &subject{why: err.Error()}
	}
	for _, d := range targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} }) {
		if d.Severity == diag.Error {
			return &subject{why: d.Message}
		}
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		return &subject{why: "the program that attempts cannot be added to the policy: " + err.Error()}
	}
	s := &subject{policy: p, added: a.Name}
	if s.model, err = answers(p, artifacts, b.seen()); err != nil {
		return &subject{why: "the policy does not run here: " + err.Error()}
	}
	if s.sandbox, err = b.launcher.Prepare(compiler.Result{Policy: p, Ranges: r.Ranges}, artifacts); err != nil {
		s.why = err.Error()
		return s
	}
	nodes := treeFor(p, b.binding, ir.Request{Kind: ir.StatRequest, Path: b.place(ir.RootPath(ir.Workspace))}, b.isFresh)
	if _, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.sandboxed(s, startedWord, nil) }); err != nil {
		var rejected *RejectedError
		s.rejected = errors.As(err, &rejected)
		s.why = "the policy does not run here: " + err.Error()
		s.sandbox.Close()
		s.sandbox = nil
	}
	return s
}

// answers is the model that the artifacts have on a machine with that binding.
func answers(p *ir.Policy, artifacts []targets.Artifact, b ir.Binding) (func(ir.Request) Verdict, error) {
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	all := models.All()
	i := slices.IndexFunc(all, func(m models.Modelled) bool { return p.HasTarget(m.Target) })
	if i < 0 {
		return nil, nil
	}
	asked, err := all[i].Model(p, files, b)
	if err != nil {
		return nil, err
	}
	return func(q ir.Request) Verdict {
		allow, layer := asked.Decide(q)
		if layer == models.Undecided {
			return Undecided
		}
		return verdict(allow)
	}, nil
}

// extended is the policy on the bench, for its one target, with statements for the
// program that attempts.
func (b *Bench) extended(p *ir.Policy, a Addition) (*ir.Policy, error) {
	q := *p
	q.Targets, q.Workspace, q.Commands, q.Limits = []ir.Target{b.traits.Target}, ir.ByCommand, nil, a.Limits
	q.Files, q.Execute = slices.Clone(p.Files), slices.Clone(p.Execute)
	for i := range q.Files {
		q.Files[i].Path = b.moved(q.Files[i].Path)
	}
	for i := range q.Execute {
		q.Execute[i].Path = b.moved(q.Execute[i].Path)
	}
	self, err := b.selfAs(p)
	if err != nil {
		return nil, err
	}
	q.Files = append(q.Files, ir.FileRule{Path: self, Level: ir.Read, Origin: "live/read"})
	q.Execute = append(q.Execute, ir.ExecuteRule{Path: self, Origin: "live/execute"})
	for _, r := range a.Files {
		if !slices.ContainsFunc(q.Files, func(have ir.FileRule) bool { return have.Path == r.Path }) {
			q.Files = append(q.Files, r)
		}
	}
	for _, r := range a.Execute {
		if !slices.ContainsFunc(q.Execute, func(have ir.ExecuteRule) bool { return have.Path == r.Path }) {
			q.Execute = append(q.Execute, r)
		}
	}
	q.System.Services = union(p.System.Services, a.System.Services)
	q.System.Sysctls = union(p.System.Sysctls, a.System.Sysctls)
	slices.SortStableFunc(q.Files, func(x, y ir.FileRule) int { return x.Path.Compare(y.Path) })
	slices.SortStableFunc(q.Execute, func(x, y ir.ExecuteRule) int { return x.Path.Compare(y.Path) })
	if err := q.Check(); err != nil {
		return nil, fmt.Errorf("the program that attempts cannot be added to the policy: %w", err)
	}
	return &q, nil
}

// selfAs is the program that attempts as the policy can name it: in its home slot
// if it names that, so that no rule of the host stands inside a slot. Where a sandbox
// has a /tmp of its own, nothing that lies in the machine's can be started.
func (b *Bench) selfAs(p *ir.Policy) (ir.Path, error) {
	hides := slices.ContainsFunc(p.Files, func(f ir.FileRule) bool { return f.Path.Root() == ir.Tmp })
	if b.traits.Target == ir.Bwrap && hides && ir.MustPath("/tmp").Covers(b.self) {
		return ir.Path{}, fmt.Errorf("%s cannot be started in a sandbox that has a /tmp of its own: put obspc and obsrun into another directory", b.self)
	}
	names := slices.ContainsFunc(p.Files, func(f ir.FileRule) bool { return f.Path.Root() == ir.Home })
	home, known := b.binding.At(ir.Home)
	if !known || !names || !home.Above(b.self) {
		return b.self, nil
	}
	return ir.NewPath(ir.Home, strings.TrimPrefix(b.self.String(), home.String()))
}

// union is both lists, sorted and each name once.
func union(have, more []ir.Name) []ir.Name {
	out := slices.Clone(have)
	for _, n := range more {
		if !slices.ContainsFunc(have, func(h ir.Name) bool { return h.Name == n.Name }) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(x, y ir.Name) int { return strings.Compare(x.Name, y.Name) })
	return out
}
