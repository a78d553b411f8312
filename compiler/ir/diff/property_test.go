package diff

import (
	"fmt"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"pgregory.net/rapid"
)

// covers reports whether the change, of one direction, tells of word about the
// concrete path x under the binding: x lies in one of its classes, or is a name
// that follows from one (what leads to it, what its directory shows).
func (c Change) covers(policies [2]*ir.Policy, b ir.Binding, word ir.RequestKind, x ir.Path) bool {
	if c.cover == nil { // names that lead to a slot
		return slices.Contains(c.Words, word) && c.Kind.isGrant()
	}
	echo := wordOf(word)&echoWords != 0
	for _, p := range c.cover {
		at := b.Path(p.node.path)
		up, _ := x.Parent()
		if echo && (x.Covers(at) || word == ir.StatRequest && (inClass(policies, b, p, up) || up == at)) {
			return true
		}
		if slices.Contains(c.Words, word) && inClass(policies, b, p, x) {
			return true
		}
	}
	return false
}

func (k Kind) isGrant() bool { return k == GrantAdded || k == GrantRemoved }

// inClass reports whether x lies in the class under the binding.
func inClass(policies [2]*ir.Policy, b ir.Binding, p place, x ir.Path) bool {
	at := b.Path(p.node.path)
	if p.depth == itself {
		return x == at
	}
	if !at.Above(x) {
		return false
	}
	for _, q := range namedPaths(policies[before], policies[after])[1:] {
		if q.Root() != p.node.path.Root() {
			continue
		}
		for up := range q.Upward() {
			if p.node.path.Above(up) && b.Path(up).Covers(x) {
				return false
			}
		}
	}
	return true
}

// TestEveryDifferenceIsTold: a request that only one policy allows, under a binding
// that both admit, lies in a class of a change of that direction.
func TestEveryDifferenceIsTold(t *testing.T) {
	asked, differed, sameAllowed := 0, 0, 0
	words := map[ir.RequestKind]int{}
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawPair(t)
		got := Policies(old, new, nil)
		named := namedPaths(old, new)
		for range 6 {
			b := drawBinding(t, named)
			boundOld, errOld := old.Bind(b)
			boundNew, errNew := new.Bind(b)
			if errOld != nil || errNew != nil {
				continue
			}
			deciders := [2]*ir.Decider{ir.NewDecider(boundOld), ir.NewDecider(boundNew)}
			for range 12 {
				x := drawNearby(t, "path", b, named)
				for _, word := range fileWords {
					r := ir.Request{Kind: word, Path: x}
					was, is := deciders[before].Decide(r).Allow, deciders[after].Decide(r).Allow
					asked++
					if was == is {
						if was {
							sameAllowed++
						}
						continue
					}
					differed++
					words[word]++
					kind := GrantAdded
					if was {
						kind = GrantRemoved
					}
					if !slices.ContainsFunc(got.Changes, func(c Change) bool {
						return c.Kind == kind && c.covers([2]*ir.Policy{old, new}, b, word, x)
					}) {
						t.Fatalf("%s is %s under home=%s workspace=%s, and no change tells of it\n%s", r, kind, b.Path(ir.RootPath(ir.Home)), b.Path(ir.RootPath(ir.Workspace)), show(old, new, got))
					}
				}
			}
		}
	})
	t.Logf("%d requests, %d answered differently: %v", asked, differed, words)
	for _, word := range fileWords {
		if words[word] < 50 {
			t.Errorf("%s was answered differently %d times, want 50", word, words[word])
		}
	}
	if 3*(differed+sameAllowed) < asked {
		t.Errorf("of %d requests %d differ and %d are allowed by both, want a third", asked, differed, sameAllowed)
	}
}

// TestEveryWitnessHolds: only one policy allows it, the one that the change says.
func TestEveryWitnessHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawPair(t)
		checkWitnesses(t, old, new, Policies(old, new, nil))
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkWitnesses(t fataler, old, new *ir.Policy, got Comparison) {
	for _, c := range got.Changes {
		if len(c.Witnesses) == 0 {
			t.Fatalf("%s %s has no witness\n%s", c.Kind, c.Subject, show(old, new, got))
		}
		for _, w := range slices.Concat(c.Witnesses, c.claims()) {
			switch {
			case c.Kind.isGrant():
				boundOld, errOld := old.Bind(w.Binding)
				boundNew, errNew := new.Bind(w.Binding)
				if errOld != nil || errNew != nil {
					t.Fatalf("witness %s of %s: its binding is refused: %v, %v\n%s", w, c.Kind, errOld, errNew, show(old, new, got))
				}
				// The other slots lie apart, where that is admitted.
				apart := w.Binding
				for _, slot := range []ir.Root{ir.Home, ir.Workspace} {
					if _, ok := apart.At(slot); !ok {
						apart = apart.With(slot, ir.MustPath("/apart").Join(slot.String()))
					}
				}
				if o, err := old.Bind(apart); err == nil {
					if n, err := new.Bind(apart); err == nil {
						boundOld, boundNew, w.Binding = o, n, apart
					}
				}
				was, is := ir.Decide(boundOld, bind(w)).Allow, ir.Decide(boundNew, bind(w)).Allow
				if was == is || is != (c.Kind == GrantAdded) {
					t.Fatalf("witness %s of %s: allowed before: %v, after: %v\n%s", w, c.Kind, was, is, show(old, new, got))
				}
			case c.Kind == BindingAdmitted || c.Kind == BindingRefused:
				was, is := old.Admit(w.Binding) == nil, new.Admit(w.Binding) == nil
				if was == is || is != (c.Kind == BindingAdmitted) {
					t.Fatalf("witness %s of %s: admitted before: %v, after: %v\n%s", w, c.Kind, was, is, show(old, new, got))
				}
			}
		}
	}
}

// claims are a request for each word of the headline about each place that it names.
func (c Change) claims() []Witness {
	if len(c.Words) == 0 {
		return nil
	}
	var out []Witness
	for _, s := range c.spans {
		for _, kind := range s.words.list() {
			for depth, meant := range s.depth {
				if meant {
					out = append(out, Witness{Request: ir.Request{Kind: kind, Path: s.asked[depth]}, Binding: s.binding})
				}
			}
		}
	}
	return out
}

// bind is the witness's request about the paths that its binding gives.
func bind(w Witness) ir.Request {
	r := w.Request
	r.Path, r.By = w.Binding.Path(r.Path), w.Binding.Path(r.By)
	return r
}

// TestTradingPlaces: what one direction adds, the other removes.
func TestTradingPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawPair(t)
		there, back := Policies(old, new, nil), Policies(new, old, nil)
		if a, b := mirrored(there), plainly(back); !slices.Equal(a, b) {
			t.Fatalf("there %v\nback %v\n%s", a, b, show(old, new, there))
		}
	})
}

// plainly is what a comparison says, in canonical form.
func plainly(c Comparison) []string {
	var out []string
	for _, change := range c.Changes {
		if change.Kind == BackingChanged { // its witness says which is which
			change.Witnesses = nil
		}
		out = append(out, fmt.Sprint(change.Kind, change.Subject, change.Words, change.Witnesses, change.scope, change.Old, change.New))
	}
	slices.Sort(out)
	return out
}

func mirrored(c Comparison) []string {
	turned := Comparison{Changes: slices.Clone(c.Changes)}
	for i := range turned.Changes {
		change := &turned.Changes[i]
		change.Kind = kinds[change.Kind].mirror
		change.Old, change.New = change.New, change.Old
		change.scope = slices.Clone(change.scope)
	}
	return plainly(turned)
}

// TestNothingChanged: neither the same policy nor the same rules in another order.
func TestNothingChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawPair(t)
		q := *p
		q.Files = rapid.Permutation(p.Files).Draw(t, "files")
		q.Execute = rapid.Permutation(p.Execute).Draw(t, "execute")
		for i := range q.Files {
			q.Files[i].Origin = "another/template"
		}
		if got := Policies(p, &q, nil); len(got.Changes) != 0 || len(got.Notes) != 0 {
			t.Fatalf("%s", show(p, &q, got))
		}
	})
}

func show(old, new *ir.Policy, c Comparison) string {
	out := old.Text() + "\n=>\n\n" + new.Text() + "\n"
	for _, change := range c.Changes {
		out += fmt.Sprintf("%s %s: %v %v\n", change.Kind, change.Subject, change.Words, change.Witnesses)
	}
	return out
}

// TestPairsFollowFromTheirParts: a rename or link that only one policy allows has a
// part, about one path, that only that policy allows.
func TestPairsFollowFromTheirParts(t *testing.T) {
	differed := 0
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawPair(t)
		named := namedPaths(old, new)
		deciders := [2]*ir.Decider{ir.NewDecider(old), ir.NewDecider(new)}
		for range 60 {
			r := ir.Request{Kind: ir.RenameRequest, Path: drawNearby(t, "from", ir.Binding{}, named), To: drawNearby(t, "to", ir.Binding{}, named)}
			first := ir.RemoveRequest
			if rapid.Bool().Draw(t, "link") {
				r.Kind, first = ir.LinkRequest, ir.WriteRequest
			}
			for side, d := range deciders {
				alone := func(r ir.Request) bool { return d.Decide(r).Allow && !deciders[1-side].Decide(r).Allow }
				if !alone(r) {
					continue
				}
				differed++
				if !alone(ir.Request{Kind: first, Path: r.Path}) && !alone(ir.Request{Kind: ir.CreateRequest, Path: r.To}) {
					t.Fatalf("%s differs and neither part does\n%s", r, show(old, new, Comparison{}))
				}
			}
		}
	})
	if differed < 100 {
		t.Errorf("%d pairs differed, want 100", differed)
	}
}
