package ir

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTreeFindsWhatAMapFinds: a tree has a node for each path that was made and for
// all above it, none twice, and finds of any path its own and the nearest above.
func TestTreeFindsWhatAMapFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := NewTree[int](rapid.IntRange(0, 40).Draw(t, "room"))
		made := map[Path]Node{}
		for _, p := range rapid.SliceOfN(path(slotRoots...), 0, 60).Draw(t, "paths") {
			n := tree.Make(p)
			*tree.At(n) = int(n)
			for q := range p.Upward() {
				made[q] = tree.Make(q)
			}
		}
		if tree.Len() != len(made) {
			t.Fatalf("%d nodes for %d paths", tree.Len(), len(made))
		}
		for range 20 {
			p := path(slotRoots...).Draw(t, "path")
			self, above := tree.Find(p)
			wantSelf, ok := made[p]
			if !ok {
				wantSelf = NoNode
			}
			wantAbove := NoNode
			for q, ok := p.Parent(); ok && wantAbove == NoNode; q, ok = q.Parent() {
				if n, known := made[q]; known {
					wantAbove = n
				}
			}
			if self != wantSelf || above != wantAbove {
				t.Fatalf("Find(%s) = %d, %d, want %d, %d", p, self, above, wantSelf, wantAbove)
			}
			if self != NoNode && (tree.Path(self) != p || tree.Above(self) != above) {
				t.Fatalf("the node of %s is of %s, below %d, want below %d", p, tree.Path(self), tree.Above(self), above)
			}
		}
	})
}
