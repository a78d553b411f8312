package diag

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is one line of a source, without its end.
type line struct {
	text  []byte
	start int // byte offset of the line in the source
}

// lineOf finds line n of src, from 1.
func lineOf(src []byte, n int) (line, bool) {
	if n < 1 {
		return line{}, false
	}
	start := 0
	for ; n > 1; n-- {
		i := bytes.IndexByte(src[start:], '\n')
		if i < 0 {
			return line{}, false
		}
		start += i + 1
	}
	text := src[start:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return line{bytes.TrimSuffix(text, []byte("\r")), start}, true
}

// offset is where p stands in the line, in bytes, and inside the line whatever p
// says.
func (l line) offset(p Pos) int { return min(max(p.Byte-l.start, 0), len(l.text)) }

// indent is where the first character stands that is no blank.
func (l line) indent() int {
	return len(l.text) - len(bytes.TrimLeft(l.text, " \t"))
}

// span is a stretch of screen columns, from 0.
type span struct{ from, to int }

// Bytes of a long line that are shown before and after the place in question.
const (
	shownBefore = 80
	shownAfter  = 120
	tabWidth    = 4
)

// marked is the line as it may go to a terminal, and the columns that the bytes
// from..to of it take there: at least one, so that a place between two
// characters shows.
func (l line) marked(from, to int) (string, span) {
	low := boundary(l.text, max(0, from-shownBefore))
	high := boundary(l.text, min(len(l.text), from+shownAfter))
	var out strings.Builder
	marks := span{-1, -1}
	column := 0
	put := func(s string, width int) {
		out.WriteString(s)
		column += width
	}
	if low > 0 {
		put("…", 1)
	}
	for i := low; i < high; {
		if i >= from && marks.from < 0 {
			marks.from = column
		}
		if i >= to && marks.to < 0 {
			marks.to = column
		}
		r, n := utf8.DecodeRune(l.text[i:])
		if r == '\t' {
			blanks := tabWidth - column%tabWidth
			put(strings.Repeat(" ", blanks), blanks)
		} else {
			put(picture(r, n), columns(r, n))
		}
		i += n
	}
	if marks.from < 0 {
		marks.from = column
	}
	if marks.to < 0 {
		marks.to = column
	}
	if high < len(l.text) {
		put("…", 1)
	}
	marks.to = max(marks.to, marks.from+1)
	return strings.TrimRight(out.String(), " "), marks
}

// boundary is i, or the beginning of the character that i is inside of.
func boundary(text []byte, i int) int {
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// visible is text from outside as it may go to a terminal: pictures stand for
// characters that would move the cursor or turn the direction of the text.
func visible(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		out.WriteString(picture(r, n))
		i += n
	}
	return out.String()
}

// picture is what stands for the character r of n bytes.
func picture(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n <= 1:
		return "\uFFFD"
	case r < 0x20:
		return string('\u2400' + r) // Unicode's control pictures
	case r == 0x7f:
		return "\u2421"
	case escaped(r):
		return fmt.Sprintf("<U+%04X>", r)
	}
	return string(r)
}

// Visible is text of any number of lines as it may go to a terminal: what no reader
// sees stands spelt out, line breaks and tabs stay.
func Visible(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\n' || r == '\t' {
			out.WriteRune(r)
		} else {
			out.WriteString(picture(r, n))
		}
		i += n
	}
	return out.String()
}

// Hidden reports whether a reader sees nothing of the character, or sees what stands
// beside it elsewhere: marks and overrides of direction, what has no width, byte order
// marks, separators of lines and paragraphs (Unicode categories Cf, Zl and Zp). No
// policy holds one.
func Hidden(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

// Turning reports whether the character changes the direction of what follows: a
// comment that holds one can look like code, and code like a comment (Unicode UAX #9,
// explicit embeddings, overrides and isolates).
func Turning(r rune) bool { return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' }

// escaped are characters that no reader sees but terminals act on: C1 controls,
// format and direction characters, separators of lines and paragraphs.
func escaped(r rune) bool {
	return r >= 0x80 && r < 0xa0 || Hidden(r) || unicode.In(r, unicode.Co, unicode.Cs)
}

// columns is how many screen columns the picture of r takes.
func columns(r rune, n int) int {
	switch {
	case r == utf8.RuneError && n <= 1, r < 0x7f:
		return 1
	case escaped(r):
		return len(picture(r, n))
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide are the characters that take two columns: the main blocks that UAX #11
// (Unicode 16.0) calls Wide or Fullwidth.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0x33ff, Stride: 1},
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97c, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1},
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}
