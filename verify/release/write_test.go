package release

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is every name below dir with its mode and bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		out[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func TestWrite(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "release")
	files := build(t, sampleInput())
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s = %q, %v", f.Name, data, err)
		}
	}
	for name, text := range tree(t, dir) {
		if !strings.HasPrefix(text, "-rw-r--r--") && !strings.HasPrefix(text, "drwxr-xr-x") {
			t.Errorf("%s has mode %s", name, text[:10])
		}
	}
	onlyEntry(t, parent, "release")
}

// onlyEntry fails when dir holds more than the one name, or none when it is "".
func onlyEntry(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != name {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestWriteReplacesARelease(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "release")
	if err := Write(dir, build(t, sampleInput())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, SignatureName), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	in := sampleInput()
	in.Serial, in.Policies = 13, in.Policies[:1]
	if err := Write(dir, build(t, in)); err != nil {
		t.Fatal(err)
	}
	got := tree(t, dir)
	if _, ok := got["batch"]; ok || got[SignatureName] != "" || len(got) != 6 {
		t.Errorf("after the second Write: %v", got)
	}
	onlyEntry(t, parent, "release")
}

func TestWriteFillsAnEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, build(t, sampleInput())); err != nil {
		t.Error(err)
	}
}

func TestWriteRefusesWhatIsNoRelease(t *testing.T) {
	files := build(t, sampleInput())
	for _, tt := range []struct {
		name string
		make func(dir string) error
		want string
	}{
		{"a file", func(dir string) error { return os.WriteFile(dir, nil, 0o644) }, "no directory"},
		{"a link", func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) }, "no directory"},
		{"sources", func(dir string) error {
			return writeTree(dir, map[string]string{"a.policy.hcl": "x"})
		}, "holds no release.json"},
		{"an empty folder", func(dir string) error { return os.MkdirAll(filepath.Join(dir, "x"), 0o755) }, "holds no release.json"},
		{"another release.json", func(dir string) error {
			return writeTree(dir, map[string]string{ManifestName: "{}"})
		}, "canonical"},
		{"a release and more", func(dir string) error {
			if err := Write(dir, files); err != nil {
				return err
			}
			return writeTree(dir, map[string]string{"web/notes.txt": "mine"})
		}, `"web/notes.txt" belongs to no release`},
		{"a release and a folder", func(dir string) error {
			if err := Write(dir, files); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(dir, "mine"), 0o755)
		}, `"mine/" belongs to no release`},
		{"a release with a link", func(dir string) error {
			if err := Write(dir, files); err != nil {
				return err
			}
			return os.Symlink("/", filepath.Join(dir, "root"))
		}, `"root" belongs to no release`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "release")
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, parent)
			if err := Write(dir, files); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Write = %v, want an error with %q", err, tt.want)
			}
			if !same(before, tree(t, parent)) {
				t.Error("Write changed what it refused")
			}
		})
	}
}

func writeTree(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func TestWriteFailsCleanly(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "release")
	if err := Write(filepath.Join(parent, "no", "release"), build(t, sampleInput())); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("Write below a missing directory = %v", err)
	}
	if err := Write("/", build(t, sampleInput())); err == nil {
		t.Error("Write of / passes")
	}
	bad := append(build(t, sampleInput()), File{"../escape", nil})
	if err := Write(dir, bad); err == nil || !strings.Contains(err.Error(), "unsafe name") {
		t.Errorf("Write of ../escape = %v", err)
	}
	onlyEntry(t, parent, "")
}

// exchange's second way, for file systems without a swap, ends the same.
func TestMoveAside(t *testing.T) {
	parent := t.TempDir()
	a, b := filepath.Join(parent, "a"), filepath.Join(parent, "b")
	if err := writeTree(parent, map[string]string{"a/new": "1", "b/old": "2"}); err != nil {
		t.Fatal(err)
	}
	if err := moveAside(a, b); err != nil {
		t.Fatal(err)
	}
	got := tree(t, parent)
	if got["b/new"] == "" || got["a/old"] == "" || len(got) != 5 {
		t.Errorf("after moveAside: %v", got)
	}
	if err := moveAside(filepath.Join(parent, "missing"), b); err == nil || tree(t, parent)["b/new"] == "" {
		t.Errorf("moveAside of nothing = %v, and b holds %v", err, tree(t, b))
	}
}
