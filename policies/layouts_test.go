package policies_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// TestLayouts compiles a policy that extends std/base and starts a few programs,
// and asks the models of the Linux artifacts what becomes of it on each layout.
func TestLayouts(t *testing.T) {
	files, err := filepath.Glob("testdata/layouts/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("testdata/layouts has %d files, %v; want at least 12", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			l := readLayout(t, file)
			if len(l.starts) == 0 || len(l.reads) == 0 {
				t.Fatalf("%s starts and reads nothing", file)
			}
			newMachine(t, l, together()) // whatever they let start, its links are covered
			m := newMachine(t, l, []string{"std/base"})
			for _, s := range l.starts {
				m.starts(s[0])
				m.starts(s[1])
			}
			for _, p := range l.reads {
				m.reads(p)
			}
			for _, p := range []string{"/etc/shadow", "/etc/ld.so.preload", "/home/u", "/root", "/run/x", "/var/lib/x", "/etc/authselect", "/sys"} {
				if m.table.Allows(ir.Request{Kind: ir.ReadRequest, Path: ir.MustPath(p)}) {
					t.Errorf("%s can be read", p)
				}
			}
		})
	}
}

// together is every template that a policy may extend at once: std/git and
// std/git-worktree want the workspace's .git to be different things.
func together() []string {
	return slices.DeleteFunc(policies.Names(), func(name string) bool { return name == "std/git-worktree" })
}

// machine is a sandbox on a layout, by the models of its artifacts.
type machine struct {
	t      *testing.T
	layout *layout
	table  *bwrap.Table
	rules  *landlock.Rules
}

func newMachine(t *testing.T, l *layout, templates []string) *machine {
	t.Helper()
	p := compileOne(t, l.policy(templates))
	set, err := bwrap.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	b := ir.Binding{}.With(ir.Workspace, ir.MustPath("/srv/work")).With(ir.Tmp, ir.MustPath("/tmp"))
	for _, dir := range []string{"/srv/work", "/srv/work/.git", "/srv/work/.git/hooks"} {
		l.nodes[dir] = isDir
	}
	l.nodes["/srv/work/.git/config"], l.nodes["/srv/work/.git/config.worktree"] = isFile, isFile
	facts := l.facts(set.NamedPaths(b))
	table, err := set.Table(b, facts)
	if err != nil {
		t.Fatalf("Table() = %v", err)
	}
	stream, err := bwrap.Materialise(set, b, facts, bwrap.FDs{Seccomp: 3, Status: 4})
	if err != nil {
		t.Fatalf("Materialise() = %v", err)
	}
	if read, err := bwrap.ReadStream(stream); err != nil || !read.Equal(table) {
		t.Errorf("ReadStream(Materialise()) = %v; the table differs: %s", err, table.Diff(read))
	}
	m := &machine{t, l, table, landlock.Compile(p)}
	m.keepsExecute(p)
	return m
}

// keepsExecute is the runtime's condition on execute rules: one that leads over a
// link needs a rule for what it leads to.
func (m *machine) keepsExecute(p *ir.Policy) {
	for _, r := range p.Execute {
		real, links := m.layout.follow(r.Path.String())
		if r.Path.Root() != ir.Host || len(links) == 0 || m.layout.nodes[real] == "" {
			continue
		}
		if !slices.ContainsFunc(p.Execute, func(o ir.ExecuteRule) bool { return o.Covers(ir.MustPath(real)) }) {
			m.t.Errorf("%s leads to %s, which no execute rule covers", r.Path, real)
		}
	}
}

// policy is what a user of that system would write.
func (l *layout) policy(templates []string) string {
	read, execute := []string{}, []string{}
	for _, s := range l.starts {
		real, _ := l.follow(s[0])
		if !slices.Contains(execute, real) {
			execute = append(execute, real)
		}
	}
	for _, s := range l.states {
		if s[0] == "read" {
			read = append(read, s[1])
		} else {
			execute = append(execute, s[1])
		}
	}
	list := func(paths []string) string { return strings.ReplaceAll(fmt.Sprintf("%q", paths), `" "`, `", "`) }
	return fmt.Sprintf(`policy "p" {
  version = 1
  extends = %s
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    read    = %s
    execute = %s
  }
}
`, list(templates), list(read), list(execute))
}

// reads reports the file that path leads to inside, over the links that bwrap
// makes and then over those that the host's directories hold; all must show.
func (m *machine) reads(path string) string {
	real, links := m.layout.follow(m.table.Resolve(ir.MustPath(path)).String())
	for _, p := range append(links, real) {
		if !m.table.Allows(ir.Request{Kind: ir.ReadRequest, Path: ir.MustPath(p)}) {
			m.t.Errorf("%s cannot be read, on the way from %s", p, path)
		}
	}
	if m.layout.nodes[real] != isFile {
		m.t.Errorf("%s leads to %s, which is no file of the layout", path, real)
	}
	return real
}

// starts holds a file to be readable and startable.
func (m *machine) starts(path string) {
	if real := m.reads(path); !m.rules.Executes(ir.MustPath(real)) {
		m.t.Errorf("%s (%s) cannot start", path, real)
	}
}
