package seatbelt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// places are where rules of generated policies stand. Some lie around or beside
// what the slots are bound to, /Users/u and /Users/u/src/w.
var places = []string{
	"/", "/usr", "/usr/share", "/data", "/data/a", "/data/a/b", "/data/a/b/c", "/Users", "/Users/u", "/Users/u/src",
	"${home}", "${home}/.ssh", "${home}/.ssh/pub", "${home}/src", "${workspace}", "${workspace}/a", "${workspace}/a/b",
	"${workspace}/a/b/c", "${workspace}/.git/hooks", "${tmp}", "/etc/ssl", "/var/db",
}

func generate(rng *rand.Rand) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}}
	p.Unix = ir.UnixRule{Visible: rng.IntN(3) > 0, Origin: "p/network.unix"}
	for i, place := range places {
		path := ir.MustPath(place)
		if rng.IntN(3) > 0 {
			continue
		}
		r := ir.FileRule{Path: path, Level: ir.Level(rng.IntN(3)), Origin: ir.Origin(fmt.Sprintf("p/filesystem.read[%d]", i))}
		if path.Root() == ir.Tmp {
			r.Level, r.Backing, r.Size = ir.Write, ir.TmpFS, 1<<20
		} else {
			r.Only = rng.IntN(6) == 0
		}
		if r.Level == ir.Write && place == "/" {
			r.Level = ir.Read
		}
		p.Files = append(p.Files, r)
	}
	for i, place := range places {
		if path := ir.MustPath(place); rng.IntN(5) == 0 && path.Root() != ir.Tmp {
			origin := ir.Origin(fmt.Sprintf("p/filesystem.execute[%d]", i))
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: path, Only: rng.IntN(6) == 0, Origin: origin})
		}
	}
	sortRules(p)
	return p
}

// bindings are where generated policies have their slots: one in the other, apart,
// and in places that rules name.
var bindings = []ir.Binding{
	bound,
	bound.With(ir.Workspace, ir.MustPath("/data/a/w")),
	bound.With(ir.Home, ir.MustPath("/data/h")).With(ir.Workspace, ir.MustPath("/Users/u/src")),
	bound.With(ir.Home, ir.MustPath("/srv/h")).With(ir.Workspace, ir.MustPath("/private/var/folders/zz/T/run/w")),
}

// asks are paths at, above, beside and below every rule of every policy.
func asks(b ir.Binding) []ir.Path {
	var out []ir.Path
	seen := map[ir.Path]bool{}
	for _, place := range places {
		at, _, _ := resolve(b.Path(ir.MustPath(place)))
		for q := range at.Upward() {
			for _, p := range []ir.Path{q, q.Join("new"), q.Join("new/deep")} {
				if !seen[p] {
					out, seen[p] = append(out, p), true
				}
			}
		}
	}
	return out
}

// TestMeaning compares generated policies with ir.Decide on every class of
// request, on every release: never wider, and never tighter either but for what
// the policy's own text cannot know of the machine.
func TestMeaning(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	paths := map[ir.Binding][]ir.Path{}
	for _, b := range bindings {
		paths[b] = asks(b)
	}
	counts := map[ir.RequestKind][2]int{}
	policies := 0
	for policies < 120 {
		p := generate(rng)
		binding := bindings[rng.IntN(len(bindings))]
		b, err := p.Bind(binding)
		if err != nil {
			continue
		}
		policies++
		// The IR does not know macOS's links.
		for i := range b.Files {
			b.Files[i].Path, _, _ = resolve(b.Files[i].Path)
		}
		for i := range b.Execute {
			b.Execute[i].Path, _, _ = resolve(b.Execute[i].Path)
		}
		d := ir.NewDecider(b)
		m := onRelease(t, p, binding, release(policies%numReleases))
		compare := func(r ir.Request) {
			want, got := d.Decide(r).Allow, m.permits(t, r)
			c := counts[r.Kind]
			if want {
				c[1]++
			} else {
				c[0]++
			}
			counts[r.Kind] = c
			if want != got && !(want && unknowable(p, binding, r)) {
				t.Fatalf("%s: profile says %v to %s, Decide %v, for\n%s", m.release, got, r, want, b.Text())
			}
		}
		for _, path := range paths[binding] {
			for _, kind := range ir.FileRequests() {
				compare(ir.Request{Kind: kind, Path: path})
			}
			to := paths[binding][rng.IntN(len(paths[binding]))]
			compare(ir.Request{Kind: ir.RenameRequest, Path: path, To: to})
			compare(ir.Request{Kind: ir.LinkRequest, Path: path, To: to})
		}
	}
	for kind, c := range counts {
		if c[0] < 50 || c[1] < 50 {
			t.Errorf("%s was refused %d times and allowed %d times", kind, c[0], c[1])
		}
	}
}

// unknowable: whether a mask right below a place of an earlier root can be seen
// depends on where the slot is bound.
func unknowable(p *ir.Policy, b ir.Binding, r ir.Request) bool {
	if r.Kind != ir.StatRequest {
		return false
	}
	for _, f := range p.Files {
		if f.Level == ir.Deny && f.Path.Root() != ir.Host && b.Path(f.Path) == r.Path {
			return true
		}
	}
	return false
}

// TestCase tries protected names under other spellings, the bound part included.
func TestCase(t *testing.T) {
	p := statements("read=[/Users] write=[W] deny=[W/Secret/key] read=[W/.git/hooks] deny=[H/.ssh] execute=[W, H]")
	p.Unix = ir.UnixRule{Visible: true, Origin: "p/network.unix"}
	for _, m := range machines(t, p, bound) {
		for _, tt := range []struct {
			op, path string
			want     bool
		}{
			{"file-read-data", "/Users/u/src/w/secret/KEY", false},
			{"file-read-data", "/users/U/src/W/SECRET/key/x", false},
			{"file-read-data", "/Users/u/src/w/Secret/keys", true},
			{"file-write-create", "/Users/u/src/w/.GIT/Hooks/pre-commit", false},
			{"file-read-data", "/Users/u/src/w/.GIT/Hooks/pre-commit", true},
			{"file-write-unlink", "/Users/u/src/w/SECRET", false},
			{"file-write-unlink", "/Users/u/src/w/.Git", false},
			{"file-write-unlink", "/Users/u/src/w/.gitx", true},
			{"file-read-data", "/Users/U/.SSH/id", false},
			{"process-exec*", "/Users/u/src/w/secret/KEY", false},
			{"process-exec*", "/Users/u/src/w/secret/KEYS", true},
			{"network-outbound", "/Users/u/src/w/secret/KEY", false},
			{"network-outbound", "/Users/u/src/w/secret/KEYS", true},
			{"file-read-data", "/Users/u/xssh/id", true},
		} {
			if got := m.allows(tt.op, event{Path: tt.path}); got != tt.want {
				t.Errorf("%s: %s %s = %v, want %v", m.release, tt.op, tt.path, got, tt.want)
			}
		}
	}
}

// TestMaskSeen: a mask right below a slot's own root can be seen where all is
// readable, and not where only() might open nothing but the directory's names.
func TestMaskSeen(t *testing.T) {
	for stated, want := range map[string]bool{
		"read=[/] deny=[H/.ssh]": true, "read=[/usr] deny=[H/.ssh]": false, "read=[/, /Users/u] deny=[H/.ssh]": false,
	} {
		p := statements(stated)
		for i := range p.Files {
			p.Files[i].Only = p.Files[i].Path == ir.MustPath("/Users/u")
		}
		b, err := p.Bind(bound)
		if err != nil {
			t.Fatal(err)
		}
		r := ir.Request{Kind: ir.StatRequest, Path: ir.MustPath("/Users/u/.ssh")}
		if got := ir.Decide(b, r).Allow; got != want {
			t.Errorf("Decide(%s, %s) = %v, want %v", stated, r, got, want)
		}
		for _, m := range machines(t, p, bound) {
			if got := m.permits(t, r); got != want {
				t.Errorf("%s: profile of %s allows %s: %v, want %v", m.release, stated, r, got, want)
			}
		}
	}
}

// TestConfig: the carve-out for what obspc trusts stands when it is bound.
func TestConfig(t *testing.T) {
	p := statements("write=[W]")
	p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Config), Level: ir.Read, Optional: true, Origin: "builtin/config"})
	at := ir.MustPath("/Users/u/src/w/tools/.obspc")
	for _, given := range []bool{false, true} {
		b := bound
		if given {
			b = b.With(ir.Config, at)
		}
		for _, m := range machines(t, p, b) {
			for _, path := range []string{at.String(), at.String() + "/p", strings.ToUpper(at.String()), "/Users/u/src/w/tools", "/Users/u/src/w/Tools"} {
				if got := m.allows("file-write-unlink", event{Path: path}); got != !given && strings.HasPrefix(path, "/Users/u/src/w/") {
					t.Errorf("%s: config bound %v: unlink %s = %v", m.release, given, path, got)
				}
			}
			if !m.allows("file-read-data", event{Path: at.String() + "/p"}) {
				t.Errorf("%s: config cannot be read", m.release)
			}
		}
	}
}
