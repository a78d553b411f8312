package bwrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// policy builds a policy of file rules written as "level path", "only level
// path", "optional level path", and "execute path". /proc and the order of rules
// are added as the compiler does.
func policy(t testing.TB, statements ...string) *ir.Policy {
	t.Helper()
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	for i, text := range append([]string{"proc"}, statements...) {
		origin := ir.Origin("p/" + text)
		r := ir.FileRule{Origin: origin}
		words := strings.Fields(text)
		for len(words) > 2 {
			r.Only = r.Only || words[0] == "only"
			r.Optional = r.Optional || words[0] == "optional"
			words = words[1:]
		}
		switch words[0] {
		case "proc":
			r.Path, r.Level, r.Backing = procPath, ir.Read, ir.ProcFS
		case "tmp":
			r.Path, r.Level, r.Backing, r.Size = ir.RootPath(ir.Tmp), ir.Write, ir.TmpFS, 1<<20
		case "shm":
			r.Path, r.Level, r.Backing, r.Size = shmPath, ir.Write, ir.TmpFS, 1<<20
		case "devices":
			p.Files = append(p.Files, minimalDevices()...)
			continue
		case "execute":
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath(words[1]), Only: r.Only, Optional: r.Optional, Origin: origin})
			continue
		case "deny", "read", "write":
			r.Path = ir.MustPath(words[1])
			r.Level = map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}[words[0]]
		default:
			t.Fatalf("statement %d: %q", i, text)
		}
		p.Files = append(p.Files, r)
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	return p
}

func minimalDevices() []ir.FileRule {
	out := []ir.FileRule{{Path: devPath, Level: ir.Read, Only: true, Backing: ir.DevFS, Origin: "p/devices"}}
	for _, n := range devNodes {
		if n.path != shmPath {
			out = append(out, ir.FileRule{Path: n.path, Level: n.level, Only: n.only, Backing: ir.DevFS, Origin: "p/devices"})
		}
	}
	return out
}

func compile(t testing.TB, statements ...string) *Set {
	t.Helper()
	s, err := Compile(policy(t, statements...))
	if err != nil {
		t.Fatalf("Compile(%q) = %v", statements, err)
	}
	return s
}

var testBinding = ir.Binding{}.With(ir.Home, ir.MustPath("/home/u")).With(ir.Tmp, ir.MustPath("/tmp")).With(ir.Workspace, ir.MustPath("/w"))

// allDirectories is facts for everything the set names, but for what kinds says.
func factsFor(s *Set, b ir.Binding, kinds map[string]Fact) Facts {
	f := Facts{}
	for _, p := range s.NamedPaths(b) {
		f[p] = Fact{Kind: Directory}
	}
	for text, fact := range kinds {
		f[ir.MustPath(text)] = fact
	}
	return f
}

func mounts(t *Table) string {
	var b strings.Builder
	for _, e := range t.Entries {
		b.WriteString(string(e.Kind) + " " + e.Path.String())
		if e.Writable {
			b.WriteString(" rw")
		}
		if e.Kind == SymbolicLink {
			b.WriteString(" → " + e.Target.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestCompileMakesOneOperationForEachPath(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements []string
		want       string
	}{
		{"ancestors are made", []string{"read /a/b/c"}, "skeleton /a, proc /proc, skeleton /a/b, link-or-bind /a/b/c"},
		{"the root lists", []string{"only read /", "read /usr"}, "skeleton / listable, proc /proc, link-or-bind /usr"},
		{"a hole is pinned", []string{"write ${workspace}", "deny ${workspace}/s/key"},
			"proc /proc, bind ${workspace} write, pin ${workspace}/s, mask ${workspace}/s/key"},
		{"a window in a hole", []string{"write ${workspace}", "deny ${workspace}/s", "read ${workspace}/s/m/pub"},
			"proc /proc, bind ${workspace} write, mask ${workspace}/s, skeleton ${workspace}/s/m, bind ${workspace}/s/m/pub read"},
		{"execute holds its name", []string{"write ${workspace}", "execute ${workspace}/b/x"},
			"proc /proc, bind ${workspace} write, pin ${workspace}/b, pin ${workspace}/b/x named"},
		{"execute elsewhere is the layers' below", []string{"read /usr", "execute /usr/bin"}, "proc /proc, link-or-bind /usr"},
		{"a deny of nothing granted leads nowhere", []string{"deny /a/b"}, "proc /proc, mask /a/b"},
		{"a carve-out is no link", []string{"write /d", "read /d/r", "deny /d/r/h", "read /d/r/h/w"},
			"bind /d write, proc /proc, bind /d/r read, mask /d/r/h, bind /d/r/h/w read"},
		{"devices and memory", []string{"devices", "shm", "tmp"}, "dev /dev, proc /proc, tmpfs /dev/shm, tmpfs ${tmp}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, tt.statements...)
			var got []string
			for _, o := range s.Operations {
				text := string(o.Verb) + " " + o.Path.String()
				switch {
				case o.Listable:
					text += " listable"
				case o.Named:
					text += " named"
				case o.Verb == Bind:
					text += " " + o.Level.String()
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("Compile(%q) = %s, want %s", tt.statements, strings.Join(got, ", "), tt.want)
			}
			again, err := Parse(s.JSON())
			if err != nil || string(again.JSON()) != string(s.JSON()) {
				t.Errorf("Parse(Compile(%q).JSON()) = %v", tt.statements, err)
			}
		})
	}
}

func TestCompileRefusesWhatMountsCannotKeep(t *testing.T) {
	for _, statements := range [][]string{
		{"read /proc/self"}, {"write /proc/sys"}, {"deny /proc/1/environ"}, {"deny /proc/self"},
		{"tmp", "devices"}, // shared memory is not stated
		{"devices", "shm", "deny /dev/shm/x"}, {"devices", "shm", "read /dev/pts/1"},
		{"only write /opt/x", "read /opt/x/y"}, {"write /opt", "only deny /opt/x", "read /opt/x/y"},
		{"read /opt", "only read /opt/d", "only deny /opt/d/f"}, {"only deny ${workspace}"}, {"write /opt", "only deny /opt/x", "execute /opt/x/y"},
	} {
		var fault *UnsupportedError
		if _, err := Compile(policy(t, statements...)); !errors.As(err, &fault) || fault.Origin == "" {
			t.Errorf("Compile(%q) = %v, want an *UnsupportedError with its origin", statements, err)
		}
	}
	for _, statements := range [][]string{
		{"deny /proc/sys"}, {"tmp", "devices", "shm"}, {"devices", "shm", "read /dev/kvm"}, {"only write /opt/x"}, {"read /", "devices", "shm"},
	} {
		if _, err := Compile(policy(t, statements...)); err != nil {
			t.Errorf("Compile(%q) = %v, want none", statements, err)
		}
	}
}

func TestTooManyArgumentsNamesTheDirectory(t *testing.T) {
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("read /opt/data/f%04d", i))
		}
		return out
	}
	if _, err := Compile(policy(t, many(2500)...)); err != nil {
		t.Errorf("Compile of 2,500 files = %v, want none", err)
	}
	var fault *TooManyArgumentsError
	_, err := Compile(policy(t, many(4000)...))
	if !errors.As(err, &fault) || fault.Count < 12000 || fault.Crowded != ir.MustPath("/opt/data") || fault.Siblings != 4000 {
		t.Errorf("Compile of 4,000 files = %v, want a *TooManyArgumentsError about /opt/data", err)
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(compile(t, "write ${workspace}", "deny ${workspace}/s/k").JSON())
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatalf("Parse(%s) = %v", good, err)
	}
	for _, change := range [][2]string{
		{`"uts"`, `"uts\u0000--bind"`},
		{`"net","cgroup-try"`, `"cgroup-try"`},
		{`"policy":"p"`, `"policy":"../p"`},
		{`"do":"pin"`, `"do":"skeleton"`},
		{`"do":"pin"`, `"do":"exec"`},
		{`"level":"write"`, `"level":"deny"`},
		{`"level":"write"`, `"level":"all"`},
		{`${workspace}/s/k`, `${workspace}/s/../k`},
		{`"path":"${workspace}/s"`, `"path":"${workspace}/t"`},
		{`obspc.bwrap/v1`, `obspc.bwrap/v2`},
		{`{"do":"mask"`, `{"do":"mask","level":"read"`},
		{`}]`, `},{"do":"bind","level":"write","origin":"p/x","path":"/"}]`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Errorf("nothing to replace: %s", change[0])
		}
		if s, err := Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%s) = %v, want an error", bad, s)
		}
	}
}
