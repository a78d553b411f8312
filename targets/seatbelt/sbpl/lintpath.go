package sbpl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// paths checks the texts of path filters.
func (l *linter) paths() {
	l.atoms(func(r *Rule, f *Filter, _ bool) {
		if f.atom.spec.kind != pathPattern || f.atom.how == matches {
			return
		}
		for i, text := range f.atom.texts {
			l.path(r, f, i, text)
		}
	})
}

// path reports the first fault of one path.
func (l *linter) path(r *Rule, f *Filter, i int, text string) {
	isPrefix := f.atom.how == hasPrefix
	switch {
	case text == "" && isPrefix:
	case !strings.HasPrefix(text, "/"):
		l.add(relativePath(l, f, i, text))
	case hasDots(text, isPrefix):
		l.add(dotPath(l, f, i, text))
	case strings.Contains(text, "//"):
		l.add(doubleSlash(l, f, i, text))
	case len(text) > 1 && strings.HasSuffix(text, "/") && !isPrefix:
		l.add(trailingSlash(l, f, i, text))
	case f.atom.spec.name == "path" && Canonical(text) != text:
		twin := Canonical(text)
		// The link itself is looked at under its own name.
		isLink := IsLink(text) && f.atom.how == equals
		if !isLink && !l.names(r, twin) {
			l.add(linkPath(l, f, i, text, twin))
		}
	}
}

// hasDots reports a component . or .. of a path; the last one of a prefix may go on.
func hasDots(text string, isPrefix bool) bool {
	parts := strings.Split(text, "/")
	if isPrefix {
		parts = parts[:len(parts)-1]
	}
	return slices.Contains(parts, ".") || slices.Contains(parts, "..")
}

// names reports whether a rule names the path as well.
func (l *linter) names(r *Rule, path string) (found bool) {
	r.Filter.each(false, func(f *Filter, _ bool) { found = found || slices.Contains(f.atom.texts, path) })
	return found
}

// expressions checks patterns.
func (l *linter) expressions() {
	l.atoms(func(r *Rule, f *Filter, negated bool) {
		for i, e := range f.atom.expressions {
			if !anchored(e.source) {
				l.add(unanchored(l, f, i))
			}
			if link, target := linkPattern(e.source); link != "" && f.atom.spec.name == "path" {
				l.add(linkPath(l, f, i, link, target))
			}
			if r.Allow == negated && f.atom.spec.kind == pathPattern && plainLetters(e.source) {
				l.add(caseOfPattern(l, f, i))
			}
		}
	})
}

// linkPattern is the link that a pattern begins with, and where it leads.
func linkPattern(source string) (link, target string) {
	for _, l := range links {
		if rest, ok := strings.CutPrefix(source, "^"+l.link); ok && (rest == "" || strings.IndexByte("/$(", rest[0]) >= 0) {
			return l.link, l.target
		}
	}
	return "", ""
}

// plainLetters reports letters outside of classes: they match in one case only.
func plainLetters(source string) bool {
	inClass := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case !inClass && c|0x20 >= 'a' && c|0x20 <= 'z':
			return true
		}
	}
	return false
}

// relativePath reports a path that no request has.
func relativePath(l *linter, f *Filter, i int, text string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "relative-path", At: l.argument(f, i),
		Message: fmt.Sprintf("%s is no absolute path: it never matches", Quote(text)),
		Help:    "begin it with /; a directory known only on the machine is a parameter",
	}
}

// dotPath reports a path with a component that the kernel resolves away.
func dotPath(l *linter, f *Filter, i int, text string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "dot-path", At: l.argument(f, i),
		Message: fmt.Sprintf("%s has a component . or ..: it never matches", Quote(text)),
		Help:    "write the path that it leads to",
	}
}

// doubleSlash reports a path with an empty component.
func doubleSlash(l *linter, f *Filter, i int, text string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "double-slash", At: l.argument(f, i),
		Message: fmt.Sprintf("%s has an empty component: it never matches", Quote(text)),
		Help:    "write one slash",
	}
}

// trailingSlash reports a path that ends in a slash.
func trailingSlash(l *linter, f *Filter, i int, text string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "trailing-slash", At: l.argument(f, i),
		Message: fmt.Sprintf("%s ends in a slash: macOS up to 10.10 refuses it, and nobody saw it match later", Quote(text)),
		Help:    "leave the last slash out",
	}
}

// linkPath reports a path through a directory that is a link.
func linkPath(l *linter, f *Filter, i int, text, twin string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "link-path", At: l.argument(f, i),
		Message: fmt.Sprintf("%s leads through a link: rules see %s", Quote(text), Quote(twin)),
		Help:    "write " + Quote(twin),
	}
}

// unanchored reports a pattern that matches inside of other paths and names.
func unanchored(l *linter, f *Filter, i int) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "unanchored-regex", At: l.argument(f, i),
		Message: "the pattern is found anywhere in a text, since a branch of it does not begin with ^",
		Help:    "begin it with ^, and end it with $ or (/|$)",
	}
}

// caseOfPattern reports a refusal that another spelling avoids.
func caseOfPattern(l *linter, f *Filter, i int) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: "regex-case", At: l.argument(f, i),
		Message: "the pattern refuses one spelling, and the file opens under any other case on most volumes",
		Help:    "write [Aa] for each letter, or use literal and subpath",
	}
}
