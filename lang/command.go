package lang

import (
	"fmt"

	"github.com/obspc/obspc/lang/diag"
)

func (b *block) decodeCommands(out *Body) {
	taken := b.p.names()
	for _, hb := range b.all("command") {
		c := b.p.open(hb)
		c.checkName(identifierName.MatchString, identifierHelp)
		taken.take("command", c.name)
		if c.repeats {
			continue
		}
		out.Commands = append(out.Commands, c.command())
	}
}

func (b *block) command() *Command {
	c := &Command{Name: b.name, Range: b.header, SHA256: b.str("sha256")}
	if it, ok := b.item("executable", inPaths); ok {
		if t, ok := b.p.text(it, "executable", false); ok {
			c.Executable.Text = t
		}
	} else if b.attrs["executable"] == nil {
		b.p.add(missingAttribute(b.header, "command", "executable", `name the program, as in executable = "/usr/bin/curl"`))
	}
	b.arguments(c)
	b.result(c)
	return c
}

// arguments reads the list of arguments, and the fields in it.
func (b *block) arguments(c *Command) {
	items := b.items("arguments", elsewhere)
	if items == nil {
		return
	}
	c.Arguments = []Text{}
	stated := map[string]Field{}
	for i, it := range items {
		pieces, ok := b.p.pieces(it, "an element of arguments")
		if !ok {
			continue
		}
		t, ok := b.p.parts(pieces, it.at, "an element of arguments", true)
		if !ok {
			continue
		}
		c.Arguments = append(c.Arguments, t)
		for _, piece := range pieces {
			f, ok := Field{}, false
			if piece.hole {
				f, ok = b.p.fieldOf(piece.text)
			}
			if !ok {
				continue
			}
			c.Fields = append(c.Fields, f)
			if first, taken := stated[f.Name]; taken && first != f {
				b.p.add(duplicateArgument(f, first))
			} else {
				stated[f.Name] = f
			}
			if f.Form == RestForm {
				b.checkRest(items, i, pieces, f)
			}
		}
	}
}

// checkRest reports a rest that is not an element of its own, the last one,
// after "--": it becomes any number of arguments, and the program must not take
// one for an option.
func (b *block) checkRest(items []item, i int, pieces []piece, f Field) {
	switch {
	case len(pieces) > 1:
		b.p.add(restNotWhole(items[i].at, f))
	case i < len(items)-1:
		b.p.add(restNotLast(f, items[len(items)-1].at))
	case i == 0 || !isSeparator(items[i-1]):
		b.p.add(restWithoutSeparator(f))
	}
}

func isSeparator(it item) bool {
	s, ok := convertTo(it.value, text)
	return ok && !s.IsMarked() && s.AsString() == "--"
}

func duplicateArgument(f, first Field) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "duplicate-argument",
		At:      f.Range,
		Message: fmt.Sprintf("field %q is stated twice", f.Name),
		Help:    "give one of them another name; to use one value twice, state it once in locals",
		Related: []diag.Related{{At: first.Range, Message: "first stated here"}},
	}
}

func restNotLast(f Field, last diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "rest-not-last",
		At:      f.Range,
		Message: fmt.Sprintf("rest(%q) is followed by more arguments", f.Name),
		Help:    `put it last, after "--"`,
		Related: []diag.Related{{At: last, Message: "the last argument"}},
	}
}

func restWithoutSeparator(f Field) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "rest-without-separator",
		At:      f.Range,
		Message: fmt.Sprintf("rest(%q) does not follow \"--\", so a caller could add options", f.Name),
		Help:    fmt.Sprintf(`write "--", rest(%q)`, f.Name),
	}
}

func restNotWhole(r diag.Range, f Field) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "rest-not-whole",
		At:      r,
		Message: fmt.Sprintf("rest(%q) is only part of an argument", f.Name),
		Help:    "make it an element of its own: each of its strings becomes one argument",
	}
}
