package cmdline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// array is an assignment NAME=(…) or NAME+=(…) (bash(1), Arrays): the words that it
// gives the array, or adds to it.
type array struct {
	name  string
	adds  bool
	words []Word
}

// quoted counts what expansions gave: arrays of no word and of some, and unknown parts.
// In double quotes, what is nothing but empty, and an array without words among it, is
// no word; without such an array it is an empty one.
type quoted struct{ none, some, unknown int }

// opensArray is the array that a "(" begins, which stands where a command may be; nil
// when it is another parenthesis.
func (l *lexer) opensArray() *array {
	text := l.word.String()
	name, adds := strings.TrimSuffix(text, "="), false
	if name != text {
		name, adds = strings.CutSuffix(name, "+")
	}
	// Quotes and escapes make it a word that is no assignment.
	if name == text || !isName(name) || !l.begun || l.lines || l.inArray || l.since(l.start).End.Byte-l.start.Byte != len(text) {
		return nil
	}
	if !l.first && !l.assignsNext() {
		return nil
	}
	return &array{name: name, adds: adds}
}

// assignsNext tells that of the command at hand nothing is read that assignments do
// not follow.
func (l *lexer) assignsNext() bool {
	for i := len(l.out) - 1; i >= 0 && l.out[i].ends == 0; i-- {
		t := l.out[i]
		if len(l.out)-i > maxBefore || !t.assigns && !leading[t.Text] && !strings.HasPrefix(t.Text, "-") {
			return false
		}
	}
	return true
}

// leading are words behind which an assignment may stand, beside options.
var leading = map[string]bool{
	"then": true, "do": true, "else": true, "elif": true, "!": true, "{": true, "if": true, "while": true, "until": true, "time": true,
	"declare": true, "typeset": true, "local": true, "export": true, "readonly": true,
}

// takeArray takes the words in the parentheses of an assignment.
func (l *lexer) takeArray(a *array) {
	from, start, opened := len(l.out), l.start, l.pos
	if l.shell == "sh" {
		l.blame(otherwiseArray(l.since(start)))
	}
	fault, quiet := l.fault, l.quiet()
	l.next()
	for l.peek(0) != ')' && !l.faults.HasErrors() {
		b := l.peek(0)
		switch {
		case l.end():
			l.faults.Add(unclosed(l.since(opened), "("))
		case b == '\n':
			l.finish()
			l.next()
		case strings.IndexByte(";&|(>", b) >= 0 || b == '<' && l.peek(1) != '(':
			fault = strayInArray(l.here(1))
			l.finish()
			l.next()
		case b == '[' && !l.begun:
			if fault == nil {
				fault = indexedArray(l.here(1))
			}
			l.step()
		default:
			l.step()
		}
	}
	l.finish()
	if !l.end() {
		l.next()
	}
	for _, t := range l.out[from:] {
		a.words = append(a.words, t.Word)
	}
	l.out = l.out[:from]
	if fault != nil {
		a.words = []Word{{At: fault.At, Unknown: true, fault: fault}}
	}
	quiet()
	l.out = append(l.out, token{Word: Word{Text: a.name + "=", At: l.since(start)}, assigns: true, array: a})
	l.begun, l.split = false, false
}

// quiet begins words that stand in an array, and undoes that.
func (l *lexer) quiet() (undo func()) {
	first, in := l.first, l.inArray
	l.word.Reset()
	l.solid, l.hidden, l.fault, l.marks, l.begun = false, false, nil, marks{}, false
	l.first, l.inArray = false, true
	return func() { l.first, l.inArray = first, in }
}

// assignArray gives an array its words, if it has the same ones whatever happens.
func (l *lexer) assignArray(a *array) {
	delete(l.values, a.name)
	have, known := l.arrays[a.name]
	switch {
	case !l.sureArrays[a.name], a.adds && !known: // what is added to may come from the caller
		delete(l.arrays, a.name)
	case a.adds:
		l.arrays[a.name] = append(slices.Clip(have), a.words...)
	default:
		l.arrays[a.name] = append([]Word{}, a.words...)
	}
}

// subscripted takes ${NAME[…]…}: "${NAME[@]}" is the words of a known array, and so is
// ${NAME[@]+"${NAME[@]}"}, which bash before 4.4 needs where unset names are errors.
// The rest is refused.
func (l *lexer) subscripted(name, operator string, start diag.Pos, quoted bool) {
	at := l.since(start)
	words, known := l.arrays[name]
	guarded := operator == `[@]+"${`+name+`[@]}"` && !quoted
	var f *fault
	switch {
	case l.shell == "sh":
		f = otherwiseArray(at)
	case strings.HasPrefix(operator, "[*]"):
		f = partOfArray(at, name, "joins the words of the array %s to one")
	case !strings.HasPrefix(operator, "[@]"):
		f = partOfArray(at, name, "is one element of the array %s")
	case operator != "[@]" && !guarded:
		f = partOfArray(at, name, "changes or picks words of the array %s")
	case !known:
		f = unsureArray(at, name, l.madeArrays[name])
	default:
		l.elements(words, at, quoted || guarded)
		return
	}
	l.solid, l.hidden = true, true
	l.word.WriteString("${words at " + spot(start) + "}")
	l.blame(f)
}

// elementCost is what a word of an array counts beside its bytes, where it is used: what
// is kept of a word is more than its text. bwrap takes fewer words than this allows.
const elementCost = 64

// elements puts the words of an array here: the first joins what stands before it in
// its word, and the last what stands behind.
func (l *lexer) elements(words []Word, at diag.Range, quoted bool) {
	if len(words) == 0 {
		l.seen.none++
	} else {
		l.seen.some++
	}
	for i, w := range words {
		if l.grown += len(w.Text) + elementCost; l.grown > MaxText {
			l.faults.Add(tooLong(l.file, l.grown))
			return
		}
		if i > 0 {
			l.split = true
			l.give(at)
		}
		switch {
		case quoted:
			if l.word.Len() == 0 {
				l.at = &w.At
			}
			l.solid, l.hidden = true, l.hidden || w.Unknown
			l.word.WriteString(w.Text)
		case w.Unknown || l.ifs:
			l.solid, l.hidden = true, true
			l.word.WriteString(w.Text)
			l.blame(manyUnquoted(at, string(l.src[at.Start.Byte:at.End.Byte])))
		default:
			l.fields(w.Text, at)
		}
		if w.fault != nil {
			l.blame(w.fault)
		}
	}
}

// declared is a command without the words before its assignments.
func declared(words []token) []token {
	if n := declares(words); onlyAssignments(words[n:]) || n == 1 {
		return words[n:]
	}
	return words
}

// declares is how many words before its assignments a command begins with.
func declares(words []token) int {
	switch {
	case len(words) == 0:
	case words[0].Text == "export" || words[0].Text == "readonly":
		return 1
	case (words[0].Text == "declare" || words[0].Text == "typeset") && len(words) > 1 && words[1].Text == "-a":
		return 2
	}
	return 0
}

// without keeps what both surveys are sure of.
func (s script) without(other script) script {
	keep := func(a, b map[string]bool) map[string]bool {
		out := maps.Clone(a)
		maps.DeleteFunc(out, func(name string, _ bool) bool { return !b[name] })
		return out
	}
	s.certain, s.sureArrays = keep(s.certain, other.certain), keep(s.sureArrays, other.sureArrays)
	s.ifs = s.ifs || other.ifs
	return s
}

// equals tells that two surveys say the same of variables.
func (s script) equals(other script) bool {
	return s.ifs == other.ifs && maps.Equal(s.certain, other.certain) && maps.Equal(s.sureArrays, other.sureArrays)
}

// arrayFault reports words that an array would give, if one could tell which.
func arrayFault(at diag.Range, message, help string) *fault {
	return &fault{diag.Diagnostic{Severity: diag.Error, Code: "bwrap-shell-array", At: at, Message: message, Help: help}, false}
}

// unsureArray reports an array of which the text does not say what it holds.
func unsureArray(at diag.Range, name string, made bool) *fault {
	if made {
		return arrayFault(at, fmt.Sprintf("what the array %s holds here depends on how the script runs", name),
			"give it its words where every run does: "+name+"=(…), then "+name+"+=(…), outside of if, loops, functions and pipes; or write the words themselves")
	}
	return arrayFault(at, fmt.Sprintf("the text does not say what the array %s holds", name),
		"put "+name+"=(…) with its words into a line before, or write the words themselves")
}

// partOfArray reports what an operator makes of an array.
func partOfArray(at diag.Range, name, what string) *fault {
	return arrayFault(at, "this "+fmt.Sprintf(what, name), `write "${`+name+`[@]}", which is all of its words, or the words themselves`)
}

// indexedArray reports an element whose place is stated.
func indexedArray(at diag.Range) *fault {
	return arrayFault(at, "an element that begins with a bracket states its place, or is a pattern of names of files",
		"write the words in their order, and those with a bracket in quotes")
}

// strayInArray reports what bash does not take between the parentheses.
func strayInArray(at diag.Range) *fault {
	return arrayFault(at, "an array holds words, and this is none for bash", "put the word into quotes if it is meant as it stands")
}

// perhapsNoWord reports quotes of which bash makes a word or none.
func perhapsNoWord(at diag.Range) *fault {
	return arrayFault(at, "an array without words stands here beside what is not known: bash makes no word of it if that is empty, and else one",
		"leave the array out, or write the words themselves")
}

// otherwiseArray reports an array in a script of a shell that need not have them.
func otherwiseArray(at diag.Range) *fault {
	return readOtherwise(at, "arrays are of bash, and the script is for sh")
}
