package runtime

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/registry"
	"github.com/obspc/obspc/targets/bwrap"
)

// tmpInside is where the slot tmp lies in every Linux sandbox: a memory file
// system of the sandbox's own. The host's /tmp is never bound by it.
var tmpInside = ir.MustPath("/tmp")

// uses is the set of slots that p needs a path for.
func uses(p *ir.Policy) map[ir.Root]bool {
	out := map[ir.Root]bool{}
	for _, r := range p.Files {
		out[r.Path.Root()] = true
	}
	for _, r := range p.Execute {
		out[r.Path.Root()] = true
	}
	values := func(v ir.Value) {
		for _, part := range v {
			if slot, ok := part.(ir.SlotRef); ok {
				out[ir.Root(slot)] = true
			}
		}
	}
	for _, v := range p.Environment {
		values(v.Value)
	}
	for _, c := range p.Commands {
		out[c.Executable.Root()] = true
		for _, a := range c.Arguments {
			values(a)
		}
	}
	return out
}

// bind gives the slots that the policy uses their paths, and checks them. A
// fresh workspace is made here and noted; made is then its path.
func bind(p *ir.Policy, kind ir.WorkspaceKind, dir string, note func(registry.Node) error) (b ir.Binding, made ir.Path, refusal *Refusal) {
	used := uses(p)
	if used[ir.Home] {
		home, refusal := homeOf(os.Getuid())
		if refusal == nil {
			refusal = checkDirectory(ir.Home, home)
		}
		if refusal != nil {
			return b, made, refusal
		}
		b = b.With(ir.Home, home)
	}
	if used[ir.Tmp] {
		b = b.With(ir.Tmp, tmpInside)
	}
	if used[ir.Workspace] {
		at, refusal := workspace(kind, dir, note)
		if refusal != nil {
			return b, made, refusal
		}
		if kind == ir.FreshWorkspace {
			made = at
		}
		b = b.With(ir.Workspace, at)
	}
	return b, made, nil
}

// workspace is the workspace's path.
func workspace(kind ir.WorkspaceKind, dir string, note func(registry.Node) error) (ir.Path, *Refusal) {
	if kind == ir.FreshWorkspace {
		at, err := freshWorkspace(note)
		if err != nil {
			return ir.Path{}, refuse(Machine, "", "%v", err)
		}
		return at, nil
	}
	if !filepath.IsAbs(dir) {
		// The kernel's answer, without links; $PWD may hold some.
		here, err := unix.Getwd()
		if err != nil || !filepath.IsAbs(here) {
			return ir.Path{}, refuse(Input, "", "the current directory has no path")
		}
		dir = filepath.Join(here, dir)
	}
	at, err := ir.NewPath(ir.Host, filepath.Clean(dir))
	if err != nil {
		return ir.Path{}, refuse(Input, "", "workspace: %v", err)
	}
	return at, checkDirectory(ir.Workspace, at)
}

// checkDirectory holds a slot's path to be a real directory, reached without a
// link, of the caller or of root.
func checkDirectory(slot ir.Root, at ir.Path) *Refusal {
	n, err := lookup(at)
	if err != nil {
		return refuse(Machine, "", "%s: %v", slot, err)
	}
	switch {
	case len(n.links) > 0:
		return slotIsLink(slot, n)
	case n.barred != nil:
		return slotBarred(slot, at, n.barred.at)
	case n.kind == bwrap.Missing:
		return slotMissing(slot, at)
	case n.kind != bwrap.Directory:
		return slotNoDirectory(slot, at, n.kind)
	case n.stat.Uid != 0 && int(n.stat.Uid) != os.Getuid():
		return slotForeign(slot, at, n.stat.Uid)
	}
	return nil
}

func bindingRefused(e *ir.InadmissibleError) *Refusal {
	r := refuse(Input, "name another directory, or change the rule", "%v", e)
	for _, rule := range e.Rules {
		r.Statements = append(r.Statements, rule.From())
	}
	return r
}

func slotIsLink(slot ir.Root, n *node) *Refusal {
	first := n.links[0]
	if first.at == n.path {
		return refuse(Input, "name the directory itself: "+n.real.String(), "%s cannot be %s: it is a link to %s", slot, n.path, first.target)
	}
	return refuse(Input, "name the directory itself: "+n.real.String(), "%s cannot be %s: %s on the way is a link to %s", slot, n.path, first.at, first.target)
}

func slotBarred(slot ir.Root, at, barrier ir.Path) *Refusal {
	return refuse(Input, "", "%s cannot be %s: you may not search %s", slot, at, barrier)
}

func slotMissing(slot ir.Root, at ir.Path) *Refusal {
	if slot == ir.Home {
		return refuse(Machine, "run as a user that has a home directory, or leave ${home} out of the policy",
			"home cannot be %s, which %s names: it does not exist", at, passwdFile)
	}
	return refuse(Input, "make it, or name another directory", "%s cannot be %s: it does not exist", slot, at)
}

func slotNoDirectory(slot ir.Root, at ir.Path, kind bwrap.Kind) *Refusal {
	return refuse(Input, "name a directory", "%s cannot be %s: it is a %s", slot, at, kind)
}

func slotForeign(slot ir.Root, at ir.Path, owner uint32) *Refusal {
	return refuse(Input, "name a directory of your own", "%s cannot be %s: it belongs to user %d", slot, at, owner)
}
