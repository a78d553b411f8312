package ir

import (
	"slices"
	"testing"
)

func TestUses(t *testing.T) {
	file := func(path string, l Level) FileRule { return FileRule{Path: MustPath(path), Level: l} }
	tool := func(path string) []ExecuteRule { return []ExecuteRule{{Path: MustPath(path)}} }
	for _, tt := range []struct {
		name    string
		files   []FileRule
		execute []ExecuteRule
		want    []Feature // besides unix-none
	}{
		{"a read", []FileRule{file("/usr", Read)}, nil, []Feature{FeatureRead}},
		{"a deny of what nothing grants", []FileRule{file("/x", Deny)}, nil, []Feature{FeatureDeny}},
		{"a hole", []FileRule{file("/x", Read), file("/x/y", Deny)}, nil, []Feature{FeatureDeny, FeatureProtectedCase, FeatureRead}},
		{"a hole outside ASCII", []FileRule{file("/x", Read), file("/x/ü", Deny)}, nil, []Feature{FeatureDeny, FeatureProtectedCase, FeatureProtectedNonASCII, FeatureRead}},
		{"a carve-out", []FileRule{file("${workspace}", Write), file("${workspace}/a", Read)}, nil,
			[]Feature{FeatureCarveOut, FeatureHeldDirectory, FeatureProtectedCase, FeatureWrite}},
		{"a window", []FileRule{file("/x", Deny), file("/x/y", Read)}, nil, []Feature{FeatureDeny, FeatureRead}},
		{"a write in a read", []FileRule{file("/x", Read), file("/x/y", Write)}, nil, []Feature{FeatureRead, FeatureWrite}},
		{"one node", []FileRule{{Path: MustPath("/x"), Level: Read, Only: true}}, nil, []Feature{FeatureOnly, FeatureRead}},
		{"one node in a write", []FileRule{file("${workspace}", Write), {Path: MustPath("${workspace}/a"), Level: Read, Only: true}}, nil,
			[]Feature{FeatureCarveOut, FeatureHeldDirectory, FeatureOnly, FeatureOnlyCarveOut, FeatureProtectedCase, FeatureWrite}},
		{"a node that surrounds nothing", []FileRule{{Path: MustPath("/x"), Level: Read, Only: true}, file("/x/y", Deny)}, nil, []Feature{FeatureDeny, FeatureOnly, FeatureRead}},
		{"a link of macOS", []FileRule{file("/etc/hosts", Read)}, nil, []Feature{FeatureRead, FeatureRootLink}},
		{"/proc", []FileRule{{Path: MustPath("/proc"), Level: Read, Backing: ProcFS}}, nil, nil},
		{"devices", []FileRule{{Path: MustPath("/dev/null"), Level: Write, Only: true, Backing: DevFS}}, nil, []Feature{FeatureDevices}},
		{"shm", []FileRule{{Path: MustPath("/dev/shm"), Level: Write, Backing: TmpFS, Size: 1}}, nil, []Feature{FeatureShm}},
		{"tmp", []FileRule{{Path: MustPath("${tmp}"), Level: Write, Backing: TmpFS, Size: 1}}, nil, []Feature{FeatureTmp}},
		{"a slot under a read of /", []FileRule{file("/", Read), file("${home}/.ssh", Deny)}, nil, []Feature{FeatureDeny, FeatureDeviceTree, FeatureProtectedCase, FeatureRead}},
		{"two writes", []FileRule{file("/a", Write), file("/b", Write)}, nil, []Feature{FeatureHeldDirectory, FeatureWrite}},
		{"two writes, one of them below a read", []FileRule{file("/a", Write), file("/b", Read), file("/b/c", Write)}, nil, []Feature{FeatureHeldDirectory, FeatureRead, FeatureWrite}},
		{"a write and memory", []FileRule{file("${workspace}", Write), {Path: MustPath("${tmp}"), Level: Write, Backing: TmpFS, Size: 1}}, nil, []Feature{FeatureTmp, FeatureWrite}},
		{"a program in a write", []FileRule{file("${workspace}", Write)}, tool("${workspace}/bin/x"), []Feature{FeatureExecute, FeatureHeldDirectory, FeatureProtectedCase, FeatureWrite}},
		{"a write in a write", []FileRule{file("${workspace}", Write), file("${workspace}/x", Write)}, nil, []Feature{FeatureHeldDirectory, FeatureProtectedCase, FeatureWrite}},
		{"a write that starts", []FileRule{file("${workspace}", Write)}, tool("${workspace}"), []Feature{FeatureExecute, FeatureWrite}},
		{"a program outside", []FileRule{file("${workspace}", Write)}, tool("/usr/bin"), []Feature{FeatureExecute, FeatureWrite}},
		{"everything", []FileRule{file("/", Read)}, nil, []Feature{FeatureDeviceTree, FeatureRead}},
		{"the host's devices", []FileRule{file("/dev/dri", Write)}, nil, []Feature{FeatureDeviceTree, FeatureWrite}},
		{"one device of the host", []FileRule{{Path: MustPath("/dev/fuse"), Level: Write, Only: true}}, nil, []Feature{FeatureOnly, FeatureWrite}},
		{"no devices of the host", []FileRule{file("/dev", Deny)}, nil, []Feature{FeatureDeny}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Policy{Files: tt.files, Execute: tt.execute}
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
