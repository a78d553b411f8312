package sbpl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// text checks what the reader made of the bytes.
func (l *linter) text() {
	if l.profile.Ended.Line > 0 {
		l.add(textAfterNUL(l))
	}
	for _, at := range l.profile.Dropped {
		l.add(droppedEscape(l, at))
	}
	for _, r := range l.profile.Rules {
		if r.Import != "" {
			l.add(unknownImport(l, r))
		}
	}
}

// frame checks what every profile should state.
func (l *linter) frame() {
	p := l.profile
	if !p.Stated && l.options.AssumeVersion1 {
		l.add(versionMissing(l))
	}
	tail := p.lists["default"].tail
	if tail.rule == nil {
		l.add(defaultMissing(l))
	}
	exec := "process-exec*"
	if !p.HasOperation(exec) {
		exec = "process-exec"
	}
	root, err := p.Evaluate("file-read-data", Context{"path": {"/"}, "extension": {}})
	if err == nil && root.Decision == Deny && p.canReturn(exec, true) {
		l.add(rootUnreadable(l, p.startsPrograms(exec)))
	}
}

// startsPrograms is a rule that lets programs start, nil if that is a default.
func (p *Profile) startsPrograms(exec string) *Rule {
	for _, r := range p.Rules {
		for _, op := range r.Operations {
			if o, _ := operations.Named(exec); r.Allow && (op == exec || isBelow(o, op, p.Release)) {
				return r
			}
		}
	}
	return nil
}

// open checks what stays allowed although default is denied.
func (l *linter) open() {
	p := l.profile
	if t := p.lists["default"].tail; t.allow || t.rule == nil {
		return
	}
	var names []string
	for _, o := range operations.All() {
		if list := p.lists[o.Name]; list != nil && list.tail.parent == "" && list.tail.rule == nil && list.tail.allow {
			names = append(names, o.Name)
		}
	}
	if len(names) > 0 {
		l.add(openOperations(l, p.lists["default"].tail.rule, names))
	}
}

// sockets checks local on connections going out.
func (l *linter) sockets() {
	l.atoms(func(r *Rule, f *Filter, negated bool) {
		if !r.Allow || negated || f.atom.spec.name != "local" {
			return
		}
		for _, op := range r.Operations {
			if op == "network-outbound" || op == "network*" {
				l.add(localOnOutbound(l, f, op))
				return
			}
		}
	})
}

// parts checks filters and modifiers against the operations they stand with.
func (l *linter) parts() {
	l.own(func(r *Rule) {
		if r.Filter != nil {
			for _, f := range r.Filter.categories() {
				for _, op := range r.Operations {
					if !usable(op, f.atom.spec.category, l.profile.Release) {
						l.add(filterWithoutEffect(l, f, op))
					}
				}
			}
		}
		for _, m := range r.Modifiers {
			if m.Name == "no-sandbox" {
				l.add(noSandbox(l, r))
			}
			spec := modifierNamed(m.Name)
			for _, op := range r.Operations {
				if spec.operations != nil && !slices.Contains(spec.operations, op) {
					l.add(modifierWithoutEffect(l, r, m, op, spec.operations))
				}
			}
		}
	})
}

// textAfterNUL reports bytes that are never read.
func textAfterNUL(l *linter) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "text-after-nul", At: l.at(l.profile.Ended),
		Message: "a NUL byte ends the profile here, and text follows it",
		Help:    "what follows is never read; remove it, or the NUL",
	}
}

// droppedEscape reports a backslash that the reader drops.
func droppedEscape(l *linter, at scheme.Pos) diag.Diagnostic {
	at2 := l.at(at)
	at2.End = diag.Pos{Line: at.Line, Column: at.Column + 2, Byte: at.Byte + 2}
	next := ""
	if at.Byte+1 < len(l.src) && at.File == l.name {
		next = string(l.src[at.Byte+1])
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "dropped-escape", At: at2,
		Message: fmt.Sprintf(`\%s in a plain string is just %s: the backslash is dropped`, next, next),
		Help:    `write a pattern as #"…", which has no escapes, or double the backslash`,
	}
}

// unknownImport reports a file that could not be opened and was passed over.
func unknownImport(l *linter, r *Rule) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "unknown-import", At: l.at(r.At),
		Message: fmt.Sprintf("%s cannot be opened here, so whatever its rules could decide is undecided", r.Import),
		Help:    "give the folder that holds it",
	}
}

// versionMissing reports a fragment taken as version 1.
func versionMissing(l *linter) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "version-missing", At: diag.Range{File: l.name},
		Message: "no version is stated: by itself the profile is refused",
		Help:    "begin with (version 1)",
	}
}

// defaultMissing reports a profile that leaves the default to macOS.
func defaultMissing(l *linter) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "default-missing", At: diag.Range{File: l.name},
		Message: "no rule is about default, so what no rule names is denied",
		Help:    "write (deny default), so that readers see it",
	}
}

// rootUnreadable reports a profile under which no dynamic program starts.
func rootUnreadable(l *linter, r *Rule) diag.Diagnostic {
	at := diag.Range{File: l.name}
	if r != nil {
		at = l.at(r.At)
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "root-unreadable", At: at,
		Message: `programs may start, but "/" cannot be read: macOS 26 kills every dynamic program`,
		Help:    `add (allow file-read* (literal "/"))`,
	}
}

// openOperations reports what the release and version 1 leave open.
func openOperations(l *linter, r *Rule, names []string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "open-operations", At: l.at(r.At),
		Message: fmt.Sprintf("(deny default) leaves %d operations open: %s", len(names), strings.Join(names, ", ")),
		Help:    "deny by name what is not meant to be allowed; (version 3) allows less by itself",
	}
}

// localOnOutbound reports a filter that matches every connection.
func localOnOutbound(l *linter, f *Filter, op string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "local-on-outbound", At: l.at(f.At),
		Message: fmt.Sprintf("%s on %s is the sandbox's own end of a connection: every connection out is allowed", f, op),
		Help:    "write remote where the other end is meant",
	}
}

// filterWithoutEffect reports a filter that never matches on its operation.
func filterWithoutEffect(l *linter, f *Filter, op string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "filter-without-effect", At: l.at(f.At),
		Message: fmt.Sprintf("%s never matches on %s: the operation has no %s", f.Name, op, f.atom.spec.category),
		Help:    "remove the filter or the operation",
	}
}

// noSandbox reports a program that runs outside of the sandbox.
func noSandbox(l *linter, r *Rule) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "no-sandbox", At: l.at(r.At),
		Message: "what this rule starts runs without a sandbox",
		Help:    "only programs that cannot be made to run others are safe here",
	}
}

// modifierWithoutEffect reports a modifier on an operation it is not for.
func modifierWithoutEffect(l *linter, r *Rule, m Modifier, op string, fit []string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "modifier-without-effect", At: l.at(r.At),
		Message: fmt.Sprintf("%s is for %s, not for %s", m.Name, fit[0], op),
		Help:    "remove the modifier or the operation",
	}
}
