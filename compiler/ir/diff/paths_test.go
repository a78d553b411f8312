package diff

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestPathsBeyond(t *testing.T) {
	for _, tt := range []struct {
		name      string
		new, old  requestRules
		want      string // a path that is told, "" for none
		different bool
	}{
		{"the same", requestRules{allow: []ir.PathPattern{"/a/**"}}, requestRules{allow: []ir.PathPattern{"/a/**"}}, "", false},
		{"in other words", requestRules{allow: []ir.PathPattern{"/a", "/a/*", "/a/*/**"}}, requestRules{allow: []ir.PathPattern{"/a/**"}}, "", false},
		{"one segment more", requestRules{allow: []ir.PathPattern{"/a/**"}}, requestRules{allow: []ir.PathPattern{"/a/*"}}, "/a", true},
		{"a deny less", requestRules{allow: []ir.PathPattern{"/a/**"}}, requestRules{allow: []ir.PathPattern{"/a/**"}, deny: []ir.PathPattern{"/a/x*"}}, "/a/x", true},
		{"a deny that says nothing", requestRules{allow: []ir.PathPattern{"/a/**"}}, requestRules{allow: []ir.PathPattern{"/a/**"}, deny: []ir.PathPattern{"/b/**"}}, "", false},
		{"everything", requestRules{allow: []ir.PathPattern{"/**"}}, requestRules{allow: []ir.PathPattern{"/*", "/*/**"}}, "", false},
		{"encoded", requestRules{allow: []ir.PathPattern{"/%C3%A9*"}}, requestRules{allow: []ir.PathPattern{"/%C3%A9"}}, "/%C3%A9z", true},
		{"dots are no names", requestRules{allow: []ir.PathPattern{"/.*"}}, requestRules{allow: []ir.PathPattern{"/..*"}}, "/.z", true},
		{"nothing", requestRules{}, requestRules{allow: []ir.PathPattern{"/**"}}, "", false},
	} {
		got, known := tt.new.beyond(tt.old)
		if !known || (got != "") != tt.different || got != tt.want {
			t.Errorf("%s: %q, %t; want %q", tt.name, got, known, tt.want)
		}
	}
}

// TestPathsBeyondFindsWhatThereIs asks paths at random: where one is allowed by one
// list alone, the search finds one, and what it finds is one.
func TestPathsBeyondFindsWhatThereIs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	segment := func() string { return []string{"a", "b", "a*", "*", "*b", "**"}[r.IntN(6)] }
	pattern := func() ir.PathPattern {
		for {
			var parts []string
			for range 1 + r.IntN(3) {
				parts = append(parts, segment())
			}
			if p, err := ir.ParsePathPattern("/" + strings.Join(parts, "/")); err == nil {
				return p
			}
		}
	}
	rules := func() (out requestRules) {
		for range 1 + r.IntN(2) {
			out.allow = append(out.allow, pattern())
		}
		if r.IntN(2) == 0 {
			out.deny = append(out.deny, pattern())
		}
		return out
	}
	var same, differ int
	for range 1500 {
		new, old := rules(), rules()
		found, known := new.beyond(old)
		if !known {
			t.Fatalf("%v against %v is unknown", new, old)
		}
		if found != "" {
			differ++
			if path, _, err := ir.CanonicalTarget(found); err != nil || path != found || !new.allows(found) || old.allows(found) {
				t.Fatalf("%v against %v: %q is no witness", new, old, found)
			}
			continue
		}
		same++
		for range 60 {
			var parts []string
			for range 1 + r.IntN(4) {
				parts = append(parts, []string{"a", "b", "ab", "x", "ax", "xb"}[r.IntN(6)])
			}
			path := "/" + strings.Join(parts, "/")
			if new.allows(path) && !old.allows(path) {
				t.Fatalf("%v against %v: %q was not found", new, old, path)
			}
		}
	}
	if same < 100 || differ < 100 {
		t.Errorf("%d pairs alike and %d not: one of them says too little", same, differ)
	}
}

// TestPathsBeyondGivesUp: a search past the limit is unknown, and the same within it
// is not.
func TestPathsBeyondGivesUp(t *testing.T) {
	rules := requestRules{allow: []ir.PathPattern{"/**/a*b/**/c", "/**/b*a/**/d"}}
	if found, known := rules.beyond(rules); !known || found != "" {
		t.Fatalf("%q, %t; want nothing, known", found, known)
	}
	defer func(most int) { mostStates = most }(mostStates)
	mostStates = 10
	if found, known := rules.beyond(rules); known || found != "" {
		t.Errorf("%q, %t; want unknown", found, known)
	}
}
