package sbpl_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// seeds are the profiles of the facts and those of testdata/profiles.
func seeds(f *testing.F, add func(src string)) {
	for _, row := range facts(f) {
		add(row.Profile)
	}
	files, err := filepath.Glob("testdata/profiles/*.sb")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(string(text))
	}
}

// FuzzParse: every text becomes a profile or an error with a place, and every rule is
// printed so that it reads back as the same rule.
func FuzzParse(f *testing.F) {
	seeds(f, func(src string) { f.Add(src, uint8(0)); f.Add(src, uint8(3)) })
	f.Fuzz(func(t *testing.T, src string, n uint8) {
		o := sbpl.Options{Release: operations.Releases()[int(n)%len(operations.Releases())], Imports: library, Params: map[string]string{"W": "/w"}}
		p, err := sbpl.Parse("f.sb", []byte(src), o)
		var e *scheme.Error
		if err != nil {
			if !errors.As(err, &e) || e.At.Line < 1 || e.At.Column < 1 || e.Message == "" {
				t.Errorf("%q: %v has no place", src, err)
			}
			return
		}
		for _, r := range p.Rules {
			text := r.String()
			again, err := sbpl.Parse("r.sb", []byte("(version 1)\n"+text), o)
			if err != nil || len(again.Rules) != 1 || again.Rules[0].String() != text {
				t.Errorf("%s does not read back: %v", text, err)
			}
		}
	})
}

// FuzzEvaluate: every question gets an answer, and one that is given without some
// of the context stays when it is known.
func FuzzEvaluate(f *testing.F) {
	seeds(f, func(src string) { f.Add(src, "/a/b", "com.apple.x", uint16(7)) })
	f.Fuzz(func(t *testing.T, src, path, name string, n uint16) {
		p, err := sbpl.Parse("f.sb", []byte(src), sbpl.Options{AssumeVersion1: true, UnknownImports: true})
		if err != nil {
			return
		}
		ops := p.Operations()
		op := ops[int(n)%len(ops)]
		full := sbpl.Context{
			"path": {path}, "vnode-type": {"DIRECTORY"}, "target": {"others"}, "global-name": {name}, "sysctl-name": {name},
			"extension": {}, "file-mode": {"0644"}, "socket-domain": {"AF_INET"},
		}
		whole, err := p.Evaluate(op, full)
		if err != nil {
			t.Fatal(err)
		}
		part := sbpl.Context{}
		i := 0
		for _, key := range []string{"path", "vnode-type", "target", "global-name", "sysctl-name", "extension", "file-mode", "socket-domain"} {
			if n>>(i+3)&1 == 1 {
				part[key] = full[key]
			}
			i++
		}
		some, err := p.Evaluate(op, part)
		if err != nil {
			t.Fatal(err)
		}
		if some.Decision != sbpl.Undecided && whole.Decision != sbpl.Undecided && some.Decision != whole.Decision {
			t.Errorf("%s: %v, and with more known %v\n%s", op, some.Decision, whole.Decision, src)
		}
		if (some.Decision == sbpl.Undecided) != (len(some.Unknown) > 0) || len(some.Path) == 0 || some.Explain() == "" {
			t.Errorf("%s: %+v", op, some)
		}
	})
}

// FuzzLint: findings have words and places, whatever the text.
func FuzzLint(f *testing.F) {
	seeds(f, func(src string) { f.Add(src) })
	f.Fuzz(func(t *testing.T, src string) {
		for _, d := range sbpl.Lint("f.sb", []byte(src), sbpl.Options{AssumeVersion1: true}) {
			if d.Code == "" || d.Message == "" || d.Help == "" || d.Code == "sbpl" {
				t.Errorf("%q: %+v", src, d)
			}
		}
	})
}
