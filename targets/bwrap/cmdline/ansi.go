package cmdline

import (
	"strconv"
	"strings"
)

// escapes are the escapes of one letter in $'…' (bash(1), QUOTING).
var escapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansi takes $'…' as bash does. A NUL ends the text, not the word.
func (l *lexer) ansi() {
	start := l.pos
	l.solid = true
	if l.shell == "sh" {
		l.blame(readOtherwise(l.here(2), "some shells take $'…' for a $ and a quoted text, and some for escapes"))
	}
	l.next()
	l.next()
	ended := false
	for l.peek(0) != '\'' {
		if l.end() {
			l.faults.Add(unclosed(l.since(start), "$'"))
			return
		}
		text := ""
		if l.peek(0) == '\\' {
			text = l.escape()
		} else {
			text = l.next()
		}
		before, _, nul := strings.Cut(text, "\x00")
		if !ended {
			l.word.WriteString(before)
		}
		ended = ended || nul
	}
	l.next()
}

// escape takes one escape.
func (l *lexer) escape() string {
	start := l.pos
	l.next()
	b := l.peek(0)
	switch {
	case l.end():
		return `\`
	case escapes[b] != 0:
		l.next()
		return string(rune(escapes[b]))
	case b >= '0' && b <= '7':
		n, _ := strconv.ParseUint(l.digits("01234567", 3), 8, 32)
		return string([]byte{byte(n)})
	case b == 'x' || b == 'u' || b == 'U':
		l.next()
		if b == 'x' && l.peek(0) == '{' {
			break
		}
		digits := l.digits("0123456789abcdefABCDEF", map[byte]int{'x': 2, 'u': 4, 'U': 8}[b])
		n, err := strconv.ParseUint(digits, 16, 32)
		switch {
		case err != nil:
			return `\` + string(b)
		case b == 'x':
			return string([]byte{byte(n)})
		case n < 0x80:
			return string(rune(n))
		}
	case b == 'c':
	default:
		return `\` + l.next()
	}
	l.blame(readOtherwise(l.since(start), "what this escape is depends on the shell and its locale"))
	return ""
}

// digits takes at most n of these characters.
func (l *lexer) digits(of string, n int) string {
	from := l.pos.Byte
	for ; n > 0 && !l.end() && strings.IndexByte(of, l.peek(0)) >= 0; n-- {
		l.next()
	}
	return string(l.src[from:l.pos.Byte])
}
