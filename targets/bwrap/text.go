package bwrap

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Text is bwrap.args.txt: the operations as options, one a line, for people and
// diffs. Slots stand as ${slot}. Where facts decide, the line shows the usual
// option and says what else it may become. It is never executed.
func (s *Set) Text() []byte {
	b := make([]byte, 0, lineRoom*(16+len(s.Operations)))
	b = fmt.Appendf(b, "# Policy %s. What a run passes to bwrap once slots are bound and the host's paths are known.\n", s.Policy)
	fixed := fixedOptions(s.Namespaces)
	for i := 0; i < len(fixed); {
		n := 1 + arity[fixed[i]]
		b = append(append(b, strings.Join(fixed[i:i+n], " ")...), '\n')
		i += n
	}
	for _, o := range s.Operations {
		if o.Verb == Skeleton && o.Path == (ir.Path{}) {
			continue // its mode stands at the end
		}
		options, note := o.text()
		b = appendLine(b, options, o.Origin)
		if note != "" {
			b = append(append(b, "; "...), note...)
		}
		b = append(b, '\n')
	}
	for _, o := range s.Operations {
		if o.Verb == Proc || o.Verb == Dev || o.Verb == Mask {
			b = append(appendLine(b, "--remount-ro "+quoted(o.Path), o.Origin), '\n')
		}
	}
	return append(append(b, s.rootSeal()...), "--seccomp FD\n--json-status-fd FD\n"...)
}

// Where origins begin, and what a line mostly takes in all.
const (
	originColumn = 72
	lineRoom     = 144
)

// appendLine appends options and, in a column of their own, whose they are.
func appendLine(b []byte, options string, from ir.Origin) []byte {
	return fmt.Appendf(b, "%-*s # %s", originColumn, options, from)
}

// Line is the line of Text that makes the operation at that path, counted from 1,
// without its comment; 0 when there is none.
func (s *Set) Line(at ir.Path) (n int, text string) {
	for _, o := range s.Operations {
		if o.Path != at {
			continue
		}
		options, _ := o.text()
		if o.Verb == Skeleton && at == (ir.Path{}) {
			options = "--chmod " + octal(listMode) + " /"
		}
		for i, line := range strings.Split(string(s.Text()), "\n") {
			if rest, ok := strings.CutPrefix(line, options); ok && (rest == "" || rest[0] == ' ') {
				return i + 1, options
			}
		}
	}
	return 0, ""
}

// text is the operation's usual option, and what facts may make of it.
func (o Operation) text() (options, note string) {
	at := quoted(o.Path)
	twice := at + " " + at
	if o.Optional {
		note = "nothing if missing"
	}
	also := func(more string) {
		if note != "" {
			note += "; "
		}
		note += more
	}
	switch o.Verb {
	case Skeleton:
		if !o.Listable {
			return "--perms 0111 --dir " + at, ""
		}
		also("a file: --ro-bind")
		return "--perms 0755 --dir " + at, note
	case Bind:
		if o.Level == ir.Write {
			return "--bind " + twice, note
		}
		also("missing inside a write: a placeholder")
		return "--ro-bind " + twice, note
	case LinkOrBind:
		also("a link: --symlink")
		return "--ro-bind " + twice, note
	case Mask:
		also("a file: --perms 0000 --ro-bind-data")
		return fmt.Sprintf("--perms 0111 --size %d --tmpfs %s", holeSize, at), note
	case Pin:
		return "--bind " + twice, note
	case Tmpfs:
		return fmt.Sprintf("--perms 1777 --size %d --tmpfs %s", o.Size, at), note
	case Dev:
		return "--dev " + at, note
	}
	return "--proc " + at, note
}

// rootSeal is the lines that end the mounts: what may be seen of "/".
func (s *Set) rootSeal() string {
	mode, origin := octal(passMode), ""
	for _, o := range s.Operations {
		switch {
		case o.Path != (ir.Path{}):
		case o.Verb == LinkOrBind:
			return ""
		case o.Verb == Skeleton:
			mode, origin = octal(listMode), " # "+string(o.Origin)
		}
	}
	chmod := "--chmod " + mode + " /"
	if origin != "" {
		chmod = fmt.Sprintf("%-*s%s", originColumn, chmod, origin)
	}
	return chmod + "\n--remount-ro /\n"
}

// quoted is a path for a reader: as it stands, or in Go's quotes when it holds
// something that would blur the line, or that a shell would replace.
func quoted(p ir.Path) string {
	text := p.String()
	if strings.ContainsAny(text, " \"'\\#*?[];&|()<>`") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
