package ir

import (
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Generators of policies and of requests made from their own rules: few names,
// so that rules meet.

// TestMain runs every property 2,000 times unless the command line says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

var names = []string{"a", "b", "c", "ab"}

// hostTops are where generated host paths begin: ordinary, a system directory
// below which slots may be bound, and a system tree below which none may.
var hostTops = []string{"a", "b", "home", "usr"}

// path draws a path of one of the roots.
func path(roots ...Root) *rapid.Generator[Path] {
	return rapid.Custom(func(t *rapid.T) Path {
		p := RootPath(rapid.SampledFrom(roots).Draw(t, "root"))
		if p.root == Tmp {
			return p
		}
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			choice := names
			if p == (Path{}) {
				choice = hostTops
			}
			p = p.Join(rapid.SampledFrom(choice).Draw(t, "name"))
		}
		return p
	})
}

// filePolicy draws a policy of file and execute rules that passes Check.
func filePolicy(roots ...Root) *rapid.Generator[*Policy] {
	return rapid.Custom(func(t *rapid.T) *Policy {
		p := &Policy{Name: "p", Version: 1, Targets: []Target{Bwrap}, Unix: UnixRule{Origin: "builtin/unix"}}
		p.Unix.Visible = rapid.Bool().Draw(t, "visible")
		for i, at := range rapid.SliceOfNDistinct(path(roots...), 1, 8, rapid.ID[Path]).Draw(t, "paths") {
			r := FileRule{Path: at, Level: rapid.SampledFrom([]Level{Deny, Read, Read, Write, Write, Write, Write, Write, Write}).Draw(t, "level"), Origin: Origin("p/filesystem[" + string(rune('0'+i)) + "]")}
			if r.Level == Write && at == (Path{}) {
				r.Level = Read
			}
			r.Only = r.Level == Read && rapid.IntRange(0, 5).Draw(t, "only") == 0
			r.Optional = r.Level != Deny && rapid.IntRange(0, 5).Draw(t, "optional") == 0
			if at.root == Tmp {
				r = FileRule{Path: at, Level: Write, Backing: TmpFS, Size: 1 << 20, Origin: r.Origin}
			}
			p.Files = append(p.Files, r)
		}
		execute := slices.DeleteFunc(slices.Clone(roots), func(r Root) bool { return r == Tmp })
		for i, at := range rapid.SliceOfNDistinct(path(execute...), 0, 4, rapid.ID[Path]).Draw(t, "execute") {
			only := rapid.IntRange(0, 3).Draw(t, "only") == 0
			p.Execute = append(p.Execute, ExecuteRule{Path: at, Only: only, Origin: Origin("p/execute[" + string(rune('0'+i)) + "]")})
		}
		slices.SortFunc(p.Files, func(x, y FileRule) int { return x.Path.Compare(y.Path) })
		slices.SortFunc(p.Execute, func(x, y ExecuteRule) int { return x.Path.Compare(y.Path) })
		if err := p.Check(); err != nil {
			t.Fatalf("generated a policy that Check refuses: %v", err)
		}
		return p
	})
}

// nearby draws a path that the policy's rules have an opinion about: one that a
// rule names, its directory, a neighbour whose name begins alike, or something
// below it.
func nearby(p *Policy, roots ...Root) *rapid.Generator[Path] {
	var named []Path
	for _, r := range p.Files {
		named = append(named, r.Path)
		if r.Level == Write { // or most requests would be refused
			named = append(named, r.Path)
		}
	}
	for _, r := range p.Execute {
		named = append(named, r.Path)
	}
	return rapid.Custom(func(t *rapid.T) Path {
		if len(named) == 0 || rapid.IntRange(0, 19).Draw(t, "anywhere") == 0 {
			return path(roots...).Draw(t, "path")
		}
		q := rapid.SampledFrom(named).Draw(t, "named")
		switch rapid.IntRange(0, 8).Draw(t, "near") {
		case 0:
			if parent, ok := q.Parent(); ok {
				return parent
			}
		case 1:
			if parent, ok := q.Parent(); ok {
				return parent.Join(q.Base() + "b")
			}
		case 2, 3, 4:
			return q.Join(rapid.SampledFrom(names).Draw(t, "below"))
		case 5, 6, 7:
			return q.Join(rapid.SampledFrom(names).Draw(t, "below")).Join(rapid.SampledFrom(names).Draw(t, "further"))
		}
		return q
	})
}

// fileRequest draws a request of every word about paths near the rules.
func fileRequest(p *Policy, roots ...Root) *rapid.Generator[Request] {
	at := nearby(p, roots...)
	return rapid.Custom(func(t *rapid.T) Request {
		r := Request{Kind: rapid.SampledFrom(fileWords).Draw(t, "word"), Path: at.Draw(t, "path")}
		if r.Kind == RenameRequest || r.Kind == LinkRequest {
			r.To = at.Draw(t, "to")
		}
		return r
	})
}

// binding draws what the slots may be bound to: close to the host rules and to
// each other, and tmp where Linux has it.
func binding() *rapid.Generator[Binding] {
	return rapid.Custom(func(t *rapid.T) Binding {
		home := path(Host).Draw(t, "home")
		workspace := path(Host).Draw(t, "workspace")
		if rapid.Bool().Draw(t, "workspace in home") {
			workspace = home.Join(rapid.SampledFrom(names).Draw(t, "below home"))
		}
		return Binding{}.With(Home, home).With(Tmp, MustPath("/tmp")).With(Workspace, workspace)
	})
}
