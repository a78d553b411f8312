package diff

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"pgregory.net/rapid"
)

// Generators of pairs of policies that are edits of each other, of bindings that
// both admit, and of requests made from their own rules: few names, so that rules
// meet.

// TestMain runs every property 1,000 times unless the command line says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

var names = []string{"a", "b", "ab"}

// hostTops are where generated host paths begin: ordinary, a system directory
// below which slots may be bound, and a system tree below which none may.
var hostTops = []string{"a", "a", "b", "home", "usr"}

var roots = []ir.Root{ir.Host, ir.Host, ir.Home, ir.Workspace}

func drawPath(t *rapid.T, label string, roots ...ir.Root) ir.Path {
	p := ir.RootPath(rapid.SampledFrom(roots).Draw(t, label+" root"))
	for range rapid.IntRange(0, 3).Draw(t, label+" depth") {
		choice := names
		if p == (ir.Path{}) {
			choice = hostTops
		}
		p = p.Join(rapid.SampledFrom(choice).Draw(t, label+" name"))
	}
	return p
}

func drawFile(t *rapid.T, label string) ir.FileRule {
	r := ir.FileRule{Path: drawPath(t, label, roots...), Origin: ir.Origin("p/" + label)}
	r.Level = rapid.SampledFrom([]ir.Level{ir.Deny, ir.Read, ir.Read, ir.Write, ir.Write, ir.Write, ir.Write}).Draw(t, label+" level")
	if r.Level == ir.Write && r.Path == (ir.Path{}) {
		r.Level = ir.Read
	}
	r.Only = rapid.IntRange(0, 6).Draw(t, label+" only") == 0
	r.Optional = r.Level == ir.Read && rapid.IntRange(0, 5).Draw(t, label+" optional") == 0
	return r
}

func drawExecute(t *rapid.T, label string) ir.ExecuteRule {
	return ir.ExecuteRule{
		Path: drawPath(t, label, roots...), Only: rapid.IntRange(0, 3).Draw(t, label+" only") == 0, Origin: ir.Origin("p/" + label),
	}
}

// settle makes the lists what Check wants them to be.
func settle(t *rapid.T, p *ir.Policy) *ir.Policy {
	slices.SortStableFunc(p.Files, func(x, y ir.FileRule) int { return x.Path.Compare(y.Path) })
	p.Files = slices.CompactFunc(p.Files, func(x, y ir.FileRule) bool { return x.Path == y.Path })
	slices.SortStableFunc(p.Execute, func(x, y ir.ExecuteRule) int { return x.Path.Compare(y.Path) })
	p.Execute = slices.CompactFunc(p.Execute, func(x, y ir.ExecuteRule) bool { return x.Path == y.Path })
	if err := p.Check(); err != nil {
		t.Fatalf("generated a policy that Check refuses: %v", err)
	}
	return p
}

// drawPair draws a policy and an edit of it.
func drawPair(t *rapid.T) (*ir.Policy, *ir.Policy) {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	p.Unix.Visible = rapid.Bool().Draw(t, "visible")
	for range rapid.IntRange(2, 7).Draw(t, "files") {
		p.Files = append(p.Files, drawFile(t, "file"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "runs") {
		p.Execute = append(p.Execute, drawExecute(t, "run"))
	}
	if rapid.IntRange(0, 3).Draw(t, "tmp") == 0 {
		p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Tmp), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20, Origin: "p/tmp"})
	}
	settle(t, p)
	q := *p
	q.Files, q.Execute = slices.Clone(p.Files), slices.Clone(p.Execute)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		switch rapid.IntRange(0, 6).Draw(t, "edit") {
		case 0, 1:
			q.Files = append(q.Files, drawFile(t, "added"))
		case 2:
			q.Execute = append(q.Execute, drawExecute(t, "added run"))
		case 3:
			if len(q.Execute) > 0 {
				i := rapid.IntRange(0, len(q.Execute)-1).Draw(t, "dropped run")
				q.Execute = slices.Delete(q.Execute, i, i+1)
			}
		case 4:
			q.Unix.Visible = rapid.Bool().Draw(t, "visible now")
		default:
			if len(q.Files) > 0 {
				i := rapid.IntRange(0, len(q.Files)-1).Draw(t, "dropped")
				q.Files = slices.Delete(q.Files, i, i+1)
			}
		}
	}
	return p, settle(t, &q)
}

// drawBinding draws what the slots are bound to: close to the host rules of both
// policies and to each other.
func drawBinding(t *rapid.T, named []ir.Path) ir.Binding {
	near := func(label string) ir.Path {
		p := rapid.SampledFrom(named).Draw(t, label)
		p, _ = ir.NewPath(ir.Host, "/"+p.Rel())
		for range rapid.IntRange(0, 2).Draw(t, label+" up") {
			p, _ = p.Parent()
		}
		for range rapid.IntRange(0, 2).Draw(t, label+" down") {
			p = p.Join(rapid.SampledFrom(names).Draw(t, label+" name"))
		}
		return p
	}
	home, workspace := near("home"), near("workspace")
	switch rapid.IntRange(0, 3).Draw(t, "workspace in") {
	case 0:
		rel := rapid.SampledFrom(named).Draw(t, "in home").Rel()
		workspace = home.Join(rel).Join(rapid.SampledFrom(names).Draw(t, "below home"))
	case 1:
		workspace = ir.MustPath("/tmp").Join(rapid.SampledFrom(names).Draw(t, "below tmp"))
	}
	return ir.Binding{}.With(ir.Home, home).With(ir.Tmp, ir.MustPath("/tmp")).With(ir.Workspace, workspace)
}

// namedPaths are the paths that rules of either policy name, after one that is
// always there.
func namedPaths(policies ...*ir.Policy) []ir.Path {
	out := []ir.Path{ir.MustPath("/a")}
	for _, p := range policies {
		for _, r := range p.Files {
			out = append(out, r.Path)
		}
		for _, r := range p.Execute {
			out = append(out, r.Path)
		}
	}
	return out
}

// drawNearby draws a concrete path that some rule has an opinion about.
func drawNearby(t *rapid.T, label string, b ir.Binding, named []ir.Path) ir.Path {
	p := b.Path(rapid.SampledFrom(named).Draw(t, label))
	switch rapid.IntRange(0, 11).Draw(t, label+" near") {
	case 0:
		p, _ = p.Parent()
	case 1:
		if up, ok := p.Parent(); ok {
			p, _ = up.Parent()
		}
	case 2, 3, 4, 5:
		p = p.Join(rapid.SampledFrom(names).Draw(t, label+" below"))
	case 6, 7, 8:
		p = p.Join(rapid.SampledFrom(names).Draw(t, label+" below")).Join("deep")
	}
	return p
}
