package seatbelt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The reader and evaluator of these tests share nothing with the printer. They
// follow TinyScheme's reader and the evaluation of Apple's version 1 front end
// (sbpl1.scm of macOS 10.9.5 and 10.10.5).

type (
	symbol    string
	character byte
)

// reader reads SBPL: the forms a profile of ours may use, and errors where Apple's
// reader would fail or quietly do something else.
type reader struct {
	text string
	at   int
}

func readAll(text string) ([]any, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("NUL at %d ends the text", i)
	}
	r := &reader{text: text}
	var forms []any
	for {
		r.space()
		if r.at == len(r.text) {
			return forms, nil
		}
		form, err := r.form()
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", r.at, err)
		}
		forms = append(forms, form)
	}
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			r.at++
		case c == ';':
			end := strings.IndexByte(r.text[r.at:], '\n')
			if end < 0 {
				end = len(r.text) - r.at
			}
			r.at += end
		default:
			return
		}
	}
}

func (r *reader) form() (any, error) {
	r.space()
	if r.at == len(r.text) {
		return nil, errors.New("unclosed list")
	}
	switch c := r.text[r.at]; c {
	case '(':
		r.at++
		return r.list()
	case ')':
		return nil, errors.New("stray )")
	case '"':
		return r.str()
	case '\'':
		r.at++
		quoted, err := r.form()
		return []any{symbol("quote"), quoted}, err
	case '`', ',', '#':
		return r.hash()
	}
	return r.atom()
}

func (r *reader) list() (any, error) {
	items := []any{}
	for {
		r.space()
		if r.at < len(r.text) && r.text[r.at] == ')' {
			r.at++
			return items, nil
		}
		item, err := r.form()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// hash reads #\c; raw strings, #| |# and the rest have no place in our text.
func (r *reader) hash() (any, error) {
	rest := r.text[r.at:]
	if len(rest) >= 3 && rest[0] == '#' && rest[1] == '\\' {
		r.at += 3
		return character(rest[2]), nil
	}
	return nil, fmt.Errorf("%.8q is outside the fragment", rest)
}

func (r *reader) atom() (any, error) {
	end := strings.IndexAny(r.text[r.at:], " \n\t\r;()\"'")
	if end < 0 {
		end = len(r.text) - r.at
	}
	word := r.text[r.at : r.at+end]
	r.at += end
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n, nil
	}
	return symbol(word), nil
}

// str reads a string as TinyScheme 1.3x with Apple's changes does.
func (r *reader) str() (any, error) {
	var b strings.Builder
	start := r.at
	for r.at++; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			if r.at-start >= maxString+2 {
				return nil, fmt.Errorf("a string of %d bytes", r.at-start-2)
			}
			return b.String(), nil
		case c == 0xFF:
			return nil, errors.New("0xFF reads as the end")
		case c != '\\':
			b.WriteByte(c)
		default:
			if err := r.escaped(&b); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("unterminated string")
}

func (r *reader) escaped(b *strings.Builder) error {
	r.at++
	if r.at == len(r.text) {
		return errors.New("unterminated string")
	}
	switch c := r.text[r.at]; {
	case c == 'n':
		b.WriteByte('\n')
	case c == 't':
		b.WriteByte('\t')
	case c == 'r':
		b.WriteByte('\r')
	case c == 'x':
		if r.at+2 >= len(r.text) {
			return errors.New("bad \\x")
		}
		n, err := strconv.ParseUint(r.text[r.at+1:r.at+3], 16, 8)
		if err != nil {
			return errors.New("bad \\x")
		}
		b.WriteByte(byte(n))
		r.at += 2
	case '0' <= c && c <= '7':
		end := r.at
		for end < len(r.text) && end < r.at+3 && '0' <= r.text[end] && r.text[end] <= '7' {
			end++
		}
		n, err := strconv.ParseUint(r.text[r.at:end], 8, 8)
		if end-r.at < 2 || err != nil {
			return errors.New("bad octal escape")
		}
		b.WriteByte(byte(n))
		r.at = end - 1
	default:
		b.WriteByte(c)
	}
	return nil
}
