package ir

import (
	"regexp"
	"testing"
)

// The forms, as regular expressions say them.
var patterns = map[string]struct {
	form    form
	pattern *regexp.Regexp
}{
	"name":       {nameForm, regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)},
	"variable":   {variableForm, regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)},
	"field":      {fieldForm, regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)},
	"digest":     {digestForm, regexp.MustCompile(`^[0-9a-f]{64}$`)},
	"identifier": {identifier, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)},
}

func FuzzForms(f *testing.F) {
	const hex = "0123456789abcdef"
	for _, seed := range []string{"", "a", "A", "_", "9", "-", "a-b", "a_b", "a.b", "a\n", "é", hex + hex + hex + hex, hex + hex + hex + hex[1:], hex + hex + hex + hex + "0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, p := range patterns {
			if got, want := p.form.matches(s), p.pattern.MatchString(s); got != want {
				t.Errorf("%s form matches(%q) = %v, want %v", name, s, got, want)
			}
		}
	})
}

func TestFormsByteByByte(t *testing.T) {
	for name, p := range patterns {
		for c := range 256 {
			for _, s := range []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}), "0" + string([]byte{byte(c)})} {
				if got, want := p.form.matches(s), p.pattern.MatchString(s); got != want {
					t.Errorf("%s form matches(%q) = %v, want %v", name, s, got, want)
				}
			}
		}
	}
}
