package lang

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRead(t *testing.T) {
	big := []byte(strings.Repeat("#", MaxFileBytes))
	fsys := fstest.MapFS{
		"c/b.policy.hcl":         {Data: []byte("b")},
		"c/a.policy.hcl":         {Data: []byte("a")},
		"c/a.test.hcl":           {Data: []byte("t")},
		"c/obspc.hcl":            {Data: []byte("o")},
		"c/.#a.policy.hcl":       {Data: []byte("editor")},
		"c/below/d.policy.hcl":   {Data: []byte("d")},
		"dir/a.policy.hcl":       {Data: []byte("a")},
		"dir/dir.policy.hcl/x":   {Data: []byte("x")},
		"empty/README.md":        {Data: []byte("r")},
		"big/a.policy.hcl":       {Data: big},
		"big/b.policy.hcl":       {Data: append(slices.Clone(big), '#')},
		"pipe/p.policy.hcl":      {Mode: fs.ModeNamedPipe},
		"root.policy.hcl":        {Data: []byte("r")},
		"many/other.policy.hcl":  {Data: []byte("#")},
		"many/other2.policy.hcl": {Data: []byte("#")},
	}
	for i := range 16 {
		fsys["many/"+string(rune('a'+i))+".policy.hcl"] = &fstest.MapFile{Data: big}
	}
	for _, tt := range []struct {
		path, files, code, err string
	}{
		{"c", "c/a.policy.hcl c/b.policy.hcl", "", ""},
		{"./c", "", "", "./c"},
		{"c/a.policy.hcl", "c/a.policy.hcl", "", ""},
		{"c/a.test.hcl", "c/a.test.hcl", "", ""},
		{".", "root.policy.hcl", "", ""},
		{"empty", "", "", "no *.policy.hcl file stands in this directory"},
		{"none", "", "", "none"},
		{"big", "big/a.policy.hcl", "file-too-large", ""},
		{"big/b.policy.hcl", "", "file-too-large", ""},
		{"pipe", "", "", "pipe/p.policy.hcl: it is not a regular file"},
		{"pipe/p.policy.hcl", "", "", "pipe/p.policy.hcl: it is not a regular file"},
		{"dir", "", "", "dir/dir.policy.hcl: it is a directory"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			sources, diags, err := Read(fsys, tt.path)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Read(%q) fails with %v, want %q", tt.path, err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("Read(%q) fails with %v", tt.path, err)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(sources)), " "); got != tt.files {
				t.Errorf("Read(%q) reads %q, want %q", tt.path, got, tt.files)
			}
			switch {
			case tt.code == "" && len(diags) > 0, tt.code != "" && (len(diags) != 1 || diags[0].Code != tt.code):
				t.Errorf("Read(%q) finds %v, want %q", tt.path, diags, tt.code)
			}
		})
	}
	sources, diags, err := Read(fsys, "many")
	if err != nil || len(diags) != 1 || diags[0].Code != "configuration-too-large" || len(sources) != 17 {
		t.Errorf("Read(many) reads %d files and finds %v, %v, want 17 and configuration-too-large once", len(sources), diags, err)
	}
}
