package runtime

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// trusted keeps what obspc trusts out of the command's reach (design 5.1). p is
// bound, but for the slot config; list is what is trusted. It returns the directory
// that config is to be bound to: the one directory strictly inside a write that
// holds all of it; false when nothing of it lies inside a write.
func trusted(p *ir.Policy, list []trust) (ir.Path, bool, *Refusal) {
	writes := map[ir.Path]bool{}
	for _, r := range p.Files {
		if r.Level == ir.Write {
			writes[r.Path] = true
		}
	}
	if len(writes) == 0 {
		return ir.Path{}, false, nil
	}
	decider := ir.NewDecider(p)
	var carve ir.Path
	found := false
	for _, t := range list {
		for _, dir := range t.directories {
			if !writesHost(decider, dir) {
				continue
			}
			switch {
			case writes[dir]:
				return ir.Path{}, false, trustedIsWrite(t.path, dir)
			case !found || dir.Covers(carve):
				carve, found = dir, true
			case !carve.Covers(dir):
				return ir.Path{}, false, trustedApart(carve, dir)
			}
		}
	}
	return carve, found, nil
}

// writesHost reports whether the command may write the host's own p. A memory
// file system at p or above only hides it.
func writesHost(d *ir.Decider, p ir.Path) bool {
	answer := d.Decide(ir.Request{Kind: ir.WriteRequest, Path: p})
	rule, ok := answer.Rule.(*ir.FileRule)
	return answer.Allow && ok && rule.Backing == ir.HostFile
}

// trust is something that obspc trusts on this machine.
type trust struct {
	path string // as the caller named it
	// directories decide what the path leads to: the one that it is or lies in, and
	// each one with a link on the way, for whoever replaces that link replaces what is
	// trusted. None when it does not exist.
	directories []ir.Path
	// names are what it leads to and the links on the way.
	names []ir.Path
}

// findTrusts looks at everything that is trusted.
func findTrusts(paths []string) ([]trust, *Refusal) {
	var out []trust
	for _, path := range paths {
		t, refusal := findTrust(path)
		if refusal != nil {
			return nil, refusal
		}
		out = append(out, t)
	}
	return out, nil
}

func findTrust(path string) (trust, *Refusal) {
	t := trust{path: path}
	if !filepath.IsAbs(path) {
		here, err := unix.Getwd()
		if err != nil {
			return t, refuse(Input, "", "the current directory has no path")
		}
		path = filepath.Join(here, path)
	}
	at, err := ir.NewPath(ir.Host, filepath.Clean(path))
	if err != nil {
		return t, refuse(Input, "", "%v", err)
	}
	n, err := lookup(at)
	if err != nil {
		return t, refuse(Machine, "", "%v", err)
	}
	if !n.exists() {
		return t, nil
	}
	for _, l := range n.links {
		parent, _ := l.at.Parent()
		t.directories = append(t.directories, parent)
		t.names = append(t.names, l.at)
	}
	t.names = append(t.names, n.real)
	holds := n.real
	if kindOf(n.stat.Mode) != bwrap.Directory {
		holds, _ = n.real.Parent()
	}
	t.directories = append(t.directories, holds)
	return t, nil
}

// ownPrograms refuses a policy under which the command could replace what runs
// it.
func ownPrograms(p *ir.Policy, bubblewrap ir.Path) *Refusal {
	decider := ir.NewDecider(p)
	self, err := unixReadlink("/proc/self/exe")
	if err != nil {
		return refuse(Machine, "", "find our own executable: %v", err)
	}
	own, err := ir.NewPath(ir.Host, strings.TrimSuffix(self, " (deleted)"))
	if err != nil {
		return refuse(Machine, "", "our own executable: %v", err)
	}
	for _, program := range []ir.Path{own, bubblewrap} {
		if writesHost(decider, program) {
			return programInWrite(program)
		}
	}
	return nil
}

func unixReadlink(path string) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, buffer)
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}

func trustedIsWrite(path string, dir ir.Path) *Refusal {
	what := path + " is trusted and"
	if path == dir.String() {
		what = "what is trusted"
	}
	return refuse(Input, "keep it in a directory of its own, as in "+dir.Join(".obspc").String()+", which is then kept read-only",
		"%s lies directly in %s, which this policy lets the command write", what, dir)
}

func trustedApart(one, other ir.Path) *Refusal {
	return refuse(Input, "keep them together in one directory, or outside what the policy lets the command write",
		"%s and %s are both trusted, lie inside a write, and only one directory can be kept read-only", one, other)
}

func programInWrite(program ir.Path) *Refusal {
	return refuse(Input, "install it elsewhere, or name a narrower write", "this policy lets the command write %s, which runs it", program)
}
