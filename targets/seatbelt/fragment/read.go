package fragment

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// Read reads a profile:
//
//	profile    = (version 1) (deny default [tag]) {definition} [starts] {rule}
//	starts     = (define obspc-execute area) | (define obspc-execute (require-any {area}))
//	rule       = decision | (when (param "CONFIG") decision) | (when (defined? 'OPERATION) decision)
//	decision   = (allow OPERATION… {filter}) | (deny OPERATION… {filter} [tag])
//	tag        = (with message "…")
//	filter     = area | area twin | above | (require-all area obspc-execute) | (WORD name) | stream | address
//	area       = (literal path) | (literal path) (subpath path)
//	path       = text | (param "SLOT") | (string-append (param "SLOT") text)
//	twin       = (regex text) | (regex (string-append "^" obspc-SLOT text))
//	above      = (path-ancestors (param "SLOT")) | (obspc-caseless-ancestors (param "SLOT"))
//	text       = "…" | (string-append "…" "…"…)
//	stream     = (require-all (socket-domain FAMILY) (socket-type SOCK_STREAM))
//	address    = (remote ip "*:*") | (remote tcp4 (string-append "localhost:" (param "PROXY")))
//	           | (remote tcp "localhost:*") | (local tcp "localhost:*")
//
// A text may be joined from pieces, so that none is too long. The two paths of an
// area are one; inside require-all it is one filter, by (require-any …). A twin
// matches the area before it under every spelling that differs in the case of
// letters, and stands in denials alone, as obspc-caseless-ancestors does. A stream, and
// an address on the loopback, stand in rules that allow alone; local belongs to
// listening, for under network-outbound it would allow every connection.
//
// A decision behind (defined? 'OPERATION) is about that operation alone, which some
// supported release lacks; the others are about operations that all of them have,
// since an unbound name fails the whole profile. CONFIG may not be given, so it
// stands behind (when (param "CONFIG") …) alone. The error is an *Error.
func Read(profile []byte) (*Profile, error) {
	text := string(profile)
	all, err := forms(text)
	if err != nil {
		return nil, err
	}
	r := &reader{scanner: scanner{text: text}, defined: map[string]bool{}, rule: &Rule{}}
	r.profile(all)
	if r.err != nil {
		return nil, r.err
	}
	return &Profile{Tag: r.tag, Starts: r.starts, Rules: r.rules}, nil
}

// reader gives forms their meaning. The first fault is kept.
type reader struct {
	scanner
	defined map[string]bool
	tag     string
	starts  []Filter
	rules   []*Rule
	line    int // of the form at
	at      int

	rule *Rule // being read
}

// fail notes what is wrong with a form.
func (r *reader) fail(f form, format string, args ...any) { r.scanner.fail(f.at, format, args...) }

func (r *reader) profile(all []form) {
	for i, first := range []string{"(version 1)", "(deny default)"} {
		want, _ := forms(first)
		if i == 1 && i < len(all) {
			r.tag, all[i].list = cutTag(all[i].list)
		}
		if i >= len(all) || !same(all[i], want[0]) {
			r.scanner.fail(atOf(all, i, r.text), "no %s, where it must be", first)
			return
		}
	}
	all = all[2:]
	for len(all) > 0 && head(all[0]) == "define" {
		r.define(all[0])
		all = all[1:]
	}
	for _, f := range all {
		r.conditional(f)
	}
}

// atOf is where the i-th form begins, or the text ends.
func atOf(all []form, i int, text string) int {
	if i < len(all) {
		return all[i].at
	}
	return len(text)
}

// head is the symbol that a list begins with.
func head(f form) string {
	if f.kind == '(' && len(f.list) > 0 && f.list[0].kind == 'a' {
		return f.list[0].text
	}
	return ""
}

// lineOf is the line of an offset, which is at or after the last one asked.
func (r *reader) lineOf(at int) int {
	r.line += strings.Count(r.text[r.at:at], "\n")
	r.at = at
	return 1 + r.line
}

// conditional reads a rule and what it depends on.
func (r *reader) conditional(f form) {
	r.rule = &Rule{Line: r.lineOf(f.at)}
	guard := ""
	if head(f) == "when" {
		if len(f.list) != 3 {
			r.fail(f, "a when of other than one condition and one decision")
			return
		}
		condition := f.list[1]
		switch guarded := symbolOf(condition, "defined?"); {
		case guarded != "":
			guard = guarded
		case parameter(condition) == ir.Config:
			r.rule.IfConfig = true
		default:
			r.fail(condition, `a condition other than (param "CONFIG") and (defined? 'OPERATION)`)
		}
		f = f.list[2]
	}
	r.decision(f, guard)
	r.rules = append(r.rules, r.rule)
}

// symbolOf is NAME of (WORD 'NAME), "" for every other form.
func symbolOf(f form, word string) string {
	if head(f) == word && len(f.list) == 2 && f.list[1].kind == '\'' {
		return f.list[1].text
	}
	return ""
}

// parameter is the slot of (param "NAME"), Host for every other form.
func parameter(f form) ir.Root {
	if head(f) == "param" && len(f.list) == 2 && f.list[1].kind == '"' {
		return parameters[f.list[1].text]
	}
	return ir.Host
}

// decision reads (allow …) and (deny …).
func (r *reader) decision(f form, guard string) {
	switch head(f) {
	case "allow":
		r.rule.Allow = true
	case "deny":
	default:
		r.fail(f, "no decision, where one must be")
		return
	}
	rest := f.list[1:]
	if !r.rule.Allow {
		r.rule.Tag, rest = cutTag(rest)
	}
	for len(rest) > 0 && rest[0].kind == 'a' {
		r.operation(rest[0], guard)
		rest = rest[1:]
	}
	if len(r.rule.Operations) == 0 {
		r.fail(f, "a decision about no operation")
	}
	for len(rest) > 0 && r.err == nil {
		rest = r.filter(rest)
	}
}

// cutTag is the message that a denial ends with, and what stands before it.
func cutTag(list []form) (string, []form) {
	if len(list) == 0 {
		return "", list
	}
	last := list[len(list)-1]
	if head(last) != "with" || len(last.list) != 3 || last.list[1].kind != 'a' || last.list[1].text != "message" || last.list[2].kind != '"' {
		return "", list
	}
	return last.list[2].text, list[:len(list)-1]
}

// operation reads the name of one, which every supported release must have but for
// that of the guard.
func (r *reader) operation(f form, guard string) {
	name := f.text
	lacking := slices.ContainsFunc(operations.Supported(), func(v operations.Release) bool { o, ok := operations.Named(name); return !ok || !o.In(v) })
	switch {
	case name == "default" || !known(name):
		r.fail(f, "%s, which is no operation that a rule may be about", name)
	case guard != "" && (guard != name || !lacking):
		r.fail(f, "%s behind a condition about %s", name, guard)
	case guard == "" && lacking:
		r.fail(f, "%s, which some release lacks, without (when (defined? '%s) …)", name, name)
	}
	r.rule.Operations = append(r.rule.Operations, name)
}

// known reports whether some supported release has the operation.
func known(name string) bool {
	o, ok := operations.Named(name)
	return ok && slices.ContainsFunc(operations.Supported(), o.In)
}
