package main

import (
	"fmt"
	"strings"
)

// page is docs/kernels.md's table: what must come of every case.
func page() string {
	var b strings.Builder
	b.WriteString("| boot | case | doctor | `plain` | `strict` | `open` | limits | besides |\n|---|---|---|---|---|---|---|---|\n")
	for _, machine := range boots {
		for _, t := range machine.cases {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", machine.name, t.name(), t.found(),
				t.plain, t.strict.after(t.plain), t.open.after(t.strict), t.scopes, t.besides())
		}
	}
	return b.String()
}

func (w want) String() string {
	if w == works {
		return "runs"
	}
	return "refused: " + w.refused
}

// after is the words for a column whose left neighbour has the other.
func (w want) after(other want) string {
	if w == other && w != works {
		return "the same"
	}
	return w.String()
}

func (t trial) found() string {
	var out []string
	for _, f := range t.missing {
		out = append(out, f.name+" "+f.state)
	}
	if len(out) == 0 {
		return "ok"
	}
	return strings.Join(out, ", ")
}

func (t trial) besides() string {
	var out []string
	if t.demo {
		out = append(out, "the demo")
	}
	for _, name := range t.tests {
		out = append(out, "`"+name+"`")
	}
	return strings.Join(out, ", ")
}
