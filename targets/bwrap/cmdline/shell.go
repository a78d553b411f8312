package cmdline

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// token is a word of a text, or what ends a command.
type token struct {
	Word
	ends    bool // ";", "&", "|", parentheses
	newline bool
}

// lexer takes a text apart as POSIX shells do (XCU 2.2, 2.3): quotes, escapes,
// comments, variables, redirections. It runs nothing: what a command would print is
// an unknown part of a word, and what would be any number of words is refused.
type lexer struct {
	*cursor
	values map[string]string
	out    []token
	faults diag.List
	word   strings.Builder
	begun  bool // a word is being read
	hidden bool // it has unknown parts
	start  diag.Pos
}

func lex(file string, src []byte, values map[string]string) ([]token, diag.List) {
	l := &lexer{cursor: newCursor(file, src), values: values}
	for !l.end() && !l.faults.HasErrors() {
		l.step()
	}
	l.finish()
	return l.out, l.faults
}

// finish ends the word that is being read.
func (l *lexer) finish() {
	if l.begun {
		l.out = append(l.out, token{Word: Word{l.word.String(), l.since(l.start), l.hidden}})
	}
	l.word.Reset()
	l.begun, l.hidden = false, false
}

func (l *lexer) begin() {
	if !l.begun {
		l.begun, l.start = true, l.pos
	}
}

func (l *lexer) step() {
	switch b := l.peek(0); b {
	case ' ', '\t', '\r':
		l.finish()
		l.next()
	case '\n':
		l.finish()
		l.separate(true)
	case ';', '&', '|', '(', ')':
		l.finish()
		l.separate(false)
	case '<', '>':
		l.redirect()
	case '#':
		if l.begun {
			l.word.WriteString(l.next())
			return
		}
		for !l.end() && l.peek(0) != '\n' {
			l.next()
		}
	case '~':
		if l.begun || l.peek(1) != '/' && !strings.ContainsRune(" \t\n\x00", rune(l.peek(1))) {
			l.begin()
			l.word.WriteString(l.next())
			return
		}
		l.begin()
		l.next()
		l.variable("HOME")
	default:
		l.begin()
		l.quoted(b)
	}
}

func (l *lexer) separate(newline bool) {
	start := l.pos
	l.next()
	l.out = append(l.out, token{Word: Word{At: l.since(start)}, ends: true, newline: newline})
}

// quoted takes one character or one quoted stretch of a word.
func (l *lexer) quoted(b byte) {
	switch b {
	case '\\':
		l.next()
		if l.peek(0) == '\n' {
			l.next()
			if l.word.Len() == 0 {
				l.begun = false
			}
			return
		}
		if !l.end() {
			l.word.WriteString(l.next())
		}
	case '\'':
		l.single()
	case '"':
		l.double()
	case '$':
		l.dollar()
	case '`':
		l.substitution('`')
	default:
		l.word.WriteString(l.next())
	}
}

func (l *lexer) single() {
	start := l.pos
	l.next()
	for l.peek(0) != '\'' {
		if l.end() {
			l.faults.Add(unclosed(l.since(start), "'"))
			return
		}
		l.word.WriteString(l.next())
	}
	l.next()
}

func (l *lexer) double() {
	start := l.pos
	l.next()
	for l.peek(0) != '"' {
		switch {
		case l.end():
			l.faults.Add(unclosed(l.since(start), `"`))
			return
		case l.peek(0) == '$':
			l.dollar()
		case l.peek(0) == '`':
			l.substitution('`')
		case l.peek(0) == '\\' && strings.IndexByte("$`\"\\\n", l.peek(1)) >= 0 && l.peek(1) != 0:
			l.next()
			if c := l.next(); c != "\n" {
				l.word.WriteString(c)
			}
		default:
			l.word.WriteString(l.next())
		}
		if l.faults.HasErrors() {
			return
		}
	}
	l.next()
}

// dollar takes a variable or a command substitution.
func (l *lexer) dollar() {
	start := l.pos
	switch b := l.peek(1); {
	case b == '(':
		l.next()
		l.substitution('(')
	case b == '{':
		l.next()
		l.next()
		text := l.until('}', start)
		name := text[:len(text)-len(strings.TrimLeft(text, nameBytes))]
		if name == "" || strings.Contains(text, "[") || strings.Contains(text, "@") {
			l.faults.Add(manyWords(l.since(start)))
			return
		}
		l.variable(name)
	case b == '@' || b == '*':
		l.next()
		l.next()
		l.faults.Add(manyWords(l.since(start)))
	case b != 0 && strings.IndexByte(nameBytes, b) >= 0:
		l.next()
		from := l.pos.Byte
		l.next()
		for b := l.peek(0); b != 0 && strings.IndexByte(nameBytes, b) >= 0 && !(l.src[from] >= '0' && l.src[from] <= '9'); b = l.peek(0) {
			l.next()
		}
		l.variable(string(l.src[from:l.pos.Byte]))
	default:
		l.word.WriteString(l.next())
	}
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

func (l *lexer) variable(name string) {
	value, known := l.values[name]
	if !known {
		value, l.hidden = "${"+name+"}", true
	}
	l.word.WriteString(value)
}

// until is the text up to a byte, which is taken as well.
func (l *lexer) until(closing byte, start diag.Pos) string {
	from := l.pos.Byte
	for l.peek(0) != closing {
		if l.end() {
			l.faults.Add(unclosed(l.since(start), "${"))
			break
		}
		l.next()
	}
	text := string(l.src[from:l.pos.Byte])
	if !l.end() {
		l.next()
	}
	return text
}

// substitution takes what a command would print: one unknown part.
func (l *lexer) substitution(opening byte) {
	start := l.pos
	l.next()
	for depth := 1; depth > 0; {
		if l.end() {
			l.faults.Add(unclosed(l.since(start), string(opening)))
			return
		}
		switch b := l.peek(0); {
		case opening == '`' && b == '`', b == ')' && opening == '(':
			depth--
		case b == '(' && opening == '(':
			depth++
		}
		l.next()
	}
	l.word.WriteString(fmt.Sprintf("${output of %d:%d}", start.Line, start.Column))
	l.hidden = true
}

// redirect passes over a redirection: the descriptor before it and the word behind.
func (l *lexer) redirect() {
	if l.begun && strings.Trim(l.word.String(), "0123456789") == "" {
		l.word.Reset()
		l.begun = false
	}
	l.finish()
	for l.peek(0) == '<' || l.peek(0) == '>' || l.peek(0) == '&' {
		l.next()
	}
	if l.peek(0) == '(' {
		l.substitution('(')
		l.word.Reset()
		l.begun, l.hidden = false, false
		return
	}
	for l.peek(0) == ' ' || l.peek(0) == '\t' {
		l.next()
	}
	from := len(l.out)
	for !l.end() && !l.faults.HasErrors() && strings.IndexByte(" \t\n;&|()<>", l.peek(0)) < 0 {
		l.step()
	}
	l.finish()
	l.out = l.out[:from]
}

// unclosed reports a quote without its end.
func unclosed(at diag.Range, what string) diag.Diagnostic {
	at.End = diag.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1}
	return diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-unclosed", At: at,
		Message: fmt.Sprintf("%s is never closed", what),
		Help:    "a text is read as a shell reads it; NUL-separated arguments, as in /proc/PID/cmdline, need no quotes",
	}
}

// manyWords reports what a shell would replace by words that nobody can count here.
func manyWords(at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-many-words", At: at,
		Message: "this stands for any number of words, which only the shell knows",
		Help:    "write the words themselves; /proc/PID/cmdline of a running bwrap has them",
	}
}
