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

// Found is what stands on the machine where an execute rule points, links
// followed.
type Found uint8

// What can stand there. The zero Found is Nothing.
const (
	Nothing Found = iota
	Program       // a file
	Directory
)

// Additions is what the runtime adds, sorted by name, where the policy states
// none of that name: HOME is the workspace and TMPDIR the tmp slot, when they are
// bound; PATH the directories of execute, in rule order. An execute rule for a
// file stands for its directory; one for a missing path is as if unsaid.
func (p *Plan) Additions(b ir.Binding, find func(ir.Path) Found) ([]string, error) {
	var out []string
	add := func(name, value string) {
		if value != "" && !p.states(name) {
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
	add("PATH", p.searchPath(b, find))
	add("TMPDIR", slot(ir.Tmp))
	if err := bound("environment", out, MaxEnvironmentBytes); err != nil {
		return nil, err
	}
	return out, nil
}

// searchPath is PATH. A directory with a colon in its path has no place in one
// (environ(7)), nor has a directory that only() names: nothing in it starts. A
// whole slot has none either: that what lies in the workspace may start is not to
// find an ls there.
//
// The policy's own rules come first, in their order. Those of embedded templates
// follow, what was installed by hand before the system's, as in the PATH that
// login(1) sets. Those of std/base are last: they name loaders, whose directories
// hold libraries, and in them directories named like programs (/usr/lib/gcc):
// make(1) takes the first such name for the program.
func (p *Plan) searchPath(b ir.Binding, find func(ir.Path) Found) string {
	var dirs [searchRanks][]string
	for _, r := range p.Execute {
		at := b.Path(r.Path)
		if at.Root() != ir.Host || r.Path.Root() != ir.Host && r.Path.IsRoot() {
			continue
		}
		switch found := find(at); {
		case found == Nothing, found == Directory && r.Only:
			continue
		case found == Program:
			at, _ = at.Parent()
		}
		if rank := searchRank(r); !strings.Contains(at.String(), ":") {
			dirs[rank] = append(dirs[rank], at.String())
		}
	}
	var out []string
	for _, dir := range slices.Concat(dirs[:]...) {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return strings.Join(out, ":")
}

// searchRanks is how many groups of directories PATH has.
const searchRanks = 4

// searchRank is the group that a rule's directory belongs to.
func searchRank(r ir.ExecuteRule) int {
	switch {
	case !embedded(r.Origin):
		return 0
	case strings.HasPrefix(string(r.Origin), "std/base/"):
		return 3
	case ir.MustPath("/usr/local").Covers(r.Path):
		return 1
	}
	return 2
}

// embedded reports whether a template of the standard library states the rule:
// "std/base/filesystem.execute[0]". A policy may be named std, with one slash less.
func embedded(o ir.Origin) bool {
	return strings.HasPrefix(string(o), "std/") && strings.Count(string(o), "/") > 1
}
