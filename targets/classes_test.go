package targets

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler/ir"
)

// prepared is one class of machines of a policy's artifacts, ready to be compared.
func prepared(t interface{ Fatalf(string, ...any) }, p *ir.Policy, files map[string][]byte, m int) (*sandbox, bool) {
	linux, err := ReadLinux(files)
	if err != nil {
		t.Fatalf("ReadLinux = %v", err)
	}
	v := &validator{policy: p, files: files, read: linux}
	v.summarise()
	machines, err := v.machines()
	if err != nil || m >= len(machines) {
		return nil, false
	}
	bound, err := v.bind(machines[m].binding)
	if err != nil {
		return nil, false
	}
	s, err := v.sandbox(machines[m], bound)
	return s, s != nil && err == nil
}

// TestRandomRequestsGetTheAnswerOfTheirClass: the classes are exhaustive (O2). Any
// path is answered, by the policy and by the artifacts, as the representative of
// its class is: itself when it is a node, else a fresh name below the deepest node
// above it.
func TestRandomRequestsGetTheAnswerOfTheirClass(t *testing.T) {
	asked := 0
	rapid.Check(t, func(t *rapid.T) {
		p := policy(t, statementsOf().Draw(t, "statements")...)
		artifacts, err := Compile(p)
		if err != nil {
			return // other tests say when it may be
		}
		files := map[string][]byte{}
		for _, a := range artifacts {
			files[a.Name] = a.Data
		}
		s, ok := prepared(t, p, files, rapid.IntRange(0, 8).Draw(t, "machine"))
		if !ok {
			return
		}
		nodes := slices.SortedFunc(slices.Values(s.nodes()), ir.Path.Compare)
		named := map[ir.Path]bool{}
		for _, n := range nodes {
			named[n] = true
		}
		for range 20 {
			q := rapid.SampledFrom(nodes).Draw(t, "node")
			for range rapid.IntRange(0, 3).Draw(t, "below") {
				q = q.Join(rapid.SampledFrom([]string{"a", "b", "c", "d", "etc", s.fresh, "dev"}).Draw(t, "name"))
			}
			slot, _ := s.machine.binding.At(s.machine.moved)
			if !slot.Covers(q) && !q.Covers(slot) {
				continue // the same as where slots lie apart, and compared there
			}
			rep := representative(s, named, q)
			asked++
			sameClass(t, s, q, rep)
		}
	})
	if asked < 2000 {
		t.Errorf("%d requests were asked: too few to say anything", asked)
	}
}

func representative(s *sandbox, named map[ir.Path]bool, q ir.Path) ir.Path {
	for n := range q.Upward() {
		if named[n] {
			if n == q {
				return q
			}
			return n.Join(s.fresh)
		}
	}
	return ir.Path{}.Join(s.fresh)
}

func sameClass(t *rapid.T, s *sandbox, q, rep ir.Path) {
	for _, kind := range ir.FileRequests() {
		a, b := s.means.Decide(ir.Request{Kind: kind, Path: q}), s.means.Decide(ir.Request{Kind: kind, Path: rep})
		if a.Allow != b.Allow {
			t.Fatalf("%s %s is %v for the policy, and %v for %s, which stands for its class (%s)", kind, q, a.Allow, b.Allow, rep, s.machine)
		}
	}
	a, b := s.table.Access(q), s.table.Access(rep)
	if a != b {
		t.Fatalf("the mounts give %s %+v, and %s, which stands for its class, %+v (%s)", q, a, rep, b, s.machine)
	}
	if s.domain.at(q) != s.domain.at(rep) {
		t.Fatalf("Landlock tells %s from %s, which stands for its class (%s)", q, rep, s.machine)
	}
}
