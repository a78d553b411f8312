package targets

import (
	"errors"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// machine is one class of machines: where slots are bound, and what the named
// paths are there. Operations are constant on each class (design 5.7, O3 and O5).
// moved is the slot whose place tells the class from "slots apart", if any: then
// only what leads to it and what lies below it can differ.
type machine struct {
	name    string
	binding ir.Binding
	moved   ir.Root
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

// machines lists the classes (O3). The first are slots apart from everything named,
// with each kind of paths (O5): there each root stands by itself. Then each way in
// which one root can lie inside another; the order of roots, which the runtime holds
// bindings to (ir.Policy.Admit), settles the rest. Those of the second sort that are
// not admissible are left out when they are bound.
func (v *validator) machines() ([]machine, error) {
	v.fresh = v.unnamed()
	apart, ok := v.apart()
	if !ok {
		return nil, v.differs(bwrapFile, noBinding)
	}
	out := []machine{
		{"slots apart", apart, ir.Host, allDirectories},
		{"slots apart", apart, ir.Host, leavesAreFiles},
		{"slots apart", apart, ir.Host, optionalMissing},
	}
	inside := func(name string, slot ir.Root, around ir.Path) {
		out = append(out, machine{name, apart.With(slot, around.Join(v.place()+"/"+v.place())), slot, allDirectories})
	}
	for _, slot := range []ir.Root{ir.Workspace, ir.Home} {
		for _, level := range []ir.Level{ir.Read, ir.Write} {
			if r := v.hostRule(level); r != nil && v.names(slot) {
				inside(slot.String()+" inside a "+level.String()+" of the host", slot, r.Path)
			}
		}
	}
	if v.names(ir.Workspace) {
		inside("workspace in home", ir.Workspace, apart.Path(ir.RootPath(ir.Home)))
		inside("workspace in tmp", ir.Workspace, tmpPath)
	}
	if at, ok := v.written(); ok && v.names(ir.Config) {
		b := apart.With(ir.Config, apart.Path(at).Join(v.place()))
		out = append(out, machine{"configuration inside a write", b, ir.Config, allDirectories})
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
	tops := []string{"/srv", "/home", "/mnt", "/opt", "/var/lib", "/media", "/"}
	at := func(top string, slot ir.Root) ir.Path {
		return ir.MustPath(top).Join(v.fresh + slot.String()).Join(v.place())
	}
	b := ir.Binding{}.With(ir.Tmp, tmpPath)
	if v.admits(b.With(ir.Home, at(tops[0], ir.Home)).With(ir.Workspace, at(tops[0], ir.Workspace))) {
		return b.With(ir.Home, at(tops[0], ir.Home)).With(ir.Workspace, at(tops[0], ir.Workspace)), true
	}
	for _, slot := range []ir.Root{ir.Home, ir.Workspace} {
		i := slices.IndexFunc(tops, func(top string) bool { return v.admits(b.With(slot, at(top, slot))) })
		if i < 0 {
			return b, false
		}
		b = b.With(slot, at(tops[i], slot))
	}
	return b, v.admits(b)
}

// admits reports whether the binding is admissible, and keeps the bound policy.
func (v *validator) admits(b ir.Binding) bool {
	_, err := v.bind(b)
	return err == nil
}

// bind is the policy bound to b, kept for the classes that share b.
func (v *validator) bind(b ir.Binding) (*ir.Policy, error) {
	if v.bound != nil && v.binding == b {
		return v.bound, nil
	}
	bound, err := v.policy.Bind(b)
	if err != nil {
		return nil, err
	}
	v.bound, v.binding = bound, b
	return bound, nil
}

// place is the name of a directory that a slot is bound to. It differs from the
// fresh name, which stands for everything that nothing names, slots included.
func (v *validator) place() string { return v.fresh + "slot" }

// unnamed is a name that no path of the policy or of an artifact has.
func (v *validator) unnamed() string {
	name := "_"
	taken := func(p ir.Path) bool { return strings.Contains(p.Rel(), name) }
	for {
		ok := !slices.ContainsFunc(v.policy.Files, func(r ir.FileRule) bool { return taken(r.Path) }) &&
			!slices.ContainsFunc(v.policy.Execute, func(r ir.ExecuteRule) bool { return taken(r.Path) }) &&
			!slices.ContainsFunc(v.read.Set.Operations, func(o bwrap.Operation) bool { return taken(o.Path) })
		for _, list := range [][]landlock.Rule{v.read.Landlock.Execute, v.read.Landlock.Read, v.read.Landlock.Write} {
			ok = ok && !slices.ContainsFunc(list, func(r landlock.Rule) bool { return taken(r.Path) })
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

// facts makes up the host of a class (O5). Every path is there, as an optional rule
// grants no less than its surroundings; one class leaves all optional paths out, and
// one makes files of all that can be files.
func (v *validator) facts(m machine) bwrap.Facts {
	named := v.read.Set.NamedPaths(m.binding)
	f := make(bwrap.Facts, len(named))
	for _, p := range named {
		f[p] = bwrap.Fact{Kind: bwrap.Directory}
	}
	if m.kinds == leavesAreFiles {
		v.leaves(m.binding, f)
	}
	for _, r := range v.policy.Files {
		p := m.binding.Path(r.Path)
		if _, named := f[p]; named && r.Only && r.Level != ir.Read {
			f[p] = bwrap.Fact{Kind: bwrap.File}
		}
	}
	if m.kinds == optionalMissing {
		v.leaveOut(m.binding, f)
	}
	return f
}

// markAbove puts all above p into the set, which has with each path all above it.
func markAbove(set map[ir.Path]bool, p ir.Path) {
	for q, ok := p.Parent(); ok && !set[q]; q, ok = q.Parent() {
		set[q] = true
	}
}

// leaves makes files of the paths that no operation lies below.
func (v *validator) leaves(b ir.Binding, f bwrap.Facts) {
	inner := make(map[ir.Path]bool, len(f))
	for _, o := range v.read.Set.Operations {
		markAbove(inner, b.Path(o.Path))
	}
	for p := range f {
		if !inner[p] {
			f[p] = bwrap.Fact{Kind: bwrap.File}
		}
	}
}

// leaveOut makes the optional paths missing that nothing needs which is not optional.
func (v *validator) leaveOut(b ir.Binding, f bwrap.Facts) {
	needed := make(map[ir.Path]bool, len(f))
	need := func(p ir.Path, optional bool) {
		if !optional {
			needed[p] = true
			markAbove(needed, p)
		}
	}
	for _, o := range v.read.Set.Operations {
		need(b.Path(o.Path), o.Optional || !o.States())
	}
	for _, r := range v.policy.Execute {
		need(b.Path(r.Path), r.Optional)
	}
	leave := func(p ir.Path, optional bool) {
		if _, named := f[p]; named && optional && !needed[p] {
			f[p] = bwrap.Fact{Kind: bwrap.Missing}
		}
	}
	for _, r := range v.policy.Files {
		leave(b.Path(r.Path), r.Optional && !(r.Only && r.Level != ir.Read))
	}
	for _, r := range v.policy.Execute {
		leave(b.Path(r.Path), r.Optional)
	}
}

// refuses reports whether the runtime would refuse the class: no command runs
// there, so nothing is to be compared.
func refuses(err error) bool {
	var node *bwrap.NodeError
	return errors.As(err, &node)
}
