package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/obspc/expect"
	"github.com/obspc/obspc/compiler/ir"
)

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
		{"stat ${workspace}", "/=d out=d src=d src/lib=d tool=f"},
		{"read ${workspace}/a/b", "/=d a=d a/b=f out=d src=d src/lib=d tool=f"},
		{"list ${workspace}/a", "/=d a=d out=d src=d src/lib=d tool=f"},
		{"execute ${workspace}/tool", "/=d out=d src=d src/lib=d tool=t"},
		{"remove ${workspace}/src", "/=d out=d src=d src/lib=d tool=f"},
		{"create ${workspace}/new/x", "/=d new=d out=d src=d src/lib=d tool=f"},
		{"create ${workspace}/out", "/=d src=d src/lib=d tool=f"},
		{"rename ${workspace}/a ${workspace}/b/c", "/=d a=f b=d out=d src=d src/lib=d tool=f"},
		{"read ${workspace}/.env", "/=d .env=f out=d src=d src/lib=d tool=f"},
		{"write ${workspace}/out/x", "/=d out=d out/x=f src=d src/lib=d tool=f"},
		{"read /etc/shadow", "/=d out=d src=d src/lib=d tool=f"},
	} {
		q, err := ir.ParseRequest(strings.Fields(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		nodes := treeFor(workspacePolicy(), q)
		var got []string
		for _, rel := range slices.Sorted(maps.Keys(nodes)) {
			got = append(got, fmt.Sprintf("%s=%c", cmp.Or(rel, "/"), "dft"[nodes[rel]]))
		}
		if shown := strings.Join(got, " "); shown != tt.want {
			t.Errorf("treeFor(%s) = %s, want %s", tt.request, shown, tt.want)
		}
		dir := t.TempDir()
		if err := nodes.make(dir, "/proc/self/exe"); err != nil {
			t.Errorf("making the tree for %s: %v", tt.request, err)
		}
		for rel, kind := range nodes {
			info, err := os.Stat(filepath.Join(dir, rel))
			if err != nil || info.IsDir() != (kind == directoryNode) {
				t.Errorf("the tree for %s has %v, %v at %s", tt.request, info, err, rel)
			}
		}
	}
}

// TestJudged: what the kernel did counts as it is, and an error that no layer of a
// sandbox gives is no refusal.
func TestJudged(t *testing.T) {
	for _, tt := range []struct {
		want   bool
		inside syscall.Errno
		status expect.Status
	}{
		{true, 0, expect.Passed},
		{false, 0, expect.Failed},
		{true, unix.EROFS, expect.Failed},
		{false, unix.EROFS, expect.Passed},
		{false, unix.EACCES, expect.Passed},
		{false, unix.ENOSPC, expect.Skipped},
		{true, unix.EIO, expect.Skipped},
	} {
		if got := judged(tt.want, tt.inside); got.Status != tt.status {
			t.Errorf("judged(%v, %v) = %+v, want %s", tt.want, tt.inside, got, tt.status)
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
		if err := (tree{"": directoryNode, "dir": directoryNode, "file": fileNode}).make(dir, ""); err != nil {
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
