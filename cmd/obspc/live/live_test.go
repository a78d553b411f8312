package live

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/obspc/expect"
	"github.com/obspc/obspc/compiler/ir"
)

// The test's own binary is the program that attempts.
func TestMain(m *testing.M) {
	if code, is := Attempted(os.Args); is {
		os.Exit(code)
	}
	code := m.Run()
	if dir, _ := kitDir(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// workspacePolicy needs src and out to stand in the workspace, and tool.
func workspacePolicy() *ir.Policy {
	file := func(level ir.Level, path string) ir.FileRule {
		return ir.FileRule{Path: ir.MustPath(path), Level: level}
	}
	optional := file(ir.Read, "${workspace}/cache")
	optional.Optional = true
	return &ir.Policy{
		Files: []ir.FileRule{
			file(ir.Read, "/usr"), file(ir.Write, "${workspace}"), file(ir.Read, "${workspace}/src/lib"),
			file(ir.Deny, "${workspace}/.env"), file(ir.Write, "${workspace}/out"), optional,
		},
		Execute: []ir.ExecuteRule{{Path: ir.MustPath("${workspace}/tool")}},
	}
}

func TestTreeFor(t *testing.T) {
	for _, tt := range []struct{ request, want string }{
		{"stat ${workspace}", ".=d out=d src=d src/lib=d tool=f"},
		{"read ${workspace}/a/b", ".=d a=d a/b=f out=d src=d src/lib=d tool=f"},
		{"list ${workspace}/a", ".=d a=d out=d src=d src/lib=d tool=f"},
		{"execute ${workspace}/tool", ".=d out=d src=d src/lib=d tool=t"},
		{"remove ${workspace}/src", ".=d out=d src=d src/lib=d tool=f"},
		{"create ${workspace}/new/x", ".=d new=d out=d src=d src/lib=d tool=f"},
		{"create ${workspace}/out", ".=d src=d src/lib=d tool=f"},
		{"rename ${workspace}/a ${workspace}/b/c", ".=d a=f b=d out=d src=d src/lib=d tool=f"},
		{"read ${workspace}/.env", ".=d .env=f out=d src=d src/lib=d tool=f"},
		{"write ${workspace}/out/x", ".=d out=d out/x=f src=d src/lib=d tool=f"},
		{"read /etc/shadow", ".=d out=d src=d src/lib=d tool=f"},
	} {
		q, err := ir.ParseRequest(strings.Fields(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		binding := ir.Binding{}.With(ir.Workspace, ir.MustPath(dir))
		q.Path, q.To = binding.Path(q.Path), binding.Path(q.To)
		nodes := treeFor(workspacePolicy(), binding, q, ir.MustPath(dir).Covers)
		var got []string
		order := func(x, y ir.Path) int { return strings.Compare(x.String(), y.String()) }
		for _, path := range slices.SortedFunc(maps.Keys(nodes), order) {
			rel, err := filepath.Rel(dir, path.String())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s=%c", rel, "dft"[nodes[path]]))
		}
		if shown := strings.Join(got, " "); shown != tt.want {
			t.Errorf("treeFor(%s) = %s, want %s", tt.request, shown, tt.want)
		}
		if err := nodes.make(os.Args[0]); err != nil {
			t.Errorf("making the tree for %s: %v", tt.request, err)
		}
		for path, kind := range nodes {
			info, err := os.Stat(path.String())
			if err != nil || info.IsDir() != (kind == directoryNode) {
				t.Errorf("the tree for %s has %v, %v at %s", tt.request, info, err, path)
			}
		}
	}
}

// TestJudge: what the kernel did counts as it is; what was not tried fails nothing,
// and a profile that is refused fails everything.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		o       Observation
		want    bool
		status  expect.Status
		escapes bool
	}{
		{Observation{Decide: Allow, Model: Allow, Kernel: Allow}, true, expect.Passed, false},
		{Observation{Decide: Allow, Model: Allow, Kernel: Allow}, false, expect.Failed, false},
		{Observation{Decide: Deny, Model: Deny, Kernel: Deny, Errno: "EPERM"}, false, expect.Passed, false},
		{Observation{Decide: Allow, Model: Deny, Kernel: Deny, Errno: "EPERM"}, true, expect.Failed, false},
		{Observation{Decide: Allow, Model: Allow, Kernel: Deny, Errno: "EPERM"}, true, expect.Failed, false},
		{Observation{Decide: Deny, Model: Deny, Kernel: Allow}, false, expect.Failed, true},
		{Observation{Decide: Deny, Model: Allow, Kernel: Allow}, false, expect.Failed, true},
		{Observation{Decide: Allow, Model: Deny, Kernel: Allow}, true, expect.Failed, true},
		{Observation{Decide: Allow, Model: Undecided, Kernel: Allow}, true, expect.Passed, false},
		{Observation{Decide: Deny, Model: Undecided, Kernel: Allow}, false, expect.Failed, true},
		{Observation{Decide: Deny, Model: Allow, Why: "no reason"}, false, expect.Skipped, false},
		{Observation{Decide: Deny, Model: Deny, Why: "bad profile", Rejected: true}, false, expect.Failed, false},
	} {
		got := tt.o.Judge(tt.want)
		if got.Status != tt.status || got.Why == "" || tt.o.Escapes() != tt.escapes {
			t.Errorf("%+v.Judge(%v) = %+v, escapes %v, want %s, %v", tt.o, tt.want, got, tt.o.Escapes(), tt.status, tt.escapes)
		}
	}
}

// TestAttempts makes each attempt where nothing stands in its way, and where
// something does.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		word, path, to string
		want           error
	}{
		{"read", "file", "", nil}, {"read", "dir", "", nil}, {"read", "missing", "", unix.ENOENT},
		{"list", "dir", "", nil}, {"list", "file", "", unix.ENOTDIR},
		{"stat", "file", "", nil}, {"stat", "missing", "", unix.ENOENT},
		{"write", "file", "", nil}, {"write", "dir", "", nil}, {"write", "missing", "", unix.ENOENT},
		{"create", "new", "", nil}, {"create", "file", "", unix.EEXIST},
		{"remove", "file", "", nil}, {"remove", "dir", "", nil}, {"remove", "missing", "", unix.ENOENT},
		{"rename", "file", "new", nil}, {"rename", "missing", "new", unix.ENOENT},
		{"link", "file", "new", nil}, {"link", "file", "dir", unix.EEXIST},
		{startedWord, "", "", nil},
	} {
		dir := t.TempDir()
		at := ir.MustPath(dir)
		if err := (tree{at.Join("dir"): directoryNode, at.Join("file"): fileNode}).make(""); err != nil {
			t.Fatal(err)
		}
		if err := attempt(tt.word, filepath.Join(dir, tt.path), filepath.Join(dir, tt.to)); err != tt.want {
			t.Errorf("attempt(%s, %s, %s) = %v, want %v", tt.word, tt.path, tt.to, err, tt.want)
		}
	}
	if err := attempt("connect", "x", ""); err == nil {
		t.Error("an attempt that nobody knows how to make succeeds")
	}
}

// TestWouldStart: the kernel starts nothing that it is asked about.
func TestWouldStart(t *testing.T) {
	dir := t.TempDir()
	tool, file := filepath.Join(dir, "tool"), filepath.Join(dir, "file")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "started")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := wouldStart(tool); err == unix.EINVAL {
		t.Skip("host feature missing: AT_EXECVE_CHECK (Linux 6.14)")
	} else if err != nil {
		t.Errorf("wouldStart(%s) = %v", tool, err)
	}
	if err := wouldStart(file); err != unix.EACCES {
		t.Errorf("wouldStart(%s) = %v, want EACCES", file, err)
	}
	if err := wouldStart(filepath.Join(dir, "missing")); err != unix.ENOENT {
		t.Errorf("wouldStart(missing) = %v, want ENOENT", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("the program was started")
	}
}

// TestSelfInTmp: a program that a sandbox's own /tmp hides is told of, and one beside
// it, or under a policy without one, is not.
func TestSelfInTmp(t *testing.T) {
	own := &ir.Policy{Files: []ir.FileRule{{Path: ir.RootPath(ir.Tmp), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20}}}
	for _, tt := range []struct {
		self   string
		policy *ir.Policy
		target ir.Target
		says   string
	}{
		{"/tmp/bin/obspc", own, ir.Bwrap, "put obspc and obsrun into another directory"},
		{"/tmpx/obspc", own, ir.Bwrap, ""},
		{"/tmp/bin/obspc", &ir.Policy{}, ir.Bwrap, ""},
		{"/tmp/bin/obspc", own, ir.Seatbelt, ""},
	} {
		b := &Bench{self: ir.MustPath(tt.self)}
		b.traits.Target = tt.target
		at, err := b.selfAs(tt.policy)
		if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) || err == nil && at != b.self {
			t.Errorf("%s for %s: %s, %v; want %q", tt.self, tt.target, at, err, tt.says)
		}
	}
}
