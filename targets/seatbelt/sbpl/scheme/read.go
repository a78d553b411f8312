package scheme

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Bounds of a text: its size in bytes, and how deep its lists nest.
const (
	MaxText    = 1 << 20
	maxNesting = 256
)

// Text is what a profile's bytes say, form by form.
type Text struct {
	Forms []Value
	Open  []Pos // where each form begins
	// Ended is where a NUL byte ended the text, if more follows it.
	Ended Pos
	// Dropped are the places of escapes in plain strings that mean nothing: the
	// reader drops the backslash, so that "\." is just ".".
	Dropped []Pos
}

// Read reads every form of a text. NUL ends it. file is for messages.
func Read(file string, src []byte) (Text, error) {
	r := &reader{src: src, pos: Pos{File: file, Line: 1, Column: 1}}
	if len(src) > MaxText {
		return r.text, fail(r.pos, PastLimit, "the text has %d bytes; at most %d are read", len(src), MaxText)
	}
	if end := bytes.IndexByte(src, 0); end >= 0 {
		r.src, r.cut = src[:end], end+1 < len(src)
	}
	for {
		if err := r.skip(); err != nil {
			return r.text, err
		}
		if r.end() {
			if r.cut {
				r.text.Ended = r.pos
			}
			return r.text, nil
		}
		at := r.pos
		form, err := r.datum(0)
		if err != nil {
			return r.text, err
		}
		r.text.Forms, r.text.Open = append(r.text.Forms, form), append(r.text.Open, at)
	}
}

// Extent is where the datum that begins at a place of a text ends; the place itself
// when none does.
func Extent(src []byte, at Pos) Pos {
	if at.Byte < 0 || at.Byte >= len(src) {
		return at
	}
	r := &reader{src: src, pos: at}
	if _, err := r.datum(0); err != nil {
		return at
	}
	return r.pos
}

type reader struct {
	src  []byte
	pos  Pos
	cut  bool
	text Text
}

func (r *reader) end() bool { return r.pos.Byte >= len(r.src) }

// peek is the byte i places ahead, 0 past the end (NUL never stands in src).
func (r *reader) peek(i int) byte {
	if r.pos.Byte+i >= len(r.src) {
		return 0
	}
	return r.src[r.pos.Byte+i]
}

// advance goes on by n bytes.
func (r *reader) advance(n int) {
	for range n {
		c := r.src[r.pos.Byte]
		r.pos.Byte++
		switch {
		case c == '\n':
			r.pos.Line, r.pos.Column = r.pos.Line+1, 1
		case r.pos.Byte == len(r.src) || utf8.RuneStart(r.src[r.pos.Byte]) || c < utf8.RuneSelf:
			r.pos.Column++
		}
	}
}

// skip passes over white space and comments: ; and #! reach to the end of the line.
func (r *reader) skip() error {
	for !r.end() {
		c := r.peek(0)
		switch {
		case c == 0xFF:
			return fail(r.pos, Syntax, "byte 0xFF ends the text where characters are signed")
		case isSpace(c):
			r.advance(1)
		case c == ';' || c == '#' && r.peek(1) == '!':
			for !r.end() && r.peek(0) != '\n' {
				r.advance(1)
			}
		default:
			return nil
		}
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// isDelimiter tells what ends an atom.
func isDelimiter(c byte) bool { return isSpace(c) || strings.IndexByte("();\"", c) >= 0 }

// abbreviations of forms with one operand.
var abbreviations = map[byte]Symbol{'\'': "quote", '`': "quasiquote", ',': "unquote"}

// datum reads one datum; the reader stands on its first byte.
func (r *reader) datum(depth int) (Value, error) {
	if depth > maxNesting {
		return nil, fail(r.pos, PastLimit, "lists nest more than %d deep", maxNesting)
	}
	at, c := r.pos, r.peek(0)
	switch {
	case c == '(':
		r.advance(1)
		return r.list(at, depth)
	case c == ')':
		return nil, fail(at, Syntax, "unexpected ): nothing is open here")
	case c == '"':
		r.advance(1)
		return r.stringLiteral(at)
	case c == '#':
		return r.sharp(at, depth)
	}
	name, short := abbreviations[c]
	if !short {
		return r.atom(at)
	}
	r.advance(1)
	if c == ',' && r.peek(0) == '@' {
		r.advance(1)
		name = "unquote-splicing"
	}
	operandAt, operand, err := r.operand(at, depth)
	if err != nil {
		return nil, err
	}
	return &Pair{Car: name, At: at, Open: at, Cdr: &Pair{Car: operand, At: operandAt, Cdr: Empty{}}}, nil
}

// operand reads what an abbreviation at from stands before.
func (r *reader) operand(from Pos, depth int) (Pos, Value, error) {
	if err := r.skip(); err != nil {
		return r.pos, nil, err
	}
	if r.end() {
		return r.pos, nil, fail(from, Syntax, "nothing follows the quote")
	}
	at := r.pos
	v, err := r.datum(depth + 1)
	return at, v, err
}

// list reads the rest of a list that opened at open.
func (r *reader) list(open Pos, depth int) (Value, error) {
	var head, last *Pair
	for {
		if err := r.skip(); err != nil {
			return nil, err
		}
		switch {
		case r.end():
			return nil, fail(open, Syntax, "list is not closed")
		case r.peek(0) == ')':
			r.advance(1)
			if head == nil {
				return Empty{}, nil
			}
			head.Open = open
			return head, nil
		case last != nil && r.peek(0) == '.' && (r.peek(1) == 0 || isDelimiter(r.peek(1))):
			r.advance(1)
			if err := r.dotted(open, last, depth); err != nil {
				return nil, err
			}
			head.Open = open
			return head, nil
		}
		at := r.pos
		v, err := r.datum(depth + 1)
		if err != nil {
			return nil, err
		}
		cell := &Pair{Car: v, Cdr: Empty{}, At: at}
		if head == nil {
			head = cell
		} else {
			last.Cdr = cell
		}
		last = cell
	}
}

// dotted reads what follows the dot of a list, and its end.
func (r *reader) dotted(open Pos, last *Pair, depth int) error {
	if err := r.skip(); err != nil {
		return err
	}
	if r.end() {
		return fail(open, Syntax, "list is not closed")
	}
	tail, err := r.datum(depth + 1)
	if err != nil {
		return err
	}
	last.Cdr = tail
	if err := r.skip(); err != nil {
		return err
	}
	if r.end() {
		return fail(open, Syntax, "list is not closed")
	}
	if r.peek(0) != ')' {
		return fail(r.pos, Syntax, "one datum may follow the dot of a list")
	}
	r.advance(1)
	return nil
}
