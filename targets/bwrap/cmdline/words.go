package cmdline

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/obspc/obspc/lang/diag"
)

// Word is one argument and where it stands.
type Word struct {
	Text string
	At   diag.Range
	// Unknown tells that Text has parts that only the shell would know, as ${NAME}.
	Unknown bool

	fault *fault // why it may be other words, or none
}

// MaxText bounds what is read, in bytes: Linux takes no longer argument list.
const MaxText = 2 << 20

// cursor is a place in a text.
type cursor struct {
	file string
	src  []byte
	pos  diag.Pos
}

func newCursor(file string, src []byte) *cursor {
	return &cursor{file, src, diag.Pos{Line: 1, Column: 1}}
}

func (c *cursor) end() bool { return c.pos.Byte >= len(c.src) }

// peek is the byte n bytes on; 0 past the end.
func (c *cursor) peek(n int) byte {
	if c.pos.Byte+n >= len(c.src) {
		return 0
	}
	return c.src[c.pos.Byte+n]
}

// next takes one character.
func (c *cursor) next() string {
	_, n := utf8.DecodeRune(c.src[c.pos.Byte:])
	text := string(c.src[c.pos.Byte : c.pos.Byte+n])
	c.pos.Byte += n
	if text == "\n" {
		c.pos.Line, c.pos.Column = c.pos.Line+1, 1
	} else {
		c.pos.Column++
	}
	return text
}

func (c *cursor) since(start diag.Pos) diag.Range {
	return diag.Range{File: c.file, Start: start, End: c.pos}
}

// isStream reports whether the bytes are NUL-separated arguments.
func isStream(src []byte) bool { return bytes.IndexByte(src, 0) >= 0 }

// splitStream takes NUL-separated arguments apart, as bwrap does behind --args: a
// last NUL ends the last one. More than bwrap takes are not split.
func splitStream(file string, src []byte) []Word {
	var out []Word
	c := newCursor(file, src)
	for !c.end() && len(out) <= maxWords+1 {
		start := c.pos
		for !c.end() && c.peek(0) != 0 {
			c.next()
		}
		out = append(out, Word{Text: string(src[start.Byte:c.pos.Byte]), At: c.since(start)})
		if !c.end() {
			c.next()
		}
	}
	return out
}

// isProgram reports whether a word names bwrap.
func isProgram(w Word) bool {
	base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	return base == "bwrap" || strings.EqualFold(w.Text, "${BWRAP}")
}
