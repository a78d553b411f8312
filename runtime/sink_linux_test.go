package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
)

// TestSinkFollowsNoLink: evidence goes through directories, and not through links
// that a command may have made.
func TestSinkFollowsNoLink(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "real/below"), 0o755))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	must(t, os.Symlink("real/below/e.json", filepath.Join(root, "e.json")))
	write(t, filepath.Join(root, "file"), "")
	t.Chdir(root)
	for path, says := range map[string]string{
		"real/below/e.json": "", filepath.Join(root, "real/e.json"): "", "e2.json": "", "real/../real/e.json": "",
		"link/below/e.json": "link to real", filepath.Join(root, "link/e.json"): "link to real",
		"e.json": "no regular file", "none/e.json": "no such file", "file/e.json": "not a directory",
	} {
		sink, err := runtime.OpenSink(path)
		if err == nil {
			err = sink.Write(runtime.NewEvidence(false))
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("evidence to %s: %v, want an error with %q", path, err, says)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, "real/.*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// What was opened stays the place, whatever is done to its name meanwhile.
	sink, err := runtime.OpenSink("real/e3.json")
	must(t, err)
	must(t, os.Rename("real", "moved"))
	must(t, os.Symlink("moved/below", "real"))
	must(t, sink.Write(runtime.NewEvidence(false)))
	if _, err := os.Stat("moved/e3.json"); err != nil {
		t.Errorf("evidence is not where it was to go: %v", err)
	}
	if _, err := os.Stat("moved/below/e3.json"); err == nil {
		t.Error("evidence went through a link that was planted during the run")
	}
}
