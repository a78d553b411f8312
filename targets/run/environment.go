package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Environment is the policy's own variables as NAME=value, sorted by name. With
// what Additions gives it is the whole environment; nothing is inherited.
func (p *Plan) Environment(b ir.Binding) ([]string, error) {
	var out []string
	for _, v := range p.Variables {
		text, err := v.Value.Join(b, nil)
		if err != nil {
			return nil, fmt.Errorf("environment %s: %w", v.Name, err)
		}
		out = append(out, v.Name+"="+text)
	}
	if err := bound("environment", out, MaxEnvironmentBytes); err != nil {
		return nil, err
	}
	return out, nil
}

// Additions is what the runtime adds, sorted by name, where the policy states
// none of that name: HOME is the workspace and TMPDIR the tmp slot, when they are
// bound; PATH the directories of execute, in rule order. An execute rule for a
// file stands for its directory; isDirectory tells which bound paths are
// directories, false also for what is missing.
func (p *Plan) Additions(b ir.Binding, isDirectory func(ir.Path) bool) ([]string, error) {
	var out []string
	add := func(name, value string) {
		stated := slices.ContainsFunc(p.Variables, func(v ir.Variable) bool { return v.Name == name })
		if value != "" && !stated {
			out = append(out, name+"="+value)
		}
	}
	slot := func(s ir.Root) string {
		if at, ok := b.At(s); ok {
			return at.String()
		}
		return ""
	}
	add("HOME", slot(ir.Workspace))
	add("PATH", p.searchPath(b, isDirectory))
	add("TMPDIR", slot(ir.Tmp))
	if err := bound("environment", out, MaxEnvironmentBytes); err != nil {
		return nil, err
	}
	return out, nil
}

// searchPath is PATH. A directory with a colon in its path has no place in one
// (environ(7)), nor has a directory that only() names: nothing in it starts.
func (p *Plan) searchPath(b ir.Binding, isDirectory func(ir.Path) bool) string {
	var dirs []string
	for _, r := range p.Execute {
		at := b.Path(r.Path)
		if at.Root() != ir.Host {
			continue
		}
		if isDirectory(at) {
			if r.Only {
				continue
			}
		} else if parent, ok := at.Parent(); ok {
			at = parent
		}
		if dir := at.String(); !strings.Contains(dir, ":") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}
