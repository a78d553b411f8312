package targets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// shownRow is a row in one line: section, text, and each target's cell.
func shownRow(r Row) string {
	out := r.Section + ": " + r.Text
	for _, c := range r.Cells {
		out += fmt.Sprintf("; %s %s", c.Target, strings.Join(c.Layers, "+"))
		if c.Capability != Exact {
			out += " " + c.Capability.String()
		}
		if c.Waived {
			out += " waived"
		}
		if c.Scope != "" {
			out += " each " + string(c.Scope)
		}
		for _, n := range c.Notes {
			out += " (" + string(n.Feature) + ")"
		}
	}
	return out
}

func TestMatrix(t *testing.T) {
	p := policy(t, "write ${workspace}", "read ${workspace}/.git", "deny ${workspace}/.env", "read /etc/hosts", "execute /usr/bin/env")
	p.Targets = []ir.Target{ir.Bwrap, ir.Seatbelt}
	p.Limits = []ir.Limit{
		{Name: ir.Memory, Value: 1 << 20, Origin: "p/limits.memory"}, {Name: ir.Processes, Value: 9, Scope: ir.TreeScope, Origin: "p/limits.processes"},
		{Name: ir.OpenFiles, Value: 64, Origin: "p/limits.open_files"}, {Name: ir.Timeout, Value: 5, Origin: "p/limits.timeout"},
		{Name: ir.TmpSize, Value: 4096, Origin: "p/limits.tmp_size"}, {Name: ir.WorkspaceSize, Value: 8192, Origin: "p/limits.workspace_size"},
	}
	p.System.Services = []ir.Name{{Name: "com.apple.logd", Origin: "p/system.services[0]"}}
	p.Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}}
	p.Waivers = []ir.Waiver{{Target: ir.Seatbelt, Feature: ir.FeatureLoopback, Reason: "r", Origin: "p/waive.seatbelt[0]"}}
	want := map[string]string{
		"write ${workspace}":        "filesystem: write ${workspace}; bwrap mount; seatbelt Seatbelt",
		"read ${workspace}/.git":    "filesystem: read ${workspace}/.git; bwrap mount tighter (filesystem.held-directory) (filesystem.carve-out); seatbelt Seatbelt tighter (filesystem.protected-case)",
		"deny ${workspace}/.env":    "filesystem: deny ${workspace}/.env; bwrap mount tighter (filesystem.held-directory) (filesystem.carve-out); seatbelt Seatbelt tighter (filesystem.protected-case)",
		"read /etc/hosts":           "filesystem: read /etc/hosts; bwrap mount; seatbelt Seatbelt (filesystem.root-link)",
		"execute /usr/bin/env":      "filesystem: execute /usr/bin/env; bwrap Landlock (filesystem.execute); seatbelt Seatbelt",
		"endpoint a.test:443":       "network: endpoint a.test:443; bwrap proxy+network namespace; seatbelt proxy+Seatbelt tighter waived (network.loopback)",
		"open_files 64":             "limits: open_files 64; bwrap rlimit each process; seatbelt rlimit each process",
		"timeout 5 ms":              "limits: timeout 5 ms; bwrap runtime each run; seatbelt runtime each run",
		"memory 1048576 bytes":      "limits: memory 1048576 bytes; bwrap runtime each watched (limits.memory); seatbelt  absent each watched (limits.memory)",
		"processes 9":               "limits: processes 9; bwrap cgroup or rlimit each tree; seatbelt  absent each tree (limits.processes)",
		"tmp_size 4096 bytes":       "limits: tmp_size 4096 bytes; bwrap mount each run; seatbelt runtime each watched",
		"workspace_size 8192 bytes": "limits: workspace_size 8192 bytes; bwrap runtime each watched; seatbelt runtime each watched",
		"service com.apple.logd":    "system: service com.apple.logd; bwrap  (system.services); seatbelt Seatbelt",
	}
	rows := Matrix(p)
	seen := map[ir.Origin]bool{}
	for _, r := range rows {
		if seen[r.Origin] {
			t.Errorf("Matrix lists %s twice", r.Origin)
		}
		seen[r.Origin] = true
		if w, ok := want[r.Text]; ok && shownRow(r) != w {
			t.Errorf("Matrix says\n%s, want\n%s", shownRow(r), w)
		}
		delete(want, r.Text)
	}
	for text := range want {
		t.Errorf("Matrix has no row for %s", text)
	}
}

// TestMatrixIsWhole asks for a row for every statement that uses a feature, and
// that no cell is better than the table's answer to any of them.
func TestMatrixIsWhole(t *testing.T) {
	for name, statements := range samples {
		p := policy(t, statements...)
		p.Targets = []ir.Target{ir.Bwrap, ir.Seatbelt}
		rows := map[ir.Origin]Row{}
		for _, r := range Matrix(p) {
			rows[r.Origin] = r
		}
		for _, u := range p.Uses() {
			r, ok := rows[u.Origin]
			if !ok {
				t.Errorf("%s: Matrix has no row for %s", name, u.Origin)
				continue
			}
			for _, c := range r.Cells {
				if a := Answers(c.Target, u.Feature); c.Capability > a.Capability {
					t.Errorf("%s: the cell of %s for %s is %s, and %s is %s", name, u.Origin, c.Target, c.Capability, u.Feature, a.Capability)
				}
			}
		}
	}
}

// TestMatrixOfStatementsThatBecomeSeveral asks that one statement has one row.
func TestMatrixOfStatementsThatBecomeSeveral(t *testing.T) {
	p := policy(t, "read /dev/null", "read /dev/zero")
	for i := range p.Files {
		if p.Files[i].Path.Depth() == 2 {
			p.Files[i].Backing, p.Files[i].Origin = ir.DevFS, "p/system.devices"
		}
	}
	var got []string
	for _, r := range Matrix(p) {
		if r.Origin == "p/system.devices" {
			got = append(got, r.Section+": "+r.Text)
		}
	}
	if len(got) != 1 || got[0] != "system: read /dev/null (dev) …" {
		t.Errorf("Matrix has the rows %q for one statement", got)
	}
}

// TestScopes: every limit is satisfied by something, and asking for the kernel's
// scope leaves nothing weaker.
func TestScopes(t *testing.T) {
	for _, f := range ir.Features() {
		name, ok := strings.CutPrefix(string(f), "limits.")
		if !ok {
			continue
		}
		for _, target := range []ir.Target{ir.Bwrap, ir.Seatbelt} {
			if got := Scopes(target, ir.Limit{Name: ir.LimitName(name)}); len(got) == 0 {
				t.Errorf("Scopes(%s, %s) is empty: nothing satisfies the limit", target, name)
			}
			got := Scopes(target, ir.Limit{Name: ir.LimitName(name), Scope: ir.TreeScope})
			if len(got) != 1 || got[0] != ir.TreeScope {
				t.Errorf("Scopes(%s, %s of the tree) is %v", target, name, got)
			}
		}
	}
}
