// Package scheme reads and evaluates the Scheme that Seatbelt profiles are written
// in: TinyScheme 1.3x as libsandbox embeds it, less everything that touches the
// machine, continuations, and what changes lists and vectors in place (so that no
// list is endless). It turns text into data and data into calls of procedures that
// its user defines; what those mean is in package sbpl. Its one rule: whatever the
// text, evaluation ends within the limits it was given, in a value or an *Error.
package scheme

import (
	"fmt"
	"strconv"
	"strings"
)

// Value is a datum: Symbol, string, int64, float64, bool, Char, Empty, *Pair,
// Vector, Unspecified, a procedure (*Procedure, *Closure, *Macro), or a value of
// the user's own types. Data never change once made.
type Value any

// Symbol is a name. Case matters.
type Symbol string

// Char is one byte of a string: TinyScheme knows no wider characters.
type Char byte

// Empty is the empty list.
type Empty struct{}

// Unspecified is what forms without a result return.
type Unspecified struct{}

// Vector is #(…).
type Vector []Value

// Pair is a list cell. At is where its Car stands in the text; Open is where the
// list that it begins opens. Both are zero in cells made by evaluation.
type Pair struct {
	Car, Cdr Value
	At, Open Pos
}

// Pos is a place in a text. Line and Column count from 1, Column in characters
// (UTF-8, a stray byte counting as one); Byte from 0. The zero Pos is nowhere.
type Pos struct {
	File               string
	Line, Column, Byte int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Code names the kind of an Error: a kebab-case word that is never renamed.
type Code string

// The codes of this package. Its users have their own.
const (
	Syntax        Code = "syntax"
	UnboundName   Code = "unbound-name"
	WrongArgument Code = "wrong-argument"
	Raised        Code = "raised"    // by (error …) in the text
	PastLimit     Code = "too-large" // depth, size or steps
)

// Error is what is wrong with a text and where.
type Error struct {
	At      Pos
	Code    Code
	Message string
}

func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

func fail(at Pos, code Code, format string, args ...any) *Error {
	return &Error{At: at, Code: code, Message: fmt.Sprintf(format, args...)}
}

// List makes a list of values.
func List(values ...Value) Value { return listWithTail(values, Empty{}) }

func listWithTail(values []Value, tail Value) Value {
	out := tail
	for i := len(values) - 1; i >= 0; i-- {
		out = &Pair{Car: values[i], Cdr: out}
	}
	return out
}

// Items is the list as a slice; false when v is no proper list.
func Items(v Value) ([]Value, bool) {
	var out []Value
	for {
		switch p := v.(type) {
		case Empty:
			return out, true
		case *Pair:
			out, v = append(out, p.Car), p.Cdr
		default:
			return nil, false
		}
	}
}

// isTrue tells what if takes: everything but #f.
func isTrue(v Value) bool { return v != false }

// longest text that a value is shown by in a message, in bytes.
const maxShown = 60

// Show is v as it would be written, shortened, for messages.
func Show(v Value) string {
	var b strings.Builder
	show(&b, v)
	if b.Len() > maxShown {
		return strings.ToValidUTF8(b.String()[:maxShown], "") + "…"
	}
	return b.String()
}

func show(b *strings.Builder, v Value) {
	if b.Len() > maxShown {
		return
	}
	switch v := v.(type) {
	case Symbol:
		b.WriteString(string(v))
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(map[bool]string{true: "#t", false: "#f"}[v])
	case Char:
		b.WriteString(`#\` + string(rune(v)))
	case Empty:
		b.WriteString("()")
	case Unspecified:
		b.WriteString("#<unspecified>")
	case Vector:
		b.WriteString("#(")
		for i, item := range v {
			if i > 0 {
				b.WriteByte(' ')
			}
			show(b, item)
			if b.Len() > maxShown {
				return
			}
		}
		b.WriteByte(')')
	case *Pair:
		showList(b, v)
	case *Closure, *Procedure, *Macro, *form:
		b.WriteString("#<procedure>")
	default:
		fmt.Fprint(b, v)
	}
}

func showList(b *strings.Builder, p *Pair) {
	b.WriteByte('(')
	for {
		show(b, p.Car)
		if b.Len() > maxShown {
			return
		}
		next, ok := p.Cdr.(*Pair)
		if !ok {
			if p.Cdr != (Empty{}) {
				b.WriteString(" . ")
				show(b, p.Cdr)
			}
			b.WriteByte(')')
			return
		}
		b.WriteByte(' ')
		p = next
	}
}
