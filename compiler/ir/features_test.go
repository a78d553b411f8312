package ir

import (
	"slices"
	"testing"
)

func TestUses(t *testing.T) {
	file := func(path string, l Level) FileRule { return FileRule{Path: MustPath(path), Level: l} }
	for _, tt := range []struct {
		name  string
		files []FileRule
		want  []Feature // besides unix-none
	}{
		{"a read", []FileRule{file("/usr", Read)}, []Feature{FeatureRead}},
		{"a deny of what nothing grants", []FileRule{file("/x", Deny)}, []Feature{FeatureDeny}},
		{"a hole", []FileRule{file("/x", Read), file("/x/y", Deny)}, []Feature{FeatureDeny, FeatureProtectedCase, FeatureRead}},
		{"a hole outside ASCII", []FileRule{file("/x", Read), file("/x/ü", Deny)}, []Feature{FeatureDeny, FeatureProtectedCase, FeatureProtectedNonASCII, FeatureRead}},
		{"a carve-out", []FileRule{file("${workspace}", Write), file("${workspace}/a", Read)},
			[]Feature{FeatureCarveOut, FeatureHeldDirectory, FeatureProtectedCase, FeatureWrite}},
		{"a window", []FileRule{file("/x", Deny), file("/x/y", Read)}, []Feature{FeatureDeny, FeatureRead}},
		{"a write in a read", []FileRule{file("/x", Read), file("/x/y", Write)}, []Feature{FeatureRead, FeatureWrite}},
		{"one node", []FileRule{{Path: MustPath("/x"), Level: Read, Only: true}}, []Feature{FeatureOnly, FeatureRead}},
		{"one node in a write", []FileRule{file("${workspace}", Write), {Path: MustPath("${workspace}/a"), Level: Read, Only: true}},
			[]Feature{FeatureCarveOut, FeatureHeldDirectory, FeatureOnly, FeatureOnlyCarveOut, FeatureProtectedCase, FeatureWrite}},
		{"a node that surrounds nothing", []FileRule{{Path: MustPath("/x"), Level: Read, Only: true}, file("/x/y", Deny)}, []Feature{FeatureDeny, FeatureOnly, FeatureRead}},
		{"a link of macOS", []FileRule{file("/etc/hosts", Read)}, []Feature{FeatureRead, FeatureRootLink}},
		{"/proc", []FileRule{{Path: MustPath("/proc"), Level: Read, Backing: ProcFS}}, nil},
		{"devices", []FileRule{{Path: MustPath("/dev/null"), Level: Write, Only: true, Backing: DevFS}}, []Feature{FeatureDevices}},
		{"shm", []FileRule{{Path: MustPath("/dev/shm"), Level: Write, Backing: TmpFS, Size: 1}}, []Feature{FeatureShm}},
		{"tmp", []FileRule{{Path: MustPath("${tmp}"), Level: Write, Backing: TmpFS, Size: 1}}, []Feature{FeatureTmp}},
		{"a slot under a read of /", []FileRule{file("/", Read), file("${home}/.ssh", Deny)}, []Feature{FeatureDeny, FeatureProtectedCase, FeatureRead}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Policy{Files: tt.files}
			var got []Feature
			for _, u := range p.Uses() {
				if u.Feature != FeatureUnixNone {
					got = append(got, u.Feature)
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, tt.want) {
				t.Errorf("uses %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUsesKnowsEverything: a policy that has everything uses every feature that
// concerns statements, and nothing that Features does not list.
func TestUsesKnowsEverything(t *testing.T) {
	used := map[Feature]bool{}
	for _, u := range everything().Uses() {
		if !slices.Contains(Features(), u.Feature) {
			t.Errorf("the feature %q is not listed", u.Feature)
		}
		used[u.Feature] = true
	}
	for _, f := range []Feature{FeatureEndpoint, FeatureEndpointProgram, FeatureLoopback, FeatureEnvironment, FeatureTimeout, FeatureOpenFiles,
		FeatureServices, FeatureSysctls, FeatureIPC, FeatureIOKit, FeatureCommand, FeatureUnixVisible, FeatureExecute} {
		if !used[f] {
			t.Errorf("a policy that has everything does not use %s", f)
		}
	}
	if all := Features(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Error("Features lists something twice")
	}
}
