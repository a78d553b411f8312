package sbpl

import (
	"errors"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// Lint reads a profile and says what is wrong with it and what is probably not
// meant, in reading order. What libsandbox refuses is an error, all else a warning.
func Lint(name string, src []byte, o Options) diag.List {
	profile, errs := parseAll(name, src, o)
	l := &linter{profile: profile, options: o, name: name, src: src, leaves: map[string][]string{}}
	for _, err := range errs {
		l.add(refused(l, err))
	}
	if profile != nil {
		for _, check := range checks {
			check.run(l)
		}
	}
	return l.list.Sorted()
}

// checks is every check: what it looks for and why that matters.
var checks = []struct {
	run func(*linter)
	why string
}{
	{(*linter).text, "the reader sees something else than the author: text after a NUL, escapes that vanish"},
	{(*linter).frame, "a profile without version, default or / does not do what it seems to"},
	{(*linter).open, "(deny default) does not reach what a release or version 1 allows by itself"},
	{(*linter).paths, "the kernel resolves paths before rules see them: some never match"},
	{(*linter).expressions, "patterns match anywhere, and letter for letter"},
	{(*linter).sockets, "local is the sandbox's own end of a connection"},
	{(*linter).parts, "filters and modifiers that do nothing where they stand, and one that ends the sandbox"},
	{(*linter).unfiltered, "a rule without filters overrides no rule with filters, wherever it stands"},
	{(*linter).denials, "rules are kept for each operation: a deny on a family does not reach its members' own rules"},
}

type linter struct {
	profile *Profile
	options Options
	name    string
	src     []byte
	list    diag.List
	leaves  map[string][]string // of operations, once asked for
}

func (l *linter) add(d diag.Diagnostic) { l.list.Add(d) }

// at is the word or list that begins at a place.
func (l *linter) at(p scheme.Pos) diag.Range {
	end := p
	if p.File == l.name {
		end = scheme.Extent(l.src, p)
	}
	return diag.Range{File: p.File, Start: diag.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte}, End: diag.Pos{Line: end.Line, Column: end.Column, Byte: end.Byte}}
}

// argument is where argument i of a filter stands, or the filter.
func (l *linter) argument(f *Filter, i int) diag.Range {
	if i < len(f.where) && f.where[i].Line > 0 {
		return l.at(f.where[i])
	}
	return l.at(f.At)
}

// own yields the rules that the text makes.
func (l *linter) own(visit func(*Rule)) {
	for _, r := range l.profile.Rules {
		if r.Import == "" {
			visit(r)
		}
	}
}

// atoms visits the comparisons of every rule.
func (l *linter) atoms(visit func(r *Rule, f *Filter, negated bool)) {
	l.own(func(r *Rule) {
		if r.Filter != nil {
			r.Filter.each(false, func(f *Filter, negated bool) { visit(r, f, negated) })
		}
	})
}

// help is what to write instead, for errors.
var help = map[scheme.Code]string{
	scheme.Syntax:        "SBPL is Scheme: every list is closed, strings know \\n \\t \\r \\\" \\\\ \\xHH and octal, #\"…\" has no escapes",
	scheme.UnboundName:   "check the spelling and the macOS release; (when (defined? 'NAME) …) guards names that some releases lack",
	scheme.WrongArgument: "a -D definition that is missing is #f, which no filter takes",
	scheme.Raised:        "the profile raises this error itself",
	scheme.PastLimit:     "no profile in use is near this limit",
	NoVersion:            "begin with (version 1)",
	WrongVersion:         "state one version, 1 or 3",
	WrongModifier:        "report goes with allow, no-report and errno with deny; each stands once in a rule",
	WrongRule:            "a rule is (allow or deny, operations, filters, (with MODIFIER)), in any order",
	WrongCategory:        "write the rule on an operation that takes this filter",
	BadRegex:             "the dialect has ^ at the start of a branch, $ . * + ? | ( ) [ ] { } and \\ before punctuation",
	BadAddress:           `write "*:PORT", "localhost:PORT", "*:*" or "localhost:*"; profiles know no other hosts`,
	NoImport:             "give the folder that holds the file, or write its rules here",
}

// refused reports what libsandbox stops at.
func refused(l *linter, err error) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Code: "sbpl", Message: err.Error(), At: diag.Range{File: l.name}}
	var e *scheme.Error
	if errors.As(err, &e) {
		d.Code, d.Message, d.Help = string(e.Code), e.Message, help[e.Code]
		if e.Code != NoVersion { // which concerns the file
			d.At = l.at(e.At)
		}
	}
	return d
}
