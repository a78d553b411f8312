package ir

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// slotRoots are the roots whose bindings requests are about. The configuration's
// slot is left out on purpose: left unbound, its rule is as if unsaid.
var slotRoots = []Root{Host, Home, Tmp, Workspace}

// bound is r with its paths bound.
func bound(b Binding, r Request) Request {
	r.Path, r.To = b.Path(r.Path), b.Path(r.To)
	return r
}

// TestUnboundAnswersHoldForEveryBinding is what "depends on the binding" means: an
// answer without it is the answer under every admissible binding. It also counts
// how often the warning was of use.
func TestUnboundAnswersHoldForEveryBinding(t *testing.T) {
	definite, depended, turned := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(slotRoots...).Draw(t, "policy")
		d := NewDecider(p)
		for range 6 {
			b := binding().Draw(t, "binding")
			q, err := p.Bind(b)
			if err != nil {
				continue
			}
			e := NewDecider(q)
			for range 8 {
				r := fileRequest(p, Host, Home, Workspace).Draw(t, "request")
				free, fixed := d.Decide(r), e.Decide(bound(b, r))
				if fixed.Depends != 0 {
					t.Fatalf("bound, Decide(%s) depends on %b", bound(b, r), fixed.Depends)
				}
				switch {
				case free.Depends != 0:
					depended++
					if free.Allow != fixed.Allow {
						turned++
					}
				case free.Allow != fixed.Allow:
					t.Fatalf("Decide(%s) = %v (%s) whatever the binding, and %v (%s, %v) bound to %v\n%s",
						r, free.Allow, free.Reason, fixed.Allow, fixed.Reason, fixed.Rule, b, p.Text())
				default:
					definite++
				}
			}
		}
	})
	t.Logf("%d definite, %d depend on the binding, %d of them turned", definite, depended, turned)
	if definite < 5000 || depended < 2000 || turned < 200 {
		t.Errorf("%d definite answers, %d that depend, %d turned: too few to say anything", definite, depended, turned)
	}
}

// TestAdmissibleBindingsMakeRootsOrdered is the sentence that lets one artifact be
// right for all bindings: "longest covering rule" and "latest root that has a
// covering rule, longest within it" give one answer.
func TestAdmissibleBindingsMakeRootsOrdered(t *testing.T) {
	admitted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(slotRoots...).Draw(t, "policy")
		for range 6 {
			b := binding().Draw(t, "binding")
			if err := p.Admit(b); err != nil {
				refused++
				continue
			}
			admitted++
			for range 8 {
				q := b.Path(nearby(p, Host, Home, Workspace).Draw(t, "path"))
				if longest, latest := longestRule(p, b, q), latestRule(p, b, q); longest != latest {
					t.Fatalf("%s is decided by %v (longest) and %v (latest root) under %v\n%s", q, longest, latest, b, p.Text())
				}
			}
		}
	})
	if admitted < 500 || refused < 500 {
		t.Errorf("%d bindings were admitted and %d refused, want 500 of each", admitted, refused)
	}
}

func longestRule(p *Policy, b Binding, q Path) *FileRule {
	var best *FileRule
	for i := range p.Files {
		r := &p.Files[i]
		at := b.Path(r.Path)
		if (at == q || !r.Only && at.Covers(q)) && (best == nil || at.Depth() > b.Path(best.Path).Depth()) {
			best = r
		}
	}
	return best
}

func latestRule(p *Policy, b Binding, q Path) *FileRule {
	var best *FileRule
	for i := range p.Files {
		r := &p.Files[i]
		at := b.Path(r.Path)
		if at != q && (r.Only || !at.Covers(q)) {
			continue
		}
		if best == nil || r.Path.root > best.Path.root || r.Path.root == best.Path.root && r.Path.Depth() > best.Path.Depth() {
			best = r
		}
	}
	return best
}

// TestConnectionsUnderABinding is the same for the programs of endpoints.
func TestConnectionsUnderABinding(t *testing.T) {
	definite, turned := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(slotRoots...).Draw(t, "policy")
		programs := rapid.SliceOfNDistinct(path(Host, Home, Workspace), 1, 3, rapid.ID[Path]).Draw(t, "programs")
		p.Endpoints = []Endpoint{{Name: "e", Host: HostPattern{Name: "a.test"}, Ports: []uint16{1}, Executables: programs}}
		b := binding().Draw(t, "binding")
		q, err := p.Bind(b)
		if err != nil {
			return
		}
		for range 8 {
			r := Request{Kind: ConnectRequest, Host: "a.test", Port: 1, HasBy: true, By: rapid.SampledFrom(programs).Draw(t, "by")}
			if rapid.Bool().Draw(t, "elsewhere") {
				r.By = path(Host, Home, Workspace).Draw(t, "by path")
			}
			if rapid.Bool().Draw(t, "bound") {
				r.By = b.Path(r.By)
			}
			free := Decide(p, r)
			at := r
			at.By = b.Path(r.By)
			switch fixed := Decide(q, at); {
			case free.Depends == 0 && free.Allow != fixed.Allow:
				t.Fatalf("Decide(%s) = %v whatever the binding, and %v bound to %v: %s", r, free.Allow, fixed.Allow, b, p.Endpoints[0])
			case free.Depends == 0:
				definite++
			case free.Allow != fixed.Allow:
				turned++
			}
		}
	})
	if definite < 500 || turned < 50 {
		t.Errorf("%d definite answers, %d turned: too few to say anything", definite, turned)
	}
}

func TestInadmissibleBindingsNameSlotAndRules(t *testing.T) {
	p := rules(map[string]Level{"/data/set/one": Read, "${home}/.ssh": Deny, "${workspace}": Write}, "/data/tool/bin")
	for _, tt := range []struct {
		name            string
		home, workspace string
		slot            Root
		rules           int
	}{
		{"at a host rule", "/home/u", "/data/set/one", Workspace, 2},
		{"above a host rule", "/home/u", "/data/set", Workspace, 2},
		{"above an execute rule", "/home/u", "/data/tool", Workspace, 2},
		{"above a home rule", "/w/u", "/w", Workspace, 2},
		{"inside a deny", "/home/u", "/home/u/.ssh/x", Workspace, 1},
		{"a system tree", "/etc/u", "/w", Home, 0},
		{"a system directory", "/home", "/w", Home, 0},
		{"twice the same", "/w", "/w", Workspace, 0},
		{"the host's /tmp", "/home/u", "/tmp", Workspace, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := Binding{}.With(Home, MustPath(tt.home)).With(Workspace, MustPath(tt.workspace))
			_, err := p.Bind(b)
			var refused *InadmissibleError
			if !errors.As(err, &refused) {
				t.Fatalf("Bind(home=%s, workspace=%s) = %v, want an InadmissibleError", tt.home, tt.workspace, err)
			}
			if refused.Slot != tt.slot || len(refused.Rules) != tt.rules {
				t.Errorf("Bind(home=%s, workspace=%s) blames %s with %d rules (%v), want %s with %d", tt.home, tt.workspace, refused.Slot, len(refused.Rules), err, tt.slot, tt.rules)
			}
		})
	}
}

func TestWithoutDropsMissingOptionalRules(t *testing.T) {
	p := &Policy{
		Files:   []FileRule{{Path: MustPath("/a"), Level: Read, Optional: true}, {Path: MustPath("/b"), Level: Read}},
		Execute: []ExecuteRule{{Path: MustPath("/a/x"), Optional: true}, {Path: MustPath("/b/x")}},
	}
	q := p.Without(func(Path) bool { return true })
	if len(q.Files) != 1 || len(q.Execute) != 1 || len(p.Files) != 2 || len(p.Execute) != 2 {
		t.Errorf("Without(all missing) = %v %v, and left %v %v", q.Files, q.Execute, p.Files, p.Execute)
	}
}
