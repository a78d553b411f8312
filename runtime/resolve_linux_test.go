package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

func TestLookup(t *testing.T) {
	dir := t.TempDir()
	for path, target := range map[string]string{
		"one": "real", "two": "one", "abs": filepath.Join(dir, "real"), "up": "real/../real/file",
		"nowhere": "missing/x", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path   string
		kind   bwrap.Kind
		real   string
		links  int
		exists bool
	}{
		{"real", bwrap.Directory, "real", 0, true},
		{"real/file", bwrap.File, "real/file", 0, true},
		{"real/file/x", bwrap.Missing, "real/file/x", 0, false},
		{"missing/x/y", bwrap.Missing, "missing/x/y", 0, false},
		{"one", bwrap.Link, "real", 1, true},
		{"one/file", bwrap.File, "real/file", 1, true},
		{"two/file", bwrap.File, "real/file", 2, true},
		{"abs/file", bwrap.File, "real/file", 1, true},
		{"up", bwrap.Link, "real/file", 1, true},
		{"nowhere", bwrap.Link, "missing/x", 1, false},
		{"one/missing", bwrap.Missing, "real/missing", 1, false},
	} {
		at, err := ir.NewPath(ir.Host, filepath.Join(dir, tt.path))
		if err != nil {
			t.Fatal(err)
		}
		n, err := lookup(at)
		if err != nil {
			t.Errorf("lookup(%s) = %v", tt.path, err)
			continue
		}
		if n.kind != tt.kind || n.real.String() != filepath.Join(dir, tt.real) || len(n.links) != tt.links || n.exists() != tt.exists {
			t.Errorf("lookup(%s) = %s, real %s, %d links, exists %v; want %s, %s, %d, %v",
				tt.path, n.kind, n.real, len(n.links), n.exists(), tt.kind, tt.real, tt.links, tt.exists)
		}
	}
	at, _ := ir.NewPath(ir.Host, filepath.Join(dir, "loop"))
	if n, err := lookup(at); err == nil {
		t.Errorf("lookup of a link to itself = %+v, want an error", n)
	}
	merged := ir.MustPath("/var/run")
	if n, err := lookup(merged); err == nil && len(n.links) > 0 && !n.links[0].system {
		t.Errorf("lookup(%s): a link that only root could have made is not known as one", merged)
	}
	if n, err := lookup(ir.MustPath("/")); err != nil || n.kind != bwrap.Directory {
		t.Errorf("lookup(/) = %+v, %v", n, err)
	}
}
