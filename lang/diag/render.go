package diag

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxRendered is how many findings Render writes out; past it the reader is told
// how many are left. JSON has them all.
const MaxRendered = 50

// RenderOptions are how findings look.
type RenderOptions struct {
	Colour bool // escape sequences for a terminal
}

// Render writes findings for people: place, words and code on one line, then the
// source with the range underlined, other places that explain it, and the help.
// src maps file names to their text; a place in another file is named without
// its text. Nothing of a source or a message reaches the terminal raw: control
// and direction characters are shown as pictures. The error is w's.
func Render(w io.Writer, l List, src map[string][]byte, opts RenderOptions) error {
	r := &renderer{src: src, paint: paint{opts.Colour}}
	l = l.Sorted()
	for i, d := range l {
		if i == MaxRendered {
			fmt.Fprintf(&r.out, "\nand %d more\n", len(l)-i)
			break
		}
		if i > 0 {
			r.out.WriteByte('\n')
		}
		r.finding(d)
	}
	_, err := w.Write(r.out.Bytes())
	return err
}

// renderer collects the text of a list.
type renderer struct {
	out   bytes.Buffer
	src   map[string][]byte
	paint paint
}

func (r *renderer) finding(d Diagnostic) {
	colour := red
	if d.Severity == Warning {
		colour = yellow
	}
	r.place(d.At)
	fmt.Fprintf(&r.out, "%s %s [%s]\n",
		r.paint.with(colour, d.Severity.String()+":"), r.paint.with(bold, visible(d.Message)), d.Code)
	width := r.snippet(d.At, colour)
	for _, rel := range d.Related {
		r.place(rel.At)
		fmt.Fprintf(&r.out, "%s %s\n", r.paint.with(blue, "note:"), visible(rel.Message))
		width = max(width, r.snippet(rel.At, blue))
	}
	if d.Help != "" {
		fmt.Fprintf(&r.out, "%s %s %s\n", strings.Repeat(" ", width), r.paint.with(blue, "= help:"), visible(d.Help))
	}
}

// place writes "file:line:column: ", or nothing for no place.
func (r *renderer) place(at Range) {
	if at.File != "" {
		fmt.Fprintf(&r.out, "%s: ", visible(at.String()))
	}
}

// snippet writes the lines of a range, of a long one the first and the last, and
// returns the width of the line numbers.
func (r *renderer) snippet(at Range, colour string) int {
	src, ok := r.src[at.File]
	first, ok1 := lineOf(src, at.Start.Line)
	if !ok || !ok1 {
		return 1
	}
	last, ok := lineOf(src, at.End.Line)
	severalLines := ok && at.End.Line > at.Start.Line
	number := at.Start.Line
	if severalLines {
		number = at.End.Line
	}
	width := len(strconv.Itoa(number))
	gutter := r.paint.with(blue, strings.Repeat(" ", width)+" |")
	line := func(n int, l line, from, to int) {
		text, marks := l.marked(from, to)
		fmt.Fprintf(&r.out, "%s %s\n", r.paint.with(blue, fmt.Sprintf("%*d |", width, n)), text)
		fmt.Fprintf(&r.out, "%s %s\n", gutter, strings.Repeat(" ", marks.from)+
			r.paint.with(colour, strings.Repeat("^", marks.to-marks.from)))
	}
	fmt.Fprintln(&r.out, gutter)
	if !severalLines {
		line(at.Start.Line, first, first.offset(at.Start), first.offset(at.End))
		return width
	}
	line(at.Start.Line, first, first.offset(at.Start), len(first.text))
	if at.End.Line > at.Start.Line+1 {
		fmt.Fprintln(&r.out, r.paint.with(blue, "..."))
	}
	if end := last.offset(at.End); end > last.indent() {
		line(at.End.Line, last, last.indent(), end)
	}
	return width
}

// paint colours text, or does not.
type paint struct{ on bool }

// Select graphic rendition parameters of ECMA-48, 8.3.117.
const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	blue   = "1;34"
)

func (p paint) with(colour, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
