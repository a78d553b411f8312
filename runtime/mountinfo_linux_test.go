package runtime

import (
	"maps"
	"slices"
	"testing"
)

func TestMountinfo(t *testing.T) {
	const text = "22 1 0:21 / / ro,nosuid,relatime - tmpfs tmpfs rw\n" +
		"23 22 254:1 /home/u/a\\040b /a\\040b rw,relatime shared:7 master:1 - ext4 /dev/vda1 rw\n" +
		"25 24 0:30 / /x\\134y ro - tmpfs tmpfs rw\n" +
		"24 22 0:31 / /x\\134y rw - tmpfs tmpfs rw\n"
	all, err := parseMountinfo(text)
	if err != nil || len(all) != 4 {
		t.Fatalf("parseMountinfo = %v, %v", all, err)
	}
	top := reachable(all)
	for at, readOnly := range map[string]bool{"/": true, "/a b": false, `/x\y`: true} {
		if m, ok := top[at]; !ok || m.readOnly() != readOnly {
			t.Errorf("reachable[%q] = %+v, %v, want read-only %v", at, m, ok, readOnly)
		}
	}
	for _, bad := range []string{"x", "1 2 3 4 5 6", "a 1 0:1 / / ro - t t rw\n"} {
		if got, err := parseMountinfo(bad); err == nil {
			t.Errorf("parseMountinfo(%q) = %v, want an error", bad, got)
		}
	}
}

// TestReachable: what a later mount covers cannot be met by any path.
func TestReachable(t *testing.T) {
	for _, tt := range []struct {
		name string
		all  []mountPoint
		want []int // of the mounts that can be met
	}{
		{"one", []mountPoint{{id: 1, at: "/"}}, []int{1}},
		{"beside each other", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/a"}, {id: 3, parent: 1, at: "/ab"}}, []int{1, 2, 3}},
		{"one in another", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/a"}, {id: 3, parent: 2, at: "/a/b/c"}}, []int{1, 2, 3}},
		{"covered", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/a"}, {id: 3, parent: 2, at: "/a"}}, []int{1, 3}},
		{"covered with what stands on it", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/a"}, {id: 3, parent: 2, at: "/a/b"}, {id: 4, parent: 2, at: "/a"}}, []int{1, 4}},
		{"above its point", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/a/b/c"}, {id: 3, parent: 2, at: "/a/b/c/d"}, {id: 4, parent: 1, at: "/a/b"}}, []int{1, 4}},
		{"a root upon a root", []mountPoint{{id: 1, at: "/"}, {id: 2, parent: 1, at: "/"}, {id: 3, parent: 2, at: "/a"}, {id: 4, parent: 1, at: "/b"}}, []int{2, 3}},
		{"in a circle", []mountPoint{{id: 1, parent: 2, at: "/a"}, {id: 2, parent: 1, at: "/b"}}, nil},
	} {
		var got []int
		for _, m := range reachable(tt.all) {
			got = append(got, m.id)
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: reachable = %v, want %v (%v)", tt.name, got, tt.want, slices.Sorted(maps.Keys(reachable(tt.all))))
		}
	}
}
