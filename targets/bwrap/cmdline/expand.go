package cmdline

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// fault is why a word of a shell is no word that can be known here.
type fault struct {
	diag.Diagnostic
	// counts: it is a variable or an output without quotes, which may be none, one or
	// more words.
	counts bool
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// changing are variables that have another value each time.
var changing = map[string]bool{"RANDOM": true, "SRANDOM": true, "SECONDS": true, "EPOCHSECONDS": true, "EPOCHREALTIME": true, "LINENO": true, "BASHPID": true, "_": true}

// moving are variables that cd changes.
var moving = map[string]bool{"PWD": true, "OLDPWD": true}

// dollar takes what begins with "$".
func (l *lexer) dollar(quoted bool) {
	start := l.pos
	switch b := l.peek(1); {
	case b == '(':
		l.next()
		l.substitution('(', quoted, start)
	case b == '{':
		l.next()
		l.next()
		l.braced(l.until(start), start, quoted)
	case b == '@' || b == '*':
		l.next()
		l.next()
		l.solid, l.hidden = true, true
		l.word.WriteString("${" + string(b) + "}")
		l.blame(manyWords(l.since(start)))
	case b == '\'' && !quoted:
		l.ansi()
	case b == '"' && !quoted:
		l.next()
		l.blame(readOtherwise(l.here(1), "what this is depends on the shell and on the language of its messages"))
		l.double()
	case b != 0 && strings.IndexByte("#?$!-", b) >= 0:
		l.next()
		l.next()
		l.part("$"+string(b)+", at "+spot(start), quoted || b == '#' || b == '?' || b == '$', l.since(start))
	case b != 0 && strings.IndexByte(nameBytes, b) >= 0:
		l.next()
		from := l.pos.Byte
		l.next()
		for b := l.peek(0); b != 0 && strings.IndexByte(nameBytes, b) >= 0 && !(l.src[from] >= '0' && l.src[from] <= '9'); b = l.peek(0) {
			l.next()
		}
		l.variable(string(l.src[from:l.pos.Byte]), start, quoted)
	default:
		l.solid = true
		l.word.WriteString(l.next())
	}
}

// braced takes ${…}. Operators that a known value does not settle give a part that is
// not the variable.
func (l *lexer) braced(text string, start diag.Pos, quoted bool) {
	name := text[:len(text)-len(strings.TrimLeft(text, nameBytes))]
	operator := text[len(name):]
	switch {
	case l.faults.HasErrors():
	case isName(name) && operator != "" && operator[0] == '[':
		l.subscripted(name, operator, start, quoted)
	case name == "" || strings.ContainsAny(operator, "[@"):
		l.solid, l.hidden = true, true
		l.word.WriteString("${words at " + spot(start) + "}")
		l.blame(manyWords(l.since(start)))
	case operator == "" || l.values[name] != "" && strings.IndexByte(":-=?", operator[0]) >= 0 && strings.Trim(operator[:min(2, len(operator))], ":-=?") == "":
		l.variable(name, start, quoted)
	case strings.ContainsAny(operator, "$`"):
		l.part(name+" at "+spot(start), quoted, l.since(start))
	default:
		if l.parts[text] == "" {
			l.parts[text] = name + " at " + spot(start)
		}
		l.part(l.parts[text], quoted, l.since(start))
	}
}

// part adds what is not known. Without quotes it may be any number of words.
func (l *lexer) part(name string, whole bool, at diag.Range) {
	l.solid, l.hidden = true, true
	l.seen.unknown++
	l.word.WriteString("${" + name + "}")
	if !whole && !l.assigning() {
		l.blame(manyUnquoted(at, string(l.src[at.Start.Byte:at.End.Byte])))
	}
}

func (l *lexer) variable(name string, start diag.Pos, quoted bool) {
	value, known := l.values[name]
	at := l.since(start)
	if l.grown += len(value); l.grown > MaxText {
		l.faults.Add(tooLong(l.file, l.grown))
		return
	}
	switch {
	case !known && (changing[name] || l.inArray && (l.assigned[name] || moving[name])):
		l.part(name+" at "+spot(start), quoted || l.lines, at)
	case !known:
		l.part(name, quoted || l.lines, at)
	case quoted || l.lines || l.assigning():
		l.solid = l.solid || quoted || value != ""
		l.word.WriteString(value)
	case l.ifs:
		l.solid, l.hidden = true, true
		l.word.WriteString(value)
		l.blame(manyUnquoted(at, string(l.src[at.Start.Byte:at.End.Byte])))
	default:
		l.fields(value, at)
	}
}

// fields splits a value at blanks (XCU 2.6.5), as it stands in a word without quotes.
func (l *lexer) fields(value string, at diag.Range) {
	for _, c := range value {
		if c == ' ' || c == '\t' || c == '\n' {
			l.split = true
			l.give(at)
			continue
		}
		l.solid = true
		l.word.WriteRune(c)
		switch c {
		case '*', '?', '[', ']':
			l.pattern(string(c), at)
		case '\\':
			l.blame(readOtherwise(at, "shells differ in what a backslash of a value does without quotes"))
		}
	}
}

// home takes a "~" that begins a word, if it stands for a directory.
func (l *lexer) home() bool {
	n := 1
	for strings.IndexByte(nameBytes+"+-.@", l.peek(n)) >= 0 && l.peek(n) != 0 {
		n++
	}
	if b := l.peek(n); b != 0 && strings.IndexByte("/ \t\r\n;&|()<>:", b) < 0 {
		return false
	}
	start := l.pos
	for range n {
		l.next()
	}
	user := string(l.src[start.Byte+1 : l.pos.Byte])
	switch user {
	case "":
		l.variable("HOME", start, true)
	case "+":
		l.variable("PWD", start, true)
	case "-":
		l.variable("OLDPWD", start, true)
	default:
		l.part("home of "+user, true, l.since(start))
	}
	return true
}

// until is the text up to the "}" that closes a "${", which is taken as well.
func (l *lexer) until(start diag.Pos) string {
	from := l.pos.Byte
	for depth := 1; ; {
		switch {
		case l.end():
			l.faults.Add(unclosed(l.since(start), "${"))
			return string(l.src[from:l.pos.Byte])
		case l.peek(0) == '\\':
			l.next()
		case l.peek(0) == '$' && l.peek(1) == '{':
			depth++
		case l.peek(0) == '}':
			depth--
		}
		if depth == 0 {
			break
		}
		if !l.end() {
			l.next()
		}
	}
	text := string(l.src[from:l.pos.Byte])
	l.next()
	return text
}

// substitution takes what a command would print, or the file that it would write: one
// unknown part. whole: it cannot be more words than one. from is where it begins.
func (l *lexer) substitution(opening byte, whole bool, from diag.Pos) {
	start := l.pos
	l.next()
	for depth := 1; depth > 0; {
		if l.end() {
			l.faults.Add(unclosed(l.since(start), string(opening)))
			return
		}
		switch b := l.peek(0); {
		case b == '\\':
			l.next()
		case b == '\'' && opening == '(':
			for l.next(); !l.end() && l.peek(0) != '\''; {
				l.next()
			}
		case opening == '`' && b == '`', b == ')' && opening == '(':
			depth--
		case b == '(' && opening == '(':
			depth++
		}
		if !l.end() {
			l.next()
		}
	}
	at := l.since(start)
	if inside := string(l.src[at.Start.Byte:at.End.Byte]); opening == '(' && (strings.Contains(inside, "case ") || strings.Contains(inside, "#") || strings.Contains(inside, "<<")) {
		l.blame(readOtherwise(at, "where this command ends is not told here"))
	}
	l.part("output of "+spot(start), whole, l.since(from))
}

// spot is a place of the text in words.
func spot(p diag.Pos) string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// manyUnquoted reports a variable or an output without quotes.
func manyUnquoted(at diag.Range, what string) *fault {
	if len(what) > 40 {
		what = what[:40] + "…"
	}
	return &fault{diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-many-words", At: at,
		Message: fmt.Sprintf("%q stands without quotes, so a shell makes none, one or more words of it", what),
		Help:    "put it into double quotes, give the variable its value (--param NAME=VALUE), or write the words themselves",
	}, true}
}

// manyWords reports what a shell would replace by words that nobody can count here.
func manyWords(at diag.Range) *fault {
	return &fault{diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-many-words", At: at,
		Message: "this stands for any number of words, which only the shell knows",
		Help:    "write the words themselves; /proc/PID/cmdline of a running bwrap has them",
	}, false}
}

// manyFiles reports a pattern of names of files.
func manyFiles(at diag.Range) *fault {
	return &fault{diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-many-words", At: at,
		Message: "a shell puts the names of files here that match, as many as there are",
		Help:    "write the paths themselves, or put the word into quotes if it is meant as it stands",
	}, false}
}

// manyBraces reports what bash makes several words of.
func manyBraces(at diag.Range) *fault {
	return &fault{diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-many-words", At: at,
		Message: "bash makes several words of these braces, and other shells one",
		Help:    "write the words themselves, or put the word into quotes if it is meant as it stands",
	}, false}
}

// readOtherwise reports what is not the same in every shell, or on every machine.
func readOtherwise(at diag.Range, why string) *fault {
	return &fault{diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-shell-word", At: at,
		Message: why,
		Help:    "write the word itself, in plain quotes",
	}, false}
}
