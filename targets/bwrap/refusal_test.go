package bwrap

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestRefusal predicts the error of each way in which mounts refuse; package
// conform holds the predictions to the kernel.
func TestRefusal(t *testing.T) {
	s := compile(t, "write ${workspace}", "deny ${workspace}/s", "deny ${workspace}/f", "read ${workspace}/c", "read /usr", "deny ${workspace}/gone")
	table, err := s.Table(testBinding, factsFor(s, testBinding, map[string]Fact{
		"/w/f": {Kind: File}, "/w/gone": {Kind: File, Placeholder: true},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ request, want string }{
		{"read /etc/passwd", "ENOENT"},
		{"read /w/s/x", "ENOENT"},
		{"list /w/s", "EACCES"},
		{"list /", "EACCES"},
		{"read /w/f", "EACCES"},
		{"stat /etc", "ENOENT"},
		{"write /w/f", "EACCES EROFS"},
		{"write /usr/bin/x", "EROFS"},
		{"write /w/s", "EROFS"},
		{"create /w/gone", "EEXIST"},
		{"create /w/c/x", "EROFS"},
		{"create /etc/x", "ENOENT"},
		{"create /w/s/x", "EROFS"},
		{"remove /w/f", "EBUSY"},
		{"remove /usr/bin", "EROFS"},
		{"rename /w/f /w/x", "EBUSY"},
		{"rename /w/x /w/f", "EBUSY EEXIST EISDIR ENOTDIR"},
		{"rename /w/x /w/c/x", "EXDEV"},
		{"rename /w/x /etc/x", "ENOENT"},
		{"rename /usr/bin /usr/x", "EROFS"},
		{"link /w/f /w/x", "EXDEV"},
		{"link /w/x /w/gone", "EEXIST"},
		{"link /w/x /w/c/x", "EROFS"},
		{"link /etc/x /w/y", "ENOENT"},
		{"connect localhost:80", ""},
	} {
		r, err := ir.ParseRequest(strings.Fields(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		if table.Allows(r) {
			t.Errorf("Allows(%s) = true; the case is about refusals", r)
		}
		if got := strings.Join(table.Refusal(r), " "); got != tt.want {
			t.Errorf("Refusal(%s) = %s, want %s", r, got, tt.want)
		}
	}
}
