package runtime

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// rehearsal is a run that ends where its command would be started: everything
// before the go byte is a run's own, and the sandbox is then taken down.
type rehearsal struct {
	*execution
	paths []PathExamination
}

// rehearse takes a job up to the go byte. No command is chosen, and none started.
func rehearse(ctx context.Context, v *verify.Verified, job Job) (*rehearsal, *Refusal) {
	r := &rehearsal{execution: &execution{job: job, verified: v, evidence: NewEvidence(job.Development), outcome: &Outcome{}}}
	refusal := r.onOwnThread(ctx, r.rehearse)
	if faults := r.evidence.Cleanup.Faults; refusal == nil && len(faults) > 0 {
		refusal = setupFailed("", "what was made for it could not be removed: %s", list(faults))
	}
	return r, refusal
}

func (r *rehearsal) rehearse(ctx context.Context) *Refusal {
	if refusal := r.through(ctx, r.steps()); refusal != nil {
		return refusal
	}
	return r.inSandbox(ctx, func(_ context.Context, s *sandbox, _ *wake) *Refusal {
		refusal := r.openWayOut(s)
		s.kill()
		s.reap()
		r.out.close()
		r.evidence.Cleanup.TreeDead = true
		return refusal
	})
}

// steps are those of a run. Rules are looked at one by one before the step that
// stops at the first fault; no command is chosen.
func (r *rehearsal) steps() []step {
	out := slices.Clone(steps)
	at := func(name string) int { return slices.IndexFunc(out, func(s step) bool { return s.name == name }) }
	out[at("command")].do = func(e *execution) *Refusal {
		e.command, e.evidence.Executable = &command{}, &FileEvidence{}
		return nil
	}
	return slices.Insert(out, at("protect"), step{"examine", func(*execution) *Refusal { r.examine(); return nil }, "each rule, whatever is found"})
}

// examine says of every rule what stands at its path, by the code that judges it
// in a run, and goes on after a fault.
func (r *rehearsal) examine() {
	r.survey, _ = look(r.bound, nil)
	rejected := map[ir.Path]*Refusal{}
	for _, at := range r.named() {
		if refusal := r.survey.add(at); refusal != nil {
			rejected[at] = refusal
			r.survey.facts[at] = bwrap.Fact{Kind: bwrap.File} // what the other rules lack is all that is asked of it
		}
	}
	faults := r.faults()
	for i := range r.policy.Files {
		f := &r.policy.Files[i]
		if at := r.binding.Path(f.Path); f.Backing != ir.HostFile {
			r.paths = append(r.paths, PathExamination{Rule: f.String(), Statement: string(f.Origin), Path: at.String(), Fate: Own})
		} else if at.Root() == ir.Host { // else config, which is not bound
			r.judge(f, at, f.Optional, cmp.Or(rejected[at], faults[f.Origin]))
		}
	}
	for i := range r.policy.Execute {
		x := &r.policy.Execute[i]
		if at := r.binding.Path(x.Path); x.Path.Root() != ir.Tmp {
			refusal := cmp.Or(rejected[at], faults[x.Origin])
			if n := r.executed(*x); refusal == nil && n != nil && n.exists() {
				refusal = r.linkedExecute(*x, n)
			}
			r.judge(x, at, x.Optional, refusal)
		}
	}
}

// judge adds one rule about a path of the machine.
func (r *rehearsal) judge(rule ir.Rule, at ir.Path, optional bool, refusal *Refusal) {
	e := PathExamination{Rule: rule.String(), Statement: string(rule.From()), Path: at.String(), Fate: Kept}
	e.found(r.survey.nodes[at])
	switch missing := e.Kind == bwrap.Missing.String(); {
	case refusal != nil:
		e.Fate, e.Reason, e.Help = Rejected, refusal.Message, refusal.Help
	case missing && optional:
		e.Fate = Unsaid
	case missing:
		e.Fate = Held
	}
	r.paths = append(r.paths, e)
}

// faults are what a run is refused for by target, by the statement they are about.
func (r *rehearsal) faults() map[ir.Origin]*Refusal {
	out := map[ir.Origin]*Refusal{}
	for _, m := range r.lacking() {
		one := *m
		one.Others = nil
		out[m.Origin] = missingPaths(&one)
	}
	if _, err := r.linux.Set.Placeholders(r.binding, r.survey.facts); err != nil {
		for _, fault := range each(err) {
			refusal := notKept(fault)
			for _, origin := range refusal.Statements {
				out[origin] = cmp.Or(out[origin], refusal)
			}
		}
	}
	return out
}

// found notes what stands at a path.
func (e *PathExamination) found(n *node) {
	if n == nil {
		return
	}
	e.Kind = bwrap.Missing.String()
	if n.exists() {
		e.Kind = kindOf(n.stat.Mode).String()
	}
	for _, l := range n.links {
		e.Links = append(e.Links, LinkExamination{l.at.String(), l.target, l.system})
	}
	if len(n.links) > 0 && n.exists() {
		e.Real = n.real.String()
	}
}

// ExaminePolicy says what each rule of a policy becomes on this machine, and sets
// its sandbox up and takes it down again. What job says of a command is left out.
func ExaminePolicy(ctx context.Context, v *verify.Verified, job Job) PolicyExamination {
	r, refusal := rehearse(ctx, v, job)
	e := PolicyExamination{Policy: job.Policy, Binding: r.evidence.Binding, Paths: r.paths, Refusal: refusal.text()}
	if refusal == nil {
		return e
	}
	for i := range e.Paths {
		p := &e.Paths[i]
		if p.Fate != Rejected && slices.Contains(refusal.Statements, ir.Origin(p.Statement)) {
			p.Fate, p.Reason = Rejected, "see below"
		}
	}
	return e
}

// trialPolicy is the policy that the machine itself is tried with: trial.policy.hcl,
// compiled.
//
//go:embed trial/trial.json
var trialPolicy []byte

const trialName = "trial"

// trial sets up a sandbox with everything a run can need, and takes it down.
// Without confine the policy lets everything start, which needs no Landlock.
func trial(ctx context.Context, bubblewrap string, confine bool) *Refusal {
	v, err := trialRelease(confine)
	if err != nil {
		diag.Bug("the trial's release: %v", err)
	}
	_, refusal := rehearse(ctx, v, Job{Policy: trialName, Development: true, Bwrap: bubblewrap})
	return refusal
}

// trialRelease verifies a release of the trial's policy, as every run's is.
func trialRelease(confine bool) (*verify.Verified, error) {
	p, err := ir.ParseJSON(trialPolicy)
	if err != nil {
		return nil, err
	}
	if !confine {
		p.Execute = []ir.ExecuteRule{{Path: ir.RootPath(ir.Host), Origin: "trial/everything"}}
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		return nil, err
	}
	made := release.Policy{Name: p.Name}
	for _, a := range artifacts {
		made.Artifacts = append(made.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
	}
	files, err := release.Build(release.Input{Compiler: release.Version, Policies: []release.Policy{made}})
	if err != nil {
		return nil, err
	}
	pins := &release.Pins{Product: release.LocalProduct, NoExpiry: true}
	for _, f := range files {
		if f.Name == release.SumsName {
			pins.Sums = append(pins.Sums, release.Sum(f.Data))
		}
	}
	v, report := verify.Open(verify.Memory(files), verify.Trust{Pins: pins, Now: time.Now(), Development: true})
	if v == nil {
		return nil, fmt.Errorf("it is not verified: %s", report)
	}
	return v, nil
}
