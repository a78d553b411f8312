package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestNotes: what changes no grant and still decides whether a run starts, or what
// is warned about.
func TestNotes(t *testing.T) {
	waive := func(feature string) edit {
		return edit{"  filesystem {\n    read    =", "  waive \"seatbelt\" {\n    features = [\"" + feature + "\"]\n    reason   = \"r\"\n  }\n  filesystem {\n    read    ="}
	}
	keeps := func(_ ir.Target, f ir.Feature) bool { return f == ir.FeatureProtectedCase }
	for _, tt := range []struct {
		name  string
		edit  edit
		want  Effect // forth
		notes []string
		back  []string
	}{
		{"a path that a tree holds already", edit{`"/opt/data", `, `"/opt/data", "/opt/data/more", `}, Same,
			[]string{"read /opt/data/more is stated now and grants nothing more: a run is refused where it is missing"},
			[]string{"read /opt/data/more is no longer stated and granted nothing more: a run starts where it is missing"}},
		{"the same, optional", edit{`"/opt/data", `, `"/opt/data", optional("/opt/data/more"), `}, Same, nil, nil},
		{"a program that may start already", edit{`execute = [`, `execute = ["/opt/tool/bin/x", `}, Same,
			[]string{"execute /opt/tool/bin/x is stated now and grants nothing more: a run is refused where it is missing"},
			[]string{"execute /opt/tool/bin/x is no longer stated and granted nothing more: a run starts where it is missing"}},
		{"a program whose path is stated already", edit{`execute = [`, `execute = ["/opt/tool", `}, Widened, nil, nil},
		{"a deny, which may be missing", edit{`"/srv/keys"`, `"/srv/keys", "/srv/keys/old"`}, Same, nil, nil},
		{"optional now", edit{`"/opt/data", `, `optional("/opt/data"), `}, Same,
			[]string{"read /opt/data is optional now: a run starts where it is missing"},
			[]string{"read /opt/data is no longer optional: a run is refused where it is missing"}},
		{"a program in what was denied", edit{
			`"/opt/data/secret", "${workspace}/.git/hooks", "/srv/keys", "${home}/.ssh"]` + "\n    execute = [",
			`"${workspace}/.git/hooks", "/srv/keys", "${home}/.ssh"]` + "\n    execute = [\"/opt/data/secret/x\", ",
		}, Widened, nil, nil},
		{"a new grant tells for itself", edit{`"/opt/data", `, `"/opt/data", "/opt/else", `}, Widened, nil, nil},
		{"a waiver of what is kept or tighter", waive("filesystem.protected-case"), Same,
			[]string{"filesystem.protected-case is waived for seatbelt now, which keeps it or denies more: no grant changes"},
			[]string{"filesystem.protected-case is no longer waived for seatbelt, which keeps it or denies more: no grant changes"}},
		{"a waiver of what is not kept", waive("filesystem.protected-non-ascii"), Widened, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(base, tt.edit.old) != 1 {
				t.Fatalf("%q does not stand in the policy once", tt.edit.old)
			}
			old, new := compile(t, base), compile(t, strings.Replace(base, tt.edit.old, tt.edit.new, 1))
			for _, way := range []struct {
				got   Comparison
				notes []string
				want  Effect
			}{
				{Sets(old, new, keeps).Policies[0], tt.notes, tt.want},
				{Sets(new, old, keeps).Policies[0], tt.back, map[Effect]Effect{Same: Same, Widened: Narrowed}[tt.want]},
			} {
				notes := slices.DeleteFunc(way.got.Notes, func(n string) bool { return strings.HasPrefix(n, "the version ") })
				if !slices.Equal(notes, way.notes) || way.got.Verdict() != way.want {
					t.Errorf("%v with notes %q, want %v with %q", way.got.Verdict(), notes, way.want, way.notes)
				}
			}
		})
	}
}
