package scheme

import (
	"math"
	"strconv"
	"strings"
)

// stringLiteral reads a plain string that opened at open. Escapes are those of
// TinyScheme: n t r, x and two hexadecimal digits, two or three octal digits; any
// other character stands for itself.
func (r *reader) stringLiteral(open Pos) (Value, error) {
	var out []byte
	for !r.end() {
		at, c := r.pos, r.peek(0)
		r.advance(1)
		switch {
		case c == '"':
			return string(out), nil
		case c == 0xFF:
			return nil, fail(at, Syntax, "byte 0xFF ends the text where characters are signed")
		case c != '\\':
			out = append(out, c)
			continue
		}
		e, err := r.escape(at)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return nil, fail(open, Syntax, "Error reading string: it is not closed")
}

// escape reads what follows a backslash that stood at at.
func (r *reader) escape(at Pos) (byte, error) {
	if r.end() {
		return 0, fail(at, Syntax, "Error reading string: it is not closed")
	}
	c := r.peek(0)
	switch c {
	case 'n', 't', 'r':
		r.advance(1)
		return map[byte]byte{'n': '\n', 't': '\t', 'r': '\r'}[c], nil
	case 'x':
		high, low := digit(r.peek(1)), digit(r.peek(2))
		if high > 15 || low > 15 {
			return 0, fail(at, Syntax, `Error reading string: \x wants two hexadecimal digits`)
		}
		r.advance(3)
		return high<<4 | low, nil
	}
	if digit(c) > 7 {
		r.advance(1)
		if c != '"' && c != '\\' {
			r.text.Dropped = append(r.text.Dropped, at)
		}
		return c, nil
	}
	value, n := int(digit(c)), 1
	for ; n < 3 && digit(r.peek(n)) <= 7; n++ {
		value = value<<3 | int(digit(r.peek(n)))
	}
	if n < 2 || value > math.MaxUint8 {
		return 0, fail(at, Syntax, "Error reading string: an octal escape wants two or three digits, at most \\377")
	}
	r.advance(n)
	return byte(value), nil
}

// maxAtom is the longest name or number, in bytes. TinyScheme's own buffer is 256.
const maxAtom = 1024

// digit is the value of a hexadecimal digit, 255 for anything else.
func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// sharp reads what begins with #.
func (r *reader) sharp(at Pos, depth int) (Value, error) {
	switch r.peek(1) {
	case '(':
		r.advance(2)
		list, err := r.list(at, depth)
		if err != nil {
			return nil, err
		}
		items, ok := Items(list)
		if !ok {
			return nil, fail(at, Syntax, "a vector has no dot")
		}
		return Vector(items), nil
	case '"':
		r.advance(2)
		return r.rawString(at)
	case '\\':
		return r.char(at)
	case '|':
		return nil, fail(at, UnboundName, "unbound variable: #| (profiles have no block comments)")
	}
	word := r.word()
	if v, ok := constant(word); ok {
		return v, nil
	}
	return nil, fail(at, Syntax, "%s is no constant", Show(Symbol(word)))
}

// rawString reads to the next quote: no escapes, so it never holds a quote.
func (r *reader) rawString(open Pos) (Value, error) {
	start := r.pos.Byte
	for !r.end() {
		switch r.peek(0) {
		case '"':
			text := string(r.src[start:r.pos.Byte])
			r.advance(1)
			return text, nil
		case 0xFF:
			return nil, fail(r.pos, Syntax, "byte 0xFF ends the text where characters are signed")
		}
		r.advance(1)
	}
	return nil, fail(open, Syntax, "Error reading string: it is not closed")
}

// word reads up to the next delimiter.
func (r *reader) word() string {
	start := r.pos.Byte
	for !r.end() && !isDelimiter(r.peek(0)) {
		r.advance(1)
	}
	return string(r.src[start:r.pos.Byte])
}

var charNames = map[string]Char{"space": ' ', "newline": '\n', "tab": '\t', "return": '\r'}

// char reads #\c; the first byte is taken whatever it is.
func (r *reader) char(at Pos) (Value, error) {
	r.advance(2)
	if r.end() {
		return nil, fail(at, Syntax, "nothing follows #\\")
	}
	start := r.pos.Byte
	r.advance(1)
	r.word()
	name := string(r.src[start:r.pos.Byte])
	if c, ok := charNames[name]; ok {
		return c, nil
	}
	if hex, ok := strings.CutPrefix(name, "x"); ok && hex != "" {
		if n, err := strconv.ParseUint(hex, 16, 8); err == nil {
			return Char(n), nil
		}
	}
	if len(name) != 1 {
		return nil, fail(at, Syntax, "#\\%s is no character", Show(Symbol(name)))
	}
	return Char(name[0]), nil
}

var radixes = map[byte]int{'o': 8, 'x': 16, 'b': 2, 'd': 10}

// constant reads #t, #f and numbers with a radix.
func constant(word string) (Value, bool) {
	switch {
	case word == "#t":
		return true, true
	case word == "#f":
		return false, true
	case len(word) < 3 || radixes[word[1]] == 0:
		return nil, false
	}
	n, err := strconv.ParseInt(word[2:], radixes[word[1]], 64)
	return n, err == nil
}

// atom reads a number or a symbol.
func (r *reader) atom(at Pos) (Value, error) {
	word := r.word()
	if len(word) > maxAtom {
		return nil, fail(at, PastLimit, "a name holds at most %d bytes", maxAtom)
	}
	if v, ok := number(word); ok {
		return v, nil
	}
	if strings.IndexByte(word, 0xFF) >= 0 {
		return nil, fail(at, Syntax, "byte 0xFF ends the text where characters are signed")
	}
	return Symbol(word), nil
}

// number reads a decimal integer or fraction.
func number(word string) (Value, bool) {
	digits := strings.TrimLeft(word, "+-")
	if digits == "" || len(word)-len(digits) > 1 || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 || digits == "." {
		return nil, false
	}
	if !strings.Contains(digits, ".") {
		n, err := strconv.ParseInt(word, 10, 64)
		return n, err == nil
	}
	f, err := strconv.ParseFloat(word, 64)
	return f, err == nil
}
