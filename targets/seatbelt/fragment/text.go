package fragment

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is a list, a string, a quoted symbol or an atom, and where it begins.
type form struct {
	kind byte   // '(' '"' '\'' or 'a'
	text string // of all but lists; a string without its escapes
	list []form
	at   int
}

// Bounds of the text. A profile is passed as one argument (768 KiB is what is ever
// written); TinyScheme has a token buffer of a fixed size that Apple does not state.
const (
	maxBytes   = 768 << 10
	maxNesting = 32
	maxString  = 1000 // bytes between the quotes, escapes as two
)

// scanner turns text into forms. The first fault stops it.
type scanner struct {
	text string
	at   int
	err  *Error
}

// forms are the forms of a whole text. Comments run to the end of the line and are
// no part of the meaning; what could end one, or the text, elsewhere than a reader
// of lines expects (control characters, invalid UTF-8) is refused.
func forms(text string) ([]form, *Error) {
	s := &scanner{text: text}
	switch odd := strings.IndexFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' }); {
	case len(text) > maxBytes:
		return nil, s.fail(0, "%d bytes, more than %d", len(text), maxBytes)
	case !utf8.ValidString(text):
		return nil, s.fail(0, "a text that is not valid UTF-8")
	case odd >= 0:
		return nil, s.fail(odd, "a control character")
	}
	var out []form
	for s.space(); s.err == nil && s.at < len(s.text); s.space() {
		out = append(out, s.form(0))
	}
	return out, s.err
}

// fail notes a fault at a place, unless there is one.
func (s *scanner) fail(at int, format string, args ...any) *Error {
	if s.err == nil {
		before := s.text[:at]
		s.err = &Error{1 + strings.Count(before, "\n"), at - strings.LastIndexByte(before, '\n'), fmt.Sprintf(format, args...)}
	}
	return s.err
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n':
			s.at++
		case ';':
			if end := strings.IndexByte(s.text[s.at:], '\n'); end >= 0 {
				s.at += end
			} else {
				s.at = len(s.text)
			}
		default:
			return
		}
	}
}

// form reads the form that begins here.
func (s *scanner) form(nesting int) form {
	start := s.at
	switch c := s.text[s.at]; c {
	case '(':
		return s.list(nesting)
	case '"':
		return form{kind: '"', text: s.str(), at: start}
	case '\'':
		s.at++
		return form{kind: '\'', text: s.atom(), at: start}
	default:
		return form{kind: 'a', text: s.atom(), at: start}
	}
}

func (s *scanner) list(nesting int) form {
	out := form{kind: '(', at: s.at}
	if nesting == maxNesting {
		s.fail(s.at, "lists nested more than %d deep", maxNesting)
		return out
	}
	s.at++
	for s.space(); s.err == nil; s.space() {
		switch {
		case s.at == len(s.text):
			s.fail(out.at, "a list that is not closed")
		case s.text[s.at] == ')':
			s.at++
			return out
		default:
			out.list = append(out.list, s.form(nesting+1))
		}
	}
	return out
}

// str reads a string. Of all escapes of the language only \" and \\ are there.
func (s *scanner) str() string {
	var b strings.Builder
	start := s.at
	for s.at++; s.at < len(s.text) && s.at-start <= maxString; s.at++ {
		switch c := s.text[s.at]; c {
		case '"':
			s.at++
			return b.String()
		case '\n':
			s.fail(s.at, "a string over two lines")
			return ""
		case '\\':
			s.at++
			if s.at == len(s.text) || s.text[s.at] != '"' && s.text[s.at] != '\\' {
				s.fail(s.at-1, `an escape other than \" and \\`)
				return ""
			}
			b.WriteByte(s.text[s.at])
		default:
			b.WriteByte(c)
		}
	}
	s.fail(start, "a string that is not closed within %d bytes", maxString)
	return ""
}

// atom reads a symbol, a number or a character, as they stand. Quotes end none: to the
// reader of the language they are part of it.
func (s *scanner) atom() string {
	end := strings.IndexAny(s.text[s.at:], " \n;()")
	if end < 0 {
		end = len(s.text) - s.at
	}
	word := s.text[s.at : s.at+end]
	if word == "" || strings.IndexFunc(word, func(c rune) bool { return c > '~' || c == '"' || c == '\'' }) >= 0 {
		s.fail(s.at, "no symbol, where one must be")
	}
	s.at += end
	return word
}

// same reports whether two forms are alike, wherever they stand.
func same(a, b form) bool {
	if a.kind != b.kind || a.text != b.text || len(a.list) != len(b.list) {
		return false
	}
	for i := range a.list {
		if !same(a.list[i], b.list[i]) {
			return false
		}
	}
	return true
}
