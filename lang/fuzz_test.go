package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// FuzzParse asks that no text panics or hangs, that findings stand inside the
// text and have words, that what has no findings has no holes left, and that
// parsing again gives the same findings.
func FuzzParse(f *testing.F) {
	design, err := os.ReadFile("testdata/design.policy.hcl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(design), "bank_host=example.org")
	for _, tt := range findings {
		f.Add(cases.Wrap(tt.where, tt.text), "")
	}
	for _, tt := range hostile {
		if len(tt.src) < 2000 {
			f.Add(tt.src, "v=[1]")
		}
	}
	corpus, _ := filepath.Glob("../testdata/corpus/*/*.policy.hcl")
	for _, name := range corpus {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(string(text), "")
		}
	}
	f.Fuzz(func(t *testing.T, src, given string) {
		if len(src) > 20_000 {
			return // the limits are tested with texts made for them
		}
		opts := Options{Vars: map[string]string{}}
		if name, value, ok := strings.Cut(given, "="); ok {
			opts.Vars[name] = value
		}
		config, diags := Parse(Sources{"p": []byte(src)}, opts)
		for _, d := range diags {
			checkPlace(t, src, d.At)
			if d.Code == "" || d.Message == "" || d.Help == "" {
				t.Errorf("Parse(%q) finds %+v, which lacks words", src, d)
			}
		}
		if !diags.HasErrors() {
			checkNoHoles(t, config)
		}
		again := codes(src, given)
		var first []string
		for _, d := range diags {
			first = append(first, d.Code)
		}
		if strings.Contains(given, "=") && strings.Join(first, " ") != again {
			t.Errorf("Parse(%q) finds %q, and then %q", src, first, again)
		}
	})
}

func checkPlace(t *testing.T, src string, r diag.Range) {
	t.Helper()
	if r.File == "p" && (r.Start.Byte < 0 || r.Start.Byte > r.End.Byte || r.End.Byte > len(src)) {
		t.Errorf("Parse(%q): the range %+v is not inside the text", src, r)
	}
}

// checkNoHoles asks that every NUL ended in package lang.
func checkNoHoles(t *testing.T, config *Config) {
	t.Helper()
	for _, b := range append(config.Policies, config.Templates...) {
		var all []Text
		for _, l := range [][]Path{b.Filesystem.Read, b.Filesystem.Write, b.Filesystem.Deny, b.Filesystem.Execute} {
			for _, p := range l {
				all = append(all, p.Text)
			}
		}
		for _, v := range b.Environment {
			all = append(all, v.Value)
		}
		for _, c := range b.Commands {
			all = append(append(all, c.Arguments...), c.Executable.Text)
		}
		for _, text := range all {
			for _, p := range text.Parts {
				if strings.Contains(p.Text, nul) || p.Text == "" {
					t.Errorf("the part %q at %v has a NUL or is empty", p.Text, text.Range)
				}
			}
		}
		for _, s := range []String{b.Description, b.Workspace, b.System.Shm, b.Network.Unix} {
			if strings.Contains(s.Value, nul) {
				t.Errorf("the string %q at %v has a NUL", s.Value, s.Range)
			}
		}
	}
}
