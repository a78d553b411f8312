package conform

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
)

// judge holds every outcome in the sandbox to what the policy means and to what
// the model of the artifacts says.
func (x *trial) judge(got [][]try) {
	paths := x.linux.Set.NamedPaths(x.binding)
	f, _ := facts(paths)
	missing := func(p ir.Path) bool {
		for q := range p.Upward() {
			if fact, known := f[q]; known && fact.Kind == bwrap.Missing {
				return true
			}
		}
		return false
	}
	bound, err := x.policy.Bind(x.binding)
	if err != nil {
		x.t.Fatal(err)
	}
	bound = bound.Without(missing)
	j := judgement{trial: x, means: ir.NewDecider(bound), names: NewNames(bound), model: x.model(f), holds: x.uses(bound)}
	for i, p := range x.probes {
		j.probe(p, x.control[i], got[i])
	}
	if j.faults != nil {
		x.t.Fatalf("%d disagreements:\n%s%s", len(j.faults), j.first(), x)
	}
}

// model is the artifacts on this machine, with the placeholders that the runtime
// makes.
func (x *trial) model(f bwrap.Facts) *targets.Model {
	wanted, err := x.linux.Set.Placeholders(x.binding, f)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, w := range wanted {
		f[w.Path] = w.Fact()
	}
	m, err := x.linux.Model(x.binding, f)
	if err != nil {
		x.t.Fatal(err)
	}
	return m
}

type judgement struct {
	*trial
	means  *ir.Decider
	names  *Names
	model  *targets.Model
	holds  bool // the policy uses held directories
	faults []string
}

func (j *judgement) first() string {
	out := ""
	for _, f := range j.faults[:min(len(j.faults), 10)] {
		out += f + "\n"
	}
	return out
}

// answers about one probe. Both names of a path that leads over a link have to be
// allowed for it to be allowed; what the kernel lets through is only what it leads
// to.
type answers struct{ policy, model, policyReal, modelReal bool }

func (j *judgement) answers(p Probe) answers {
	var a answers
	a.policyReal = j.means.Decide(p.Real).Allow
	a.modelReal, _ = j.model.Decide(p.Real)
	a.policy, a.model = a.policyReal, a.modelReal
	if p.Request != p.Real {
		spelled, _ := j.model.Decide(p.Request)
		a.policy, a.model = a.policy && j.means.Decide(p.Request).Allow, a.model && spelled
	}
	return a
}

// probe judges every way of one attempt and counts it once.
func (j *judgement) probe(p Probe, control, got []try) {
	a := j.answers(p)
	counted, tighter := false, false
	for i, r := range got {
		switch {
		case r.Errno == "":
			counted = true
			j.carriedOut(p, a, r)
		case control[i].Errno == "":
			counted = true
			tighter = j.refused(p, a, r) || tighter
		}
	}
	if !counted {
		j.mix.Uncounted++
		return
	}
	j.mix.Add(p.Request.Kind, j.class(p), a.policy, tighter)
}

func (j *judgement) class(p Probe) Class {
	if p.Request.Kind == ir.ConnectRequest {
		return Outside
	}
	return j.names.Class(p.Subject)
}

// carriedOut: what the kernel lets through, the policy allows, always. The one
// exception is declared: a named pipe in a read-only part of a write can be written.
func (j *judgement) carriedOut(p Probe, a answers, r try) {
	if !a.policyReal && j.pipe(p, r) {
		j.mix.Pipes++
		return
	}
	if !a.policyReal {
		j.fault(p, r, "the kernel lets it through and the policy denies it")
	}
	if !a.modelReal {
		j.fault(p, r, "the kernel lets it through and the model denies it")
	}
}

// refused: what the policy allows is refused only where the target said so, and
// with the error that the model predicts. It reports whether that was the case.
func (j *judgement) refused(p Probe, a answers, r try) (tighter bool) {
	if p.Kind == Device && r.Errno == "EACCES" && j.model.NoDevices(p.Real.Path) {
		return a.policy
	}
	if a.model {
		j.fault(p, r, "the kernel refuses it and the model allows it")
		return false
	}
	tighter = a.policy
	if tighter && !j.declared(p, r) {
		j.fault(p, r, "the kernel refuses it and the policy allows it")
	}
	if predicted := j.errors(p, r); !slices.Contains(predicted, r.Errno) {
		j.fault(p, r, fmt.Sprintf("the model predicts %q", predicted))
	}
	return tighter
}

// declared reports whether the target said that it denies more here: a rename or
// link across a held directory, where the policy has one or binding it made one, or
// between a memory file system and another.
func (j *judgement) declared(p Probe, r try) bool {
	if r.Errno != "EXDEV" || !j.names.Across(p.Request) {
		return false
	}
	return j.holds || j.inMemory(p.Request.Path) != j.inMemory(p.Request.To)
}

// uses reports whether the policy uses what the target declares tighter. Beside
// what it states, its slots and the trusted directory may lie in one of its writes.
func (x *trial) uses(bound *ir.Policy) bool {
	if targets.Answers(ir.Bwrap, ir.FeatureHeldDirectory).Capability != targets.Tighter {
		return false
	}
	held := func(u ir.Use) bool { return u.Feature == ir.FeatureHeldDirectory }
	return slices.ContainsFunc(x.policy.Uses(), held) || slices.ContainsFunc(bound.Uses(), held)
}

// inMemory is the memory file system that decides the bound path, nil for none.
func (j *judgement) inMemory(p ir.Path) ir.Rule {
	if rule, ok := j.means.Decide(ir.Request{Kind: ir.ReadRequest, Path: p}).Rule.(*ir.FileRule); ok && rule.Backing == ir.TmpFS {
		return rule
	}
	return nil
}

// pipe reports whether a named pipe was opened for writing that lies in a read-only
// part of a write: the kernel asks a mount's read-only flag for files and directories
// only, and Landlock's rules, which keep pipes below any other read, only add.
func (j *judgement) pipe(p Probe, r try) bool {
	if p.Kind != Fifo || p.Request.Kind != ir.WriteRequest || r.How != "open" {
		return false
	}
	d := j.means.Decide(ir.Request{Kind: ir.ReadRequest, Path: p.Real.Path})
	return d.Allow && j.names.InsideWrite(p.Real.Path)
}

// errors are those that the model predicts for a refusal. It does not know what a
// pipe is: where a mount would stop writing to a file, Landlock stops opening one.
func (j *judgement) errors(p Probe, r try) []string {
	predicted := j.model.Refusal(p.Real)
	if p.Request != p.Real {
		predicted = append(predicted, j.model.Refusal(p.Request)...)
	}
	if p.Kind == Fifo && p.Request.Kind == ir.WriteRequest && r.How == "open" && slices.Contains(predicted, "EROFS") {
		predicted = append(predicted, "EACCES")
	}
	return predicted
}

func (j *judgement) fault(p Probe, r try, what string) {
	outcome := r.Errno
	if outcome == "" {
		outcome = "carried out"
	}
	text := fmt.Sprintf("%s (%s, by %s: %s): %s", p.Request, p.Kind, r.How, outcome, what)
	if p.Request != p.Real {
		text += fmt.Sprintf(" (it leads to %s)", p.Real.Path)
	}
	j.faults = append(j.faults, text)
}
