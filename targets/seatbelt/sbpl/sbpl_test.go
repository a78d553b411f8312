package sbpl_test

import (
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
