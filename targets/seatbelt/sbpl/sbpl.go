// Package sbpl reads profiles in Seatbelt's language (SBPL) as libsandbox does, and
// decides requests by them: text to Profile to Answer, allow, deny, or undecided with
// what would have to be known. It is written from what is published and measured of
// macOS (testdata/facts.tsv), never from what obspc's own profiles look like: its one
// rule is to share nothing with the package that emits them but the table of
// operations. How requests of policies become operations is in package model; the
// Scheme inside profiles is in package scheme.
package sbpl

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// Options are what a profile means something under.
type Options struct {
	// Release is the macOS whose operations, filters and modifiers exist; zero is the
	// newest with a published table.
	Release operations.Release
	// Params are the -D definitions.
	Params map[string]string
	// Imports is where (import …) finds files, with absolute paths less their leading
	// slash. Nil: no file can be opened.
	Imports fs.FS
	// AssumeVersion1 takes fragments that state no version.
	AssumeVersion1 bool
	// UnknownImports goes on past a file that cannot be opened: whatever its rules
	// could decide is undecided. Names that it would define are still missing.
	UnknownImports bool
}

// The codes of errors that profiles have beside those of their Scheme.
const (
	NoVersion     scheme.Code = "no-version"
	WrongVersion  scheme.Code = "wrong-version"
	WrongModifier scheme.Code = "wrong-modifier"
	WrongRule     scheme.Code = "wrong-rule"
	WrongCategory scheme.Code = "filter-category"
	BadRegex      scheme.Code = "bad-regex"
	BadAddress    scheme.Code = "bad-address"
	NoImport      scheme.Code = "no-import"
)

// Profile is a profile that was read.
type Profile struct {
	Name    string
	Release operations.Release
	// Version is 1, 2 or 3; Stated tells whether the text says so.
	Version int
	Stated  bool
	// Rules are in the order in which they were made.
	Rules []*Rule
	// Ended is where a NUL byte cut the text off, Dropped where plain strings hold
	// escapes that mean nothing.
	Ended   scheme.Pos
	Dropped []scheme.Pos

	lists map[string]*list
	atoms int // of all rules, filters that several rules share counted each time
}

// Rule is one (allow …) or (deny …), with what was wrapped around it.
type Rule struct {
	At    scheme.Pos
	Allow bool
	// Operations are as the release names them, aliases resolved.
	Operations []string
	// Filter is nil for a rule without filters; several filters are one require-any.
	Filter    *Filter
	Modifiers []Modifier
	// Standard rules are made by macOS, not by the text.
	Standard bool
	// Import is the file whose rules are not known, if that is what stands here.
	Import string
}

func actionName(allow bool) string {
	if allow {
		return operations.Allow
	}
	return operations.Deny
}

// String is the rule as it could be written.
func (r *Rule) String() string {
	if r.Import != "" {
		return "(import " + Quote(r.Import) + ")"
	}
	var b strings.Builder
	b.WriteString("(" + actionName(r.Allow))
	for _, op := range r.Operations {
		b.WriteString(" " + op)
	}
	if r.Filter != nil {
		b.WriteByte(' ')
		r.Filter.write(&b)
	}
	for _, m := range r.Modifiers {
		b.WriteString(" " + m.String())
	}
	b.WriteByte(')')
	return b.String()
}

// Parse reads a profile. name is for messages. The error is the first that
// libsandbox would stop at, a *scheme.Error.
func Parse(name string, src []byte, o Options) (*Profile, error) {
	p := newParser(name, o)
	text, err := scheme.Read(name, src)
	if err != nil {
		return nil, err
	}
	for i, form := range text.Forms {
		if _, err := p.machine.Eval(form, text.Open[i]); err != nil {
			return nil, err
		}
	}
	if err := p.finish(text); err != nil {
		return nil, err
	}
	return p.profile, nil
}

// maxErrors is how many errors of one profile are told.
const maxErrors = 100

// parseAll reads a profile past its errors, form by form. The profile is nil when
// the text cannot be split into forms.
func parseAll(name string, src []byte, o Options) (*Profile, []error) {
	p := newParser(name, o)
	text, err := scheme.Read(name, src)
	var errs []error
	for i, form := range text.Forms {
		if len(errs) >= maxErrors {
			break
		}
		if _, err := p.machine.Eval(form, text.Open[i]); err != nil {
			errs = append(errs, err)
		}
	}
	if err != nil {
		return nil, append(errs, err)
	}
	if err := p.finish(text); err != nil {
		errs = append(errs, err)
	}
	return p.profile, errs
}

// finish checks what only the whole text shows, and builds the lists.
func (p *parser) finish(text scheme.Text) error {
	profile := p.profile
	profile.atoms = p.filters
	profile.Ended, profile.Dropped = text.Ended, text.Dropped
	profile.Version, profile.Stated = p.version, p.version != 0
	var err error
	if !profile.Stated {
		profile.Version = 1
		if !p.options.AssumeVersion1 {
			err = &scheme.Error{At: scheme.Pos{File: profile.Name, Line: 1, Column: 1}, Code: NoVersion, Message: "no version specified"}
		}
	}
	profile.build()
	return err
}

// HasOperation reports whether the profile's release has an operation of that name.
func (p *Profile) HasOperation(name string) bool {
	_, ok := p.lists[name]
	return ok
}

// Operations lists the operations of the profile's release, in the table's order.
func (p *Profile) Operations() []string {
	var out []string
	for _, o := range operations.All() {
		if o.In(p.Release) {
			out = append(out, o.Name)
		}
	}
	return slices.Clip(out)
}
