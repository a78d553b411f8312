package cmdline

import (
	"fmt"
	"maps"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// token is a word of a text, or what ends a command.
type token struct {
	Word
	ends byte // '\n' or one of ";&|()" that ends a command; 0 for a word
	// split tells that the word is one of those that an expansion gave.
	split   bool
	assigns bool   // it begins with NAME= without quotes
	array   *array // it is NAME=(…)
}

// lexer takes a text apart as POSIX shells and bash do (XCU 2.2, 2.3, 2.6; bash(1),
// EXPANSION): quotes, escapes, comments, variables, redirections, here-documents. It
// runs nothing: what a command would print is an unknown part of a word. A word of
// which only the shell knows how many words it becomes, or what it is, carries a
// fault, which counts where bwrap would get it.
type lexer struct {
	*cursor
	script
	values  map[string]string
	out     []token
	faults  diag.List
	word    strings.Builder
	begun   bool // a word is being read
	solid   bool // it is a word even if it is empty: it has quotes or characters
	hidden  bool // it has unknown parts
	split   bool
	fault   *fault
	marks   marks
	first   bool // only assignments stand before it in its command
	grown   int  // bytes that values put into words
	start   diag.Pos
	lines   bool // options in lines of their own, which no shell expands
	opened  bool // a word was read
	heres   []heredoc
	parts   map[string]string // names of the parts that operators of variables give
	arrays  map[string][]Word
	inArray bool        // words are elements of an array
	seen    quoted      // what the expansions so far gave
	at      *diag.Range // where the word stands, if it is an element of an array
}

// marks are the characters of a word without quotes that shells may replace.
type marks struct {
	bracket, brace, list, dot bool
	equal, assigns            bool // a "=", and behind a name alone
}

func lex(file string, src []byte, values map[string]string, of script) ([]token, diag.List) {
	l := &lexer{cursor: newCursor(file, src), values: maps.Clone(values), script: of, parts: map[string]string{}, arrays: map[string][]Word{}, first: true}
	if l.values == nil {
		l.values = map[string]string{}
	}
	for !l.end() && !l.faults.HasErrors() {
		l.step()
	}
	l.finish()
	l.assign()
	return l.out, l.faults
}

// finish ends the word that is being read.
func (l *lexer) finish() {
	l.give(l.since(l.start))
	l.begun, l.split = false, false
}

// give puts out what there is of a word.
func (l *lexer) give(at diag.Range) {
	if l.at != nil {
		at = *l.at
	}
	if l.solid {
		l.out = append(l.out, token{Word: Word{l.word.String(), at, l.hidden, l.fault}, split: l.split, assigns: l.marks.assigns})
		l.first = l.first && l.marks.assigns
	}
	l.word.Reset()
	l.solid, l.hidden, l.fault, l.marks, l.at = false, false, nil, marks{}, nil
}

func (l *lexer) begin() {
	if !l.begun {
		l.begun, l.start = true, l.pos
		if !l.opened {
			l.opened, l.lines = true, l.peek(0) == '-'
		}
	}
}

func (l *lexer) step() {
	switch b := l.peek(0); b {
	case ' ', '\t', '\r':
		l.finish()
		l.next()
	case '\n':
		l.finish()
		l.separate()
		l.bodies()
	case '&':
		if l.peek(1) == '>' {
			l.finish()
			l.both()
			return
		}
		l.finish()
		l.separate()
	case '(':
		if a := l.opensArray(); a != nil {
			l.takeArray(a)
			return
		}
		l.finish()
		l.separate()
	case ';', '|', ')':
		l.finish()
		l.separate()
	case '<', '>':
		if l.peek(1) == '(' {
			l.begin()
			from := l.pos
			l.next()
			l.substitution('(', true, from)
			return
		}
		l.redirect()
	case '#':
		if l.begun {
			l.plain()
			return
		}
		for !l.end() && l.peek(0) != '\n' {
			l.next()
		}
	case '~':
		l.begin()
		if l.pos == l.start && l.home() {
			return
		}
		if text := l.word.String(); l.marks.assigns && !l.lines && (strings.HasSuffix(text, "=") || strings.HasSuffix(text, ":")) {
			l.blame(readOtherwise(l.here(1), "some shells put a directory for this, and some do not"))
		}
		l.plain()
	case '\\':
		if l.peek(1) == '\n' {
			l.next()
			l.next()
			return
		}
		l.begin()
		l.quoted(b)
	default:
		l.begin()
		l.quoted(b)
	}
}

// plain takes a character that is not quoted.
func (l *lexer) plain() {
	start := l.pos
	c := l.next()
	l.solid = true
	l.word.WriteString(c)
	l.pattern(c, l.since(start))
}

// pattern looks for what the shell replaces by names of files, or by several words.
func (l *lexer) pattern(c string, at diag.Range) {
	m, dot := &l.marks, false
	switch {
	case c == "*" || c == "?", c == "]" && m.bracket:
		l.blame(manyFiles(at))
	case c == "[":
		m.bracket = true
	case l.lines:
	case c == "{":
		m.brace = true
	case c == "," || c == "." && m.dot:
		m.list = m.list || m.brace
	case c == ".":
		dot = m.brace
	case c == "}" && m.list:
		l.blame(manyBraces(at))
	case c == "=" && !m.equal:
		m.equal, m.assigns = true, isName(strings.TrimSuffix(l.word.String(), "=")) && l.since(l.start).End.Byte-l.start.Byte == l.word.Len()
	}
	m.dot = dot
}

// blame gives the word a fault, unless it has a worse one.
func (l *lexer) blame(f *fault) {
	if l.fault == nil || l.fault.counts && !f.counts {
		l.fault = f
	}
}

// here is the next n bytes.
func (l *lexer) here(n int) diag.Range {
	r := l.since(l.pos)
	r.End.Column, r.End.Byte = r.End.Column+n, r.End.Byte+n
	return r
}

func (l *lexer) separate() {
	l.assign()
	start, b := l.pos, l.peek(0)
	l.next()
	l.out = append(l.out, token{Word: Word{At: l.since(start)}, ends: b})
	l.first = true
}

// quoted takes one character or one quoted stretch of a word.
func (l *lexer) quoted(b byte) {
	switch b {
	case '\\':
		l.next()
		l.solid = true
		if !l.end() {
			l.word.WriteString(l.next())
		}
	case '\'':
		l.single()
	case '"':
		l.double()
	case '$':
		l.dollar(false)
	case '`':
		l.substitution('`', false, l.pos)
	default:
		l.plain()
	}
}

func (l *lexer) single() {
	start := l.pos
	l.solid = true
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
	start, solid, seen, length := l.pos, l.solid, l.seen, l.word.Len()
	l.solid = true
	l.next()
	for l.peek(0) != '"' {
		switch {
		case l.end():
			l.faults.Add(unclosed(l.since(start), `"`))
			return
		case l.peek(0) == '$':
			l.dollar(true)
		case l.peek(0) == '`':
			l.substitution('`', true, l.pos)
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
	if l.seen.none > seen.none && l.seen.some == seen.some && (l.word.Len() == length || l.seen.unknown > seen.unknown) {
		if l.solid = solid; l.seen.unknown > seen.unknown {
			l.solid = true
			l.blame(perhapsNoWord(l.since(start)))
		}
	}
}

// redirect passes over a redirection: the descriptor before it and the word behind.
func (l *lexer) redirect() {
	if text := l.word.String(); l.begun && (strings.Trim(text, "0123456789") == "" || text[0] == '{' && text[len(text)-1] == '}') {
		l.word.Reset()
		l.solid, l.fault, l.marks = false, nil, marks{}
	}
	l.finish()
	from := l.pos.Byte
	for l.peek(0) == '<' && l.peek(1) != '(' || l.peek(0) == '>' && l.peek(1) != '(' || l.peek(0) == '&' {
		l.next()
	}
	operator := string(l.src[from:l.pos.Byte])
	if operator == ">" && l.peek(0) == '|' {
		l.next()
	}
	if operator == "<<" && l.peek(0) == '-' {
		operator += string(l.next())
	}
	l.target(operator)
}

// target passes over the word behind a redirection, and notes the end of a
// here-document.
func (l *lexer) target(operator string) {
	for l.peek(0) == ' ' || l.peek(0) == '\t' {
		l.next()
	}
	from := len(l.out)
	for !l.end() && !l.faults.HasErrors() && (strings.IndexByte(" \t\n;&|()<>", l.peek(0)) < 0 || !l.begun && l.peek(1) == '(') {
		l.step()
	}
	word := l.word.String()
	l.finish()
	l.out = l.out[:from]
	if strings.TrimSuffix(operator, "-") == "<<" {
		l.heres = append(l.heres, heredoc{word, operator == "<<-"})
	}
}

// both takes &>, which is a redirection of bash; elsewhere the command ends at &.
func (l *lexer) both() {
	if l.shell == "sh" {
		at := l.here(2)
		l.out = append(l.out, token{Word: Word{"&>", at, true, readOtherwise(at, "bash redirects here, and other shells end the command")}})
	}
	l.next()
	l.next()
	if l.peek(0) == '>' {
		l.next()
	}
	l.target("&>")
}

// heredoc is a here-document whose text follows.
type heredoc struct {
	end  string
	tabs bool // leading tabs do not count
}

// bodies passes over the texts of here-documents.
func (l *lexer) bodies() {
	for _, h := range l.heres {
		for !l.end() {
			from := l.pos.Byte
			for !l.end() && l.peek(0) != '\n' {
				l.next()
			}
			text := string(l.src[from:l.pos.Byte])
			if !l.end() {
				l.next()
			}
			if h.tabs {
				text = strings.TrimLeft(text, "\t")
			}
			if text == h.end {
				break
			}
		}
	}
	l.heres = nil
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
