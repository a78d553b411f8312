package seatbelt

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/obspc/obspc/compiler/ir"
)

// TestOddNames: each name is one string, grants nothing but itself, and its own
// rule holds.
func TestOddNames(t *testing.T) {
	for _, path := range odd {
		p := statements("")
		p.Files = []ir.FileRule{
			{Path: ir.MustPath(path), Level: ir.Write, Origin: "p/filesystem.write[0]"},
			{Path: ir.MustPath(path + "/Mine"), Level: ir.Deny, Origin: "p/filesystem.deny[0]"},
		}
		for _, m := range machines(t, p, bound) {
			clean := ir.MustPath(path).String()
			for ask, want := range map[string]bool{
				clean + "/f": true, "/etc/x": false, "/data/other": false, clean + "x": false, clean + "/mine/x": false, clean + "/Mine": false,
			} {
				if got := m.allows("file-write-create", event{Path: ask}); got != want {
					t.Errorf("%s: write %q allows creating %q: %v", m.release, path, ask, got)
				}
			}
		}
	}
}

func TestRefusedText(t *testing.T) {
	for _, s := range []string{"a\nb", "a\x00b", "a\x7fb", "a\xffb", "\xc3", "a\tb", "a\u0085b"} {
		var fault *StringError
		if got, err := quote(s); !errors.As(err, &fault) {
			t.Errorf("quote(%q) = %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"p/x\n(allow default)", "p/x y", "p;x", "p/é", strings.Repeat("p", maxString)} {
		if err := checkOrigin(s); err == nil {
			t.Errorf("checkOrigin(%q) = nil", s)
		}
	}
	p := statements("read=[/usr]")
	p.Files[0].Origin = "p/x\n(allow default)"
	if _, err := Compile(p); err == nil {
		t.Errorf("an origin starts a rule")
	}
}

func TestCaseless(t *testing.T) {
	for in, want := range map[string]string{
		"/.Git":   `/\.[Gg][Ii][Tt]`,
		"/a^b]":   `/[Aa]\^[Bb]]`,
		"/é1":     "/é1",
		`/\{@[\"`: `/\\\{@\[\\"`,
	} {
		if got := caseless(in); got != want {
			t.Errorf("caseless(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzQuote reads back what quote writes, with a reader that shares nothing with
// it.
func FuzzQuote(f *testing.F) {
	for _, s := range append(odd, "", "/", "\\", `"`, strings.Repeat(`\`, 1200), strings.Repeat("é", 900), "\xff", "a\nb") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := quote(s)
		fine := utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
		if fine != (err == nil) {
			t.Fatalf("quote(%q) = %v", s, err)
		}
		if err != nil {
			return
		}
		forms, err := readAll(out)
		if err != nil || len(forms) != 1 {
			t.Fatalf("quote(%q) = %s reads as %v, %v", s, out, forms, err)
		}
		if got := eval(forms[0], global(nil)); got != s {
			t.Fatalf("quote(%q) reads as %q", s, got)
		}
	})
}

// FuzzCaseless: the expression matches the text in either case and nothing longer.
func FuzzCaseless(f *testing.F) {
	for _, s := range odd {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if checkText(s) != nil {
			return
		}
		expression := "^" + caseless("/"+s) + "(/|$)"
		match := filterMakers["regex"]([]any{expression}).(filter)
		for path, want := range map[string]bool{
			"/" + s: true, foldCase("/" + s): true, "/" + s + "/x": true, "/" + s + "x": false, "x/" + s: false,
		} {
			if got := match(event{Path: path}); got != want {
				t.Fatalf("%q matches %q: %v", expression, path, got)
			}
		}
	})
}
