package operations

import "testing"

// TestTable holds the table to its form: names stand once, parents exist in the
// same release, and every operation ends in a decision.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range All() {
		if seen[o.Name] {
			t.Errorf("%s stands twice", o.Name)
		}
		seen[o.Name] = true
		for _, r := range Releases() {
			if o.In(r) && !ends(o, r) {
				t.Errorf("%s: %s never ends", r, o.Name)
			}
		}
	}
	for r, want := range map[Release]int{Mavericks: 113, Sierra: 137, Catalina: 145, Monterey: 188, Ventura: 191, Sonoma: 196} {
		count := 0
		for _, o := range All() {
			if o.In(r) {
				count++
			}
		}
		if count != want {
			t.Errorf("%s has %d operations, want %d", r, count, want)
		}
	}
}

// ends reports whether following parents from o reaches a decision.
func ends(o Operation, r Release) bool {
	for range 9 {
		parent := o.Parent(r)
		if parent == Allow || parent == Deny {
			return true
		}
		var ok bool
		if o, ok = Named(parent); !ok {
			return false
		}
	}
	return false
}

func TestReleaseNamed(t *testing.T) {
	for _, r := range Releases() {
		if got, ok := ReleaseNamed(r.String()); !ok || got != r {
			t.Errorf("ReleaseNamed(%q) = %v, %v", r, got, ok)
		}
	}
	if _, ok := ReleaseNamed("11"); ok {
		t.Error(`ReleaseNamed("11") knows a release without a table`)
	}
}
