package targets

import (
	"errors"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// machine is one class of machines: where slots are bound, and what the named
// paths are there. Operations are constant on each class (design 5.7, O3 and O5).
type machine struct {
	name    string
	binding ir.Binding
	kinds   kinds
}

// kinds tells what the host has at the paths that the policy names.
type kinds uint8

const (
	allDirectories kinds = iota // or files, where a rule can only be about one
	leavesAreFiles
	optionalMissing
)

var kindsNames = [...]string{"every named path is a directory", "named paths are files", "optional paths are missing"}

func (m machine) String() string { return m.name + ", " + kindsNames[m.kinds] }

// machines lists the classes. The first is slots apart from everything named, with
// each kind of paths; then each way in which one root can lie inside another.
func (v *validator) machines() ([]machine, error) {
	v.fresh = v.unnamed()
	apart, ok := v.apart()
	if !ok {
		return nil, v.differs(bwrapFile, noBinding)
	}
	out := []machine{{"slots apart", apart, allDirectories}, {"slots apart", apart, leavesAreFiles}, {"slots apart", apart, optionalMissing}}
	add := func(name string, slot ir.Root, around ir.Path) {
		b := apart.With(slot, around.Join(v.fresh+"/"+v.fresh))
		if slot == ir.Home { // the workspace is not to follow
			b = b.With(ir.Workspace, apart.Path(ir.RootPath(ir.Workspace)))
		}
		if v.policy.Admit(b) == nil {
			out = append(out, machine{name, b, allDirectories})
		}
	}
	for _, w := range []struct {
		name string
		slot ir.Root
	}{{"workspace", ir.Workspace}, {"home", ir.Home}} {
		if !v.names(w.slot) {
			continue
		}
		for _, level := range []ir.Level{ir.Read, ir.Write} {
			if r := v.hostRule(level); r != nil {
				add(w.name+" inside a "+level.String()+" of the host", w.slot, r.Path)
			}
		}
	}
	if v.names(ir.Workspace) {
		home, _ := apart.At(ir.Home)
		add("workspace in home", ir.Workspace, home)
		add("workspace in tmp", ir.Workspace, tmpPath)
	}
	if at, ok := v.written(); ok && v.names(ir.Config) {
		b := apart.With(ir.Config, apart.Path(at).Join(v.fresh))
		if v.policy.Admit(b) == nil {
			out = append(out, machine{"configuration inside a write", b, allDirectories})
		}
	}
	return out, nil
}

// noBinding is a policy that can never run.
const noBinding = "every place for the policy's slots lies inside a deny"

// tmpPath is where the tmp slot lies on Linux (design 4).
var tmpPath = ir.MustPath("/tmp")

// apart is an admissible binding that puts no slot inside what a rule names, if
// there is one.
func (v *validator) apart() (ir.Binding, bool) {
	b := ir.Binding{}.With(ir.Tmp, tmpPath)
	for _, slot := range []ir.Root{ir.Home, ir.Workspace} {
		placed := false
		for _, top := range []string{"/home", "/srv", "/mnt", "/opt", "/var/lib", "/media", "/"} {
			at := ir.MustPath(top).Join(v.fresh + slot.String()).Join(v.fresh)
			if with := b.With(slot, at); v.policy.Admit(with) == nil {
				b, placed = with, true
				break
			}
		}
		if !placed {
			return b, false
		}
	}
	return b, v.policy.Admit(b) == nil
}

// unnamed is a name that no path of the policy or of an artifact has.
func (v *validator) unnamed() string {
	name := "_"
	taken := func(p ir.Path) bool { return strings.Contains(p.Rel(), name) }
	for {
		ok := !slices.ContainsFunc(v.policy.Files, func(r ir.FileRule) bool { return taken(r.Path) }) &&
			!slices.ContainsFunc(v.policy.Execute, func(r ir.ExecuteRule) bool { return taken(r.Path) }) &&
			!slices.ContainsFunc(v.read.Set.Operations, func(o bwrap.Operation) bool { return taken(o.Path) })
		for _, r := range v.read.Landlock.Rules {
			ok = ok && !taken(r.Path)
		}
		for _, r := range v.read.Landlock.Reparent {
			ok = ok && !taken(r.Path)
		}
		if ok {
			return name
		}
		name += "_"
	}
}

// names reports whether a rule starts in the slot.
func (v *validator) names(slot ir.Root) bool {
	return slices.ContainsFunc(v.policy.Files, func(r ir.FileRule) bool { return r.Path.Root() == slot }) ||
		slices.ContainsFunc(v.policy.Execute, func(r ir.ExecuteRule) bool { return r.Path.Root() == slot })
}

// hostRule is a rule of the host's files at that level, below which a slot may be
// bound.
func (v *validator) hostRule(level ir.Level) *ir.FileRule {
	for i := range v.policy.Files {
		r := &v.policy.Files[i]
		if r.Path.Root() == ir.Host && r.Level == level && !r.Only && r.Backing == ir.HostFile && (r.Path.IsRoot() || !r.Path.InSystemTree()) {
			return r
		}
	}
	return nil
}

// written is what the policy's first write of files names.
func (v *validator) written() (ir.Path, bool) {
	for _, r := range v.policy.Files {
		if r.Level == ir.Write && !r.Only && r.Backing == ir.HostFile {
			return r.Path, true
		}
	}
	return ir.Path{}, false
}

// facts makes up the host of a class.
func (v *validator) facts(m machine) bwrap.Facts {
	f := bwrap.Facts{}
	inner, needed := map[ir.Path]bool{}, map[ir.Path]bool{}
	mark := func(set map[ir.Path]bool, p ir.Path) {
		for q, ok := p.Parent(); ok && !set[q]; q, ok = q.Parent() {
			set[q] = true
		}
	}
	need := func(p ir.Path, optional bool) {
		if !optional {
			needed[p] = true
			mark(needed, p)
		}
	}
	for _, o := range v.read.Set.Operations {
		mark(inner, m.binding.Path(o.Path))
		need(m.binding.Path(o.Path), o.Optional || !o.States())
	}
	for _, r := range v.policy.Execute {
		need(m.binding.Path(r.Path), r.Optional)
	}
	for _, p := range v.read.Set.NamedPaths(m.binding) {
		f[p] = bwrap.Fact{Kind: bwrap.Directory}
		if m.kinds == leavesAreFiles && !inner[p] {
			f[p] = bwrap.Fact{Kind: bwrap.File}
		}
	}
	for _, r := range v.policy.Files {
		p := m.binding.Path(r.Path)
		if _, named := f[p]; !named {
			continue
		}
		switch {
		case r.Only && r.Level != ir.Read:
			f[p] = bwrap.Fact{Kind: bwrap.File}
		case m.kinds == optionalMissing && r.Optional && !needed[p]:
			f[p] = bwrap.Fact{Kind: bwrap.Missing}
		}
	}
	for _, r := range v.policy.Execute {
		p := m.binding.Path(r.Path)
		if _, named := f[p]; named && m.kinds == optionalMissing && r.Optional && !needed[p] {
			f[p] = bwrap.Fact{Kind: bwrap.Missing}
		}
	}
	return f
}

// refuses reports whether the runtime would refuse the class: no command runs
// there, so nothing is to be compared.
func refuses(err error) bool {
	var node *bwrap.NodeError
	return errors.As(err, &node)
}
