package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// trial is a policy made ready for attempts, or why it has none.
type trial struct {
	why     string
	policy  *ir.Policy // with the statements that let the attempt start
	release *os.File
	pins    *os.File
}

// trial makes the policy ready, once.
func (b *bench) trial(r compiler.Result) *trial {
	t, ok := b.ready[r.Policy.Name]
	if !ok {
		t = b.prepare(r)
		b.ready[r.Policy.Name] = t
	}
	return t
}

// prepare compiles the policy with two more statements, which let the attempt be
// read and started, and without what belongs to a run and not to its rights; then
// it asks for one attempt that must succeed.
func (b *bench) prepare(r compiler.Result) *trial {
	if !r.Policy.HasTarget(ir.Bwrap) {
		return &trial{why: "the policy is not for Linux"}
	}
	p, err := b.withAttempt(r.Policy)
	if err != nil {
		return &trial{why: err.Error()}
	}
	for _, d := range targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} }) {
		if d.Severity == diag.Error {
			return &trial{why: d.Message}
		}
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		diag.Bug("%v", err)
	}
	files, err := release.Build(release.Input{Compiler: release.Version, Policies: []release.Policy{releasePolicy(compiler.Result{Policy: p, Ranges: r.Ranges}, artifacts)}})
	if err != nil {
		diag.Bug("%v", err)
	}
	t := &trial{policy: p}
	if err := t.seal(files); err != nil {
		return &trial{why: err.Error()}
	}
	nodes := treeFor(p, ir.Request{Kind: ir.StatRequest, Path: ir.RootPath(ir.Workspace)})
	if _, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.sandboxed(t, startedWord, nil) }); err != nil {
		t.why = "the policy does not run here: " + err.Error()
	}
	return t
}

func (t *trial) seal(files []release.File) error {
	packed, err := release.Pack(files)
	if err != nil {
		return err
	}
	pins, err := developmentPins(files)
	if err != nil {
		return err
	}
	for _, in := range []struct {
		name string
		data []byte
		to   **os.File
	}{{"release", packed, &t.release}, {"pins", pins.Format(), &t.pins}} {
		fd, err := sealedFile(in.name, in.data)
		if err != nil {
			return err
		}
		*in.to = os.NewFile(uintptr(fd), in.name)
	}
	return nil
}

// withAttempt is the policy with statements for the program that attempts.
func (b *bench) withAttempt(p *ir.Policy) (*ir.Policy, error) {
	self, err := ir.ParsePath(b.self)
	if err != nil {
		return nil, err
	}
	names := func(r ir.Root) bool {
		return slices.ContainsFunc(p.Files, func(f ir.FileRule) bool { return f.Path.Root() == r })
	}
	if b.homely && b.home.Above(self) && names(ir.Home) {
		if self, err = ir.ParsePath("${home}" + strings.TrimPrefix(self.String(), b.home.String())); err != nil {
			return nil, err
		}
	}
	q := *p
	q.Targets, q.Workspace, q.Commands = []ir.Target{ir.Bwrap}, ir.ByCommand, nil
	q.Limits = []ir.Limit{{Name: ir.Timeout, Value: attemptTime.Milliseconds(), Origin: "live/timeout"}}
	q.Files = append(slices.Clone(p.Files), ir.FileRule{Path: self, Level: ir.Read, Origin: "live/read"})
	q.Execute = append(slices.Clone(p.Execute), ir.ExecuteRule{Path: self, Origin: "live/execute"})
	slices.SortStableFunc(q.Files, func(x, y ir.FileRule) int { return x.Path.Compare(y.Path) })
	slices.SortStableFunc(q.Execute, func(x, y ir.ExecuteRule) int { return x.Path.Compare(y.Path) })
	if err := q.Check(); err != nil {
		return nil, fmt.Errorf("the program that attempts cannot be added to the policy: %w", err)
	}
	return &q, nil
}
