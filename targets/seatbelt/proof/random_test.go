package proof

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// bindingOf draws a place for each slot: apart, in what rules may name, and inside
// one another.
func bindingOf(t *rapid.T, p *ir.Policy) ir.Binding {
	tops := []string{"/Users/u", "/opt/B/h", "/Srv/a/h", "/private/var/h", "/opt/a/B/.c(1)/h"}
	b := ir.Binding{}
	for _, slot := range []ir.Root{ir.Home, ir.Tmp, ir.Workspace} {
		top := rapid.SampledFrom(tops).Draw(t, slot.String())
		if earlier, ok := b.At(ir.Home); ok && rapid.Bool().Draw(t, "in home") {
			top = earlier.Join(rapid.SampledFrom([]string{"a", "B/x", ".c(1)", "src"}).Draw(t, "below")).String()
		}
		b = b.With(slot, ir.MustPath(top+"/"+slot.String()[:1]))
	}
	for _, r := range p.Files {
		if r.Level == ir.Write && !r.Only && rapid.Bool().Draw(t, "config") {
			return b.With(ir.Config, b.Path(r.Path).Join(rapid.SampledFrom([]string{"in", "a/in", "B"}).Draw(t, "config in")+"/.Obspc"))
		}
	}
	return b
}

// nearby draws a path at, above, below or beside what the policy names, bound.
func nearby(t *rapid.T, p *ir.Policy, b ir.Binding) ir.Path {
	named := []ir.Path{ir.MustPath("/opt")}
	for _, r := range p.Files {
		named = append(named, b.Path(r.Path))
	}
	for _, r := range p.Execute {
		named = append(named, b.Path(r.Path))
	}
	for _, slot := range ir.Slots() {
		if at, ok := b.At(slot); ok {
			named = append(named, at)
		}
	}
	named = slices.DeleteFunc(named, func(p ir.Path) bool { return p.Root() != ir.Host }) // a configuration that is not given
	at := rapid.SampledFrom(named).Draw(t, "named")
	for range rapid.IntRange(0, 2).Draw(t, "up") {
		if up, ok := at.Parent(); ok {
			at = up
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "down") {
		at = at.Join(rapid.SampledFrom([]string{"a", "B", ".c(1)", "new", "in"}).Draw(t, "name"))
	}
	return at
}

// TestRandomRequests: what was proven on the classes of machines holds on any other
// (O3), and about any path (O2). Where the slots lie is drawn, and what is asked; the
// profile's answer by the proof's own reader, by the general evaluator and the
// policy's are one, but where the profile is declared tighter.
func TestRandomRequests(t *testing.T) {
	asked, allowed, nested := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		profile, err := seatbelt.Compile(p)
		if err != nil {
			return
		}
		read, err := fragment.Read(profile)
		if err != nil {
			t.Fatal(err)
		}
		c := newCheck(p, read)
		m := machine{name: "any machine", moved: ir.Host}
		b := bindingOf(t, c.policy)
		if !m.bind(c.policy, b) {
			return
		}
		_, config := b.At(ir.Config)
		if config {
			inside, _ := b.At(ir.Config)
			parent, _ := inside.Parent()
			if m.moved = ir.Config; !ir.Decide(m.policy, ir.Request{Kind: ir.WriteRequest, Path: parent}).Allow {
				return // only what lies inside a write is given
			}
		}
		if err := c.operations(config); err != nil {
			t.Fatal(err)
		}
		release := rapid.SampledFrom(operations.Supported()).Draw(t, "release")
		general, err := model.Read("p.sb", profile, b, release)
		if err != nil {
			t.Fatal(err)
		}
		nested++
		at := c.trial(m)
		c.fresh = "_"
		for range 12 {
			q, to := nearby(t, c.policy, b), nearby(t, c.policy, b)
			if resolve(q) != q || resolve(to) != to {
				continue
			}
			if err := at.compare(q, false); err != nil {
				t.Fatalf("%v, with %v\n%s\n%s", err, b, p.Text(), profile)
			}
			for _, kind := range ir.RequestKinds() {
				if kind == ir.ConnectRequest {
					continue
				}
				r := ir.Request{Kind: kind, Path: q, To: to}
				want := at.means.Decide(r).Allow
				got, ok := general.Decide(r)
				if asked++; want {
					allowed++
				}
				if (!ok || got != want) && !(want && kind == ir.StatRequest && at.hidden[q]) {
					t.Fatalf("%s: the policy says %v, the general evaluator %v (%v), with %v\n%s\n%s\n%s", r, want, got, ok, b, general.Explain(r), p.Text(), profile)
				}
			}
		}
	})
	if asked < 5000 || allowed < asked/8 || nested < 100 {
		t.Errorf("%d requests on %d machines, %d allowed: too few to say anything", asked, nested, allowed)
	}
}
