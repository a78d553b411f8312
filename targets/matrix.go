package targets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Row is one statement of a policy and what each of its targets does about it.
// Text is the statement as people read it; Section groups rows as blocks of a
// policy do.
type Row struct {
	Origin  ir.Origin
	Section string
	Text    string
	Cells   []Cell // in the order of the policy's targets
}

// Cell is one target's answer to one statement: the layers that enforce it, and
// the weakest capability among the features that the statement uses. Scope is
// the weakest that satisfies a limit, "" for what is no limit.
type Cell struct {
	Target     ir.Target
	Layers     []string
	Capability Capability
	Waived     bool // the weakest one is accepted by a waive block
	Scope      ir.Scope
	Notes      []Note
}

// Note is what there is to know about a feature on a target. Reason is why it is
// waived, "" when it is not.
type Note struct {
	Feature    ir.Feature
	Capability Capability
	Text       string
	Reason     string
}

// Matrix lists every statement of the policy in the order of its lists, each
// once, what obspc adds included.
func Matrix(p *ir.Policy) []Row {
	m := matrix{policy: p, uses: map[ir.Origin][]ir.Use{}, index: map[ir.Origin]int{}, rules: map[ir.Origin]int{}}
	for _, u := range p.Uses() {
		m.uses[u.Origin] = append(m.uses[u.Origin], u)
	}
	for i := range p.Files {
		m.file(&p.Files[i])
	}
	for i := range p.Execute {
		m.add("filesystem", p.Execute[i].Origin, p.Execute[i].String())
	}
	m.add("network", p.Unix.Origin, p.Unix.String())
	if p.Loopback.Host {
		m.add("network", p.Loopback.Origin, p.Loopback.String())
	}
	for _, r := range p.DeniedHosts {
		m.add("network", r.Origin, r.String())
	}
	for i := range p.Endpoints {
		m.add("network", p.Endpoints[i].Origin, p.Endpoints[i].String())
	}
	for _, v := range p.Environment {
		m.add("environment", v.Origin, fmt.Sprintf("%s=%q", v.Name, v.Value))
	}
	for _, l := range p.Limits {
		m.add("limits", l.Origin, fmt.Sprintf("%s %d%s", l.Name, l.Value, units[l.Name]))
	}
	for _, r := range p.Syscalls {
		m.add("syscalls", r.Origin, r.String())
	}
	for _, list := range []struct {
		word  string
		names []ir.Name
	}{{"service", p.System.Services}, {"sysctl", p.System.Sysctls}, {"ipc", p.System.IPC}, {"iokit", p.System.IOKit}} {
		for _, n := range list.names {
			m.add("system", n.Origin, list.word+" "+n.Name)
		}
	}
	for _, c := range p.Commands {
		m.add("commands", c.Origin, fmt.Sprintf("command %q", c.Name))
	}
	return m.rows
}

// units are those of the IR's limits.
var units = map[ir.LimitName]string{
	ir.Timeout: " ms", ir.CPUTime: " s", ir.Memory: " bytes", ir.FileSize: " bytes", ir.TmpSize: " bytes",
	ir.WorkspaceSize: " bytes", ir.Stdout: " bytes", ir.Stderr: " bytes",
}

// matrix collects the rows of one policy.
type matrix struct {
	policy *ir.Policy
	uses   map[ir.Origin][]ir.Use
	index  map[ir.Origin]int // the row of a statement
	rules  map[ir.Origin]int // how many rules it became
	rows   []Row
}

func (m *matrix) file(r *ir.FileRule) {
	section, text := "filesystem", r.String()
	switch r.Backing {
	case ir.DevFS, ir.ProcFS:
		section, text = "system", fmt.Sprintf("%s (%s)", r, r.Backing)
	case ir.TmpFS:
		text = fmt.Sprintf("%s (%s, %d bytes)", r, r.Backing, r.Size)
		if r.Path.Root() == ir.Host {
			section = "system"
		}
	}
	m.add(section, r.Origin, text)
}

// add is a rule; of a statement that became several, the first stands for all.
func (m *matrix) add(section string, o ir.Origin, text string) {
	m.rules[o]++
	if i, ok := m.index[o]; ok {
		if m.rules[o] == 2 {
			m.rows[i].Text += " …"
		}
		return
	}
	m.index[o] = len(m.rows)
	row := Row{Origin: o, Section: section, Text: text}
	for _, t := range m.policy.Targets {
		row.Cells = append(row.Cells, m.cell(t, o))
	}
	m.rows = append(m.rows, row)
}

func (m *matrix) cell(t ir.Target, o ir.Origin) Cell {
	c := Cell{Target: t, Capability: Exact}
	if len(m.uses[o]) == 0 && t == ir.Bwrap {
		c.Layers = []string{byMount} // the sandbox's own /proc uses no feature
	}
	seen := map[ir.Feature]bool{}
	for _, u := range m.uses[o] {
		if !seen[u.Feature] {
			seen[u.Feature] = true
			c.feature(m.policy, u.Feature)
		}
	}
	if t == ir.Bwrap && seen[ir.FeatureHeldDirectory] && (seen[ir.FeatureDeny] || seen[ir.FeatureCarveOut]) && m.policy.Workspace != ir.FreshWorkspace {
		c.Notes = append(c.Notes, Note{ir.FeatureCarveOut, Exact, "kept while nobody outside the sandbox replaces it; when somebody does, the run is ended", ""})
	}
	return c
}

func (c *Cell) feature(p *ir.Policy, f ir.Feature) {
	a := Answers(c.Target, f)
	if name, ok := strings.CutPrefix(string(f), "limits."); ok {
		a = c.limit(p, ir.LimitName(name), a)
	}
	if a.Layer != "" && a.Capability > Absent && !slices.Contains(c.Layers, a.Layer) {
		c.Layers = append(c.Layers, a.Layer)
	}
	reason, waived := "", false
	for _, w := range p.Waivers {
		if w.Target == c.Target && w.Feature == f && a.Capability < Exact {
			reason, waived = w.Reason, true
		}
	}
	if a.Note != "" && a.Note != perProcess { // which Scope says
		c.Notes = append(c.Notes, Note{f, a.Capability, a.Note, reason})
	}
	if a.Capability < c.Capability {
		c.Capability, c.Waived = a.Capability, waived
	} else if a.Capability == c.Capability && a.Capability < Exact {
		c.Waived = c.Waived && waived
	}
}

// limit notes the scope of a limit. The answer changes where the policy asks for
// more than the runtime keeps by itself.
func (c *Cell) limit(p *ir.Policy, name ir.LimitName, a Answer) Answer {
	for _, l := range p.Limits {
		if l.Name != name {
			continue
		}
		satisfy := Scopes(c.Target, l)
		c.Scope = satisfy[len(satisfy)-1]
		if l.Scope == ir.TreeScope && a.Capability == Exact {
			a.Layer, a.Note = byCgroup, ""
			if name == ir.Processes {
				a.Layer = byCgroup + " or " + byRlimit
			}
		}
	}
	return a
}
