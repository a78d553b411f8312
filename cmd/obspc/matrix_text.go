package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
)

// sheet is a table as people read it: lines of cells, in sections, and the notes
// that cells refer to by number.
type sheet struct {
	sections []section
	notes    []string
	number   map[string]int
}

type section struct {
	name  string
	lines [][]string // statement, place, one cell for each target
}

// sectionNames are the sections in the order in which policies state them.
var sectionNames = []string{"filesystem", "network", "environment", "limits", "syscalls", "system", "commands"}

// sheet lays the table out: in each section the configuration's own statements,
// what obspc adds, then those of embedded templates, which share lines unless all
// are wanted.
func (t table) sheet(all bool) *sheet {
	s := &sheet{number: map[string]int{}}
	for _, name := range sectionNames {
		var own, builtin, embedded []row
		for _, r := range t.Rows {
			switch {
			case r.Section != name:
			case r.embedded:
				embedded = append(embedded, r)
			case r.File == "":
				builtin = append(builtin, r)
			default:
				own = append(own, r)
			}
		}
		if !all {
			embedded = shared(embedded)
		}
		sec := section{name: name}
		for _, r := range slices.Concat(own, builtin, embedded) {
			sec.lines = append(sec.lines, s.line(r, t.Targets))
		}
		if len(sec.lines) > 0 {
			s.sections = append(s.sections, sec)
		}
	}
	return s
}

// shared puts statements of one list of one template, about which all targets
// say the same, into one row.
func shared(rows []row) []row {
	var out []row
	index, count := map[string]int{}, map[int]int{}
	for _, r := range rows {
		list, _, _ := strings.Cut(r.Statement, "[")
		key := list
		for _, target := range slices.Sorted(maps.Keys(r.Targets)) {
			c := r.Targets[target]
			key += fmt.Sprint("|", target, c.Capability, c.Layers, c.Scope)
		}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			r.Statement = list
			out = append(out, r)
		} else {
			for target, c := range r.Targets {
				have := out[i].Targets[target]
				for _, n := range c.Notes {
					if !slices.Contains(have.Notes, n) {
						have.Notes = append(have.Notes, n)
					}
				}
				out[i].Targets[target] = have
			}
		}
		count[i]++
	}
	for i := range out {
		if count[i] > 1 {
			out[i].Text = fmt.Sprintf("%s, %d statements", out[i].Statement, count[i])
			out[i].Line = 0
		}
	}
	return out
}

func (s *sheet) line(r row, targets []string) []string {
	line := []string{r.Text, r.place()}
	for _, t := range targets {
		line = append(line, s.cell(t, r.Targets[t]))
	}
	return line
}

func (r row) place() string {
	if r.File == "" {
		return "built in"
	}
	return diag.Range{File: r.File, Start: diag.Pos{Line: r.Line, Column: r.Column}}.String()
}

// cell is a cell in one line: the layers, what a limit bounds, anything less than
// exact, and the numbers of its notes.
func (s *sheet) cell(target string, c cell) string {
	var parts []string
	if len(c.Layers) > 0 {
		parts = append(parts, strings.Join(c.Layers, " + "))
	}
	switch c.Scope {
	case string(ir.RunScope):
		parts = append(parts, "the run")
	case string(ir.TreeScope):
		parts = append(parts, "all processes together")
	case string(ir.ProcessScope):
		parts = append(parts, "each process")
	case string(ir.WatchedScope):
		parts = append(parts, "watched")
	}
	if c.Capability == targets.Absent.String() {
		parts = nil // what would enforce the rest enforces nothing: the policy does not compile
	}
	if c.Capability != targets.Exact.String() {
		parts = append(parts, c.Capability)
	}
	out := strings.Join(parts, ", ")
	if out == "" {
		out = "–"
	}
	for _, n := range c.Notes {
		out += fmt.Sprintf(" [%d]", s.note(target, n))
	}
	return out
}

// note is the number of a note, each text once.
func (s *sheet) note(target string, n note) int {
	line := fmt.Sprintf("%s, %s: %s", target, n.Feature, n.Text)
	if n.Reason != "" {
		line += fmt.Sprintf(" (waived: %s)", n.Reason)
	}
	if s.number[line] == 0 {
		s.notes = append(s.notes, line)
		s.number[line] = len(s.notes)
	}
	return s.number[line]
}

func textTables(w io.Writer, tables []table, all bool) error {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "policy %s version %d\n\n", t.Policy, t.Version)
		s := t.sheet(all)
		widths := s.widths(t.heading())
		aligned(&b, "", t.heading(), widths)
		for _, sec := range s.sections {
			fmt.Fprintf(&b, "%s\n", sec.name)
			for _, line := range sec.lines {
				aligned(&b, "  ", line, widths)
			}
		}
		for i, n := range s.notes {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "[%d] %s\n", i+1, n)
		}
	}
	_, err := io.WriteString(w, diag.Visible(b.String()))
	return err
}

func (t table) heading() []string { return append([]string{"statement", "at"}, t.Targets...) }

// widths are those of the columns; the first is indented below its section.
func (s *sheet) widths(heading []string) []int {
	widths := make([]int, len(heading))
	grow := func(line []string, indent int) {
		for i, text := range line {
			if i > 0 {
				indent = 0
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(text)+indent)
		}
	}
	grow(heading, 0)
	for _, sec := range s.sections {
		for _, line := range sec.lines {
			grow(line, 2)
		}
	}
	return widths
}

func aligned(b *strings.Builder, indent string, line []string, widths []int) {
	out := ""
	for i, text := range line {
		if i == 0 {
			text = indent + text
		}
		out += text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+3)
	}
	b.WriteString(strings.TrimRight(out, " ") + "\n")
}

// plainMarkdown escapes what Markdown would take for its own.
var plainMarkdown = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`")

func markdownTables(w io.Writer, tables []table, all bool) error {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### policy %s, version %d\n\n", t.Policy, t.Version)
		s := t.sheet(all)
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.heading(), " | "), strings.Repeat("---|", len(t.heading())))
		for _, sec := range s.sections {
			fmt.Fprintf(&b, "| **%s** |%s\n", sec.name, strings.Repeat(" |", len(t.heading())-1))
			for _, line := range sec.lines {
				fmt.Fprintf(&b, "| %s |\n", strings.Join(escaped(line), " | "))
			}
		}
		for i, n := range s.notes {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%d. %s\n", i+1, plainMarkdown.Replace(n))
		}
	}
	_, err := io.WriteString(w, diag.Visible(b.String()))
	return err
}

func escaped(line []string) []string {
	out := make([]string, len(line))
	for i, text := range line {
		out[i] = plainMarkdown.Replace(text)
	}
	return out
}
