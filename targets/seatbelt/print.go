package seatbelt

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// maxText bounds a profile, which the runtime passes to sandbox-exec as one
// argument: arguments and environment together have 1 MiB (ARG_MAX of macOS,
// sys/syslimits.h), and the command's own need some of it.
const maxText = 768 << 10

// maxPattern bounds the text of the filters that stand in one rule. A pattern of a
// profile holds at most 65,535 bytes once compiled (NixOS/nix issue 4119), and
// Apple's front end makes one pattern of all that stand in one rule. Most rules here
// have two paths and one expression each, far from that; one that lets programs
// start has all that the execute rules name.
const maxPattern = 60_000

// TooLargeError reports a policy whose profile would not fit.
type TooLargeError struct {
	What         string // does not fit
	Bytes, Limit int
	Rules        int
	Starts       bool // it is about what may start alone
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s takes %d bytes for %d rules, and %d fit: name directories instead of the files in them", e.What, e.Bytes, e.Rules, e.Limit)
}

// printer writes rules, one a line. The first error stops it and is kept.
type printer struct {
	policy    string // its name
	buf       strings.Builder
	rules     int
	slots     map[ir.Root]bool // whose caseless spelling is used
	ancestors bool             // whether the caseless ancestors are
	starts    []string         // filters of what the execute rules name
	err       error
}

// rule is one decision about some operations. Without filters it is what remains
// when no filtered rule of the operation matches, wherever it stands.
type rule struct {
	Allow      bool
	Operations []string
	Filters    []string
	When       string    // a condition, "" for always
	Origin     ir.Origin // "" for what every profile holds
}

func (w *printer) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

// section begins a group of rules.
func (w *printer) section(title string) { fmt.Fprintf(&w.buf, "\n; %s\n", title) }

// add writes r: one line for the operations that every release knows, one behind a
// guard for each of the others.
func (w *printer) add(r rule) {
	var known []string
	for _, name := range r.Operations {
		o, ok := operationNamed(name)
		switch {
		case !ok:
			w.fail(fmt.Errorf("bug in obspc: %s is no operation of Seatbelt", name))
		case o.everywhere():
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		w.line(r, r.When, known)
	}
	for _, name := range r.Operations {
		if o, ok := operationNamed(name); ok && !o.everywhere() {
			w.line(r, r.When, []string{name}, "(defined? '"+name+")")
		}
	}
}

func (w *printer) line(r rule, condition string, operations []string, guards ...string) {
	w.rules++
	action := "(deny "
	if r.Allow {
		action = "(allow "
	}
	if condition != "" {
		guards = append([]string{condition}, guards...)
	}
	for _, g := range guards {
		w.buf.WriteString("(when " + g + " ")
	}
	w.buf.WriteString(action + strings.Join(operations, " "))
	for _, f := range r.Filters {
		w.buf.WriteString(" " + f)
	}
	if !r.Allow {
		w.buf.WriteString(" " + w.tag(r.Origin))
	}
	w.buf.WriteString(")" + strings.Repeat(")", len(guards)))
	if r.Origin != "" {
		w.fail(checkOrigin(string(r.Origin)))
		w.buf.WriteString(" ; " + string(r.Origin))
	}
	w.buf.WriteString("\n")
}

// tag is what macOS adds to its record of a violation that the rule decided: whose
// policy it is, and which statement ("" for what every profile denies). The modifier
// is there since 10.13, on every operation and default, and decides nothing.
func (w *printer) tag(o ir.Origin) string {
	text := "obspc " + w.policy
	if o != "" {
		text += " " + string(o)
	}
	return "(with message " + w.quoted(text) + ")"
}

// filters match the area as the rule spells it. A subtree is named twice: whether
// subpath matches a plain file is not settled.
func (w *printer) filters(a area) []string {
	at := w.path(a.Path)
	if a.Only {
		return []string{"(literal " + at + ")"}
	}
	return []string{"(literal " + at + ")", "(subpath " + at + ")"}
}

// path is p as an SBPL expression.
func (w *printer) path(p ir.Path) string {
	text, err := expression(p)
	w.fail(err)
	return text
}

// quoted is s as an SBPL expression.
func (w *printer) quoted(s string) string {
	text, err := quote(s)
	w.fail(err)
	return text
}

// twin matches the area under every spelling that differs by case: most volumes of
// macOS find a file under each of them, and a rule that only refuses one spelling
// is walked around. Nothing when the path has no letter.
func (w *printer) twin(a area) []string {
	end := "(/|$)"
	if a.Only {
		end = "$"
	}
	if a.Path.Root() == ir.Host {
		text := a.Path.String()
		if !hasLetter(text) {
			return nil
		}
		return []string{"(regex " + w.quoted("^"+caseless(text)+end) + ")"}
	}
	w.slots[a.Path.Root()] = true
	rest := end
	if !a.Path.IsRoot() {
		rest = "/" + caseless(a.Path.Rel()) + end
	}
	return []string{`(regex (string-append "^" ` + caselessName(a.Path.Root()) + " " + w.quoted(rest) + "))"}
}

func hasLetter(s string) bool {
	for i := range len(s) {
		if isLetter(s[i]) {
			return true
		}
	}
	return false
}

// finish is the whole profile: head, the definitions its rules use, the rules.
func (w *printer) finish(head string) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	text := head + w.prelude() + w.buf.String()
	if len(text) > maxText {
		return nil, &TooLargeError{"the Seatbelt profile", len(text), maxText, w.rules, false}
	}
	return []byte(text), nil
}
