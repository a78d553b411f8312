package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestHomes: $HOME is a home directory beside the one of the user database, and so is
// where it leads.
func TestHomes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link, top := dir+"/real", dir+"/link", dir+"/top"
	for _, err := range []error{os.Mkdir(real, 0o755), os.Symlink(real, link), os.Symlink("/", top)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", "")
	database := homes()
	for _, tt := range []struct {
		home string
		want []string
	}{
		{real, []string{real}},
		{link, []string{link, real}},
		{real + "/", []string{real}},
		{dir + "/link/../real", []string{real}},
		{dir + "/missing", []string{dir + "/missing"}},
		{top, []string{top}},
		{"/", nil},
		{"real", nil},
		{".", nil},
	} {
		t.Setenv("HOME", tt.home)
		var want []ir.Path
		for _, text := range tt.want {
			want = append(want, ir.MustPath(text))
		}
		if got := homes(); !slices.Equal(got, append(want, database...)) {
			t.Errorf("with HOME=%s: %v, want %v and %v", tt.home, got, want, database)
		}
	}
}
