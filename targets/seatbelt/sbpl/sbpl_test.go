package sbpl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// library is the files that the facts import.
var library = fstest.MapFS{
	"System/Library/Sandbox/Profiles/one.sb":     {Data: []byte("(version 1)(allow file-read* (literal \"/imported\"))")},
	"opt/two.sb":                                 {Data: []byte("(allow file-read* (literal \"/imported2\"))")},
	"usr/share/sandbox/three.sb":                 {Data: []byte("(allow file-read* (literal \"/imported3\"))")},
	"Library/Sandbox/Profiles/one.sb":            {Data: []byte("(allow file-read* (literal \"/library\"))")},
	"Library/Sandbox/Profiles/only-library.sb":   {Data: []byte("(allow default)")},
	"System/Library/Sandbox/Profiles/wrong.sb":   {Data: []byte("(allow\n  nothing)")},
	"System/Library/Sandbox/Profiles/endless.sb": {Data: []byte("(import \"endless.sb\")")},
}

// TestFacts holds the evaluator to the table.
func TestFacts(t *testing.T) {
	for _, f := range facts(t) {
		t.Run(f.ID, func(t *testing.T) {
			release, _ := operations.ReleaseNamed(f.Release)
			p, err := sbpl.Parse("fact.sb", []byte(f.Profile), sbpl.Options{Release: release, Params: f.params(), Imports: library})
			if want, ok := strings.CutPrefix(f.Answer, "error:"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Parse = %v, want an error with %q\n%s\n(%s)", err, want, f.Profile, f.Source)
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse: %v\n%s\n(%s)", err, f.Profile, f.Source)
			}
			op, known := f.context()
			answer, err := p.Evaluate(op, known)
			if err != nil {
				t.Fatalf("Evaluate(%s): %v", f.Request, err)
			}
			got := answer.Decision.String()
			want, lacks, named := strings.Cut(f.Answer, ":")
			if got != want || named && !slices.Contains(answer.Unknown, lacks) {
				t.Errorf("%s: %s, want %s\n%s\n%s\n(%s)", f.Request, got, f.Answer, f.Profile, answer.Explain(), f.Source)
			}
		})
	}
}

// TestProfiles reads whole profiles in the manner of those in use, and asks them what
// testdata/probes.tsv says. Every profile has a probe.
func TestProfiles(t *testing.T) {
	text, err := os.ReadFile("testdata/probes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	common, err := os.ReadFile("testdata/profiles/common.sb")
	if err != nil {
		t.Fatal(err)
	}
	imports := fstest.MapFS{"System/Library/Sandbox/Profiles/common.sb": {Data: common}}
	asked := map[string]bool{"common": true}
	for line := range strings.Lines(string(text)) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := fact{ID: c[0], Release: c[1], Params: c[2], Request: c[3], Answer: c[4]}
		asked[f.ID] = true
		src, err := os.ReadFile("testdata/profiles/" + f.ID + ".sb")
		if err != nil {
			t.Fatal(err)
		}
		release, _ := operations.ReleaseNamed(f.Release)
		p, err := sbpl.Parse(f.ID+".sb", src, sbpl.Options{Release: release, Params: f.params(), Imports: imports, AssumeVersion1: f.ID == "fragment"})
		if err != nil {
			t.Fatal(err)
		}
		op, known := f.context()
		answer, err := p.Evaluate(op, known)
		if err != nil {
			t.Errorf("%s: %s: %v", f.ID, f.Request, err)
			continue
		}
		want, lacks, named := strings.Cut(f.Answer, ":")
		if answer.Decision.String() != want || named && !slices.Contains(answer.Unknown, lacks) {
			t.Errorf("%s: %s: want %s\n%s", f.ID, f.Request, f.Answer, answer.Explain())
		}
	}
	files, err := filepath.Glob("testdata/profiles/*.sb")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !asked[strings.TrimSuffix(filepath.Base(file), ".sb")] {
			t.Errorf("no probe asks %s", file)
		}
	}
}
