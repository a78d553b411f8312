package compiler

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// list is the attribute that a path stands in: what to write instead of a faulty
// one depends on it.
type list string

// The lists of a filesystem block, and the programs of commands and endpoints.
const (
	readList    list = "read"
	writeList   list = "write"
	denyList    list = "deny"
	executeList list = "execute"
	programList list = "executable"
)

// place is the one path that t means, or what is wrong with it.
func place(t lang.Text) (ir.Path, *diag.Diagnostic) { return placeIn(t, readList) }

// placeIn is place for a path that stands in the list.
func placeIn(t lang.Text, in list) (ir.Path, *diag.Diagnostic) {
	root, rest, slot := ir.Host, "", ""
	for i, part := range t.Parts {
		switch part.Kind {
		case lang.SlotPart:
			if i > 0 {
				return ir.Path{}, slotInside(t, part.Text)
			}
			root, slot = slotRoot(part.Text), part.Text
		case lang.LiteralPart:
			rest += part.Text
		default:
			diag.Bug("field %q in the path at %s", part.Text, t.Range)
		}
	}
	switch {
	case root == ir.Host && strings.HasPrefix(rest, "~"):
		return ir.Path{}, pathTilde(t, rest)
	case root != ir.Host && rest != "" && rest[0] != '/':
		return ir.Path{}, slotGlued(t, slot, rest)
	}
	p, err := ir.NewPath(root, rest)
	wildcard := strings.IndexAny(rest, ir.Wildcards)
	switch {
	case errors.Is(err, ir.ErrNotAbsolute) && (wildcard < 0 || strings.HasPrefix(rest, "$")):
		return ir.Path{}, pathNotAbsolute(t, rest, in)
	case err != nil && !errors.Is(err, ir.ErrNotAbsolute):
		return ir.Path{}, pathFault(t, root, rest, err)
	case strings.ContainsFunc(rest, diag.Hidden):
		return ir.Path{}, pathControlCharacter(t)
	case wildcard >= 0:
		return ir.Path{}, pathWildcard(t, rest[wildcard:wildcard+1], rest[:wildcard], root, in)
	}
	return p, nil
}

// slotRoot is the root of a slot that lang lets stand.
func slotRoot(name string) ir.Root {
	root, ok := ir.RootNamed(name)
	if !ok || root == ir.Config {
		diag.Bug("slot %q has no root", name)
	}
	return root
}

// text is t for people: slots as ${workspace}, fields as <name>.
func text(t lang.Text) string { return value(t).String() }

// value is t as parts of the IR.
func value(t lang.Text) ir.Value {
	var v ir.Value
	for _, p := range t.Parts {
		switch p.Kind {
		case lang.LiteralPart:
			v = append(v, ir.Literal(p.Text))
		case lang.SlotPart:
			v = append(v, ir.SlotRef(slotRoot(p.Text)))
		case lang.FieldPart:
			v = append(v, ir.FieldRef(p.Text))
		default:
			diag.Bug("part of kind %d at %s", p.Kind, t.Range)
		}
	}
	return v
}

// spelt is the path that rest below root is written as.
func spelt(root ir.Root, rest string) string {
	if root == ir.Host {
		return rest
	}
	return "${" + root.String() + "}" + rest
}

// program is the path of an executable: plain, for optional() and only() speak of
// what a list of a filesystem block grants.
func (c *compilation) program(b *body, p lang.Path) (ir.Path, bool) {
	if p.Modifier != lang.Plain {
		c.find(b, programModifier(p))
		return ir.Path{}, false
	}
	at, fault := placeIn(p.Text, programList)
	if fault != nil {
		c.find(b, *fault)
		return ir.Path{}, false
	}
	return at, true
}

// pathFault gives the words for what ir.NewPath found.
func pathFault(t lang.Text, root ir.Root, rest string, err error) *diag.Diagnostic {
	switch {
	case errors.Is(err, ir.ErrDotDot):
		return pathDotDot(t, root, rest)
	case errors.Is(err, ir.ErrControlCharacter):
		return pathControlCharacter(t)
	case errors.Is(err, ir.ErrNotUTF8):
		return pathNotUTF8(t)
	case errors.Is(err, ir.ErrPathTooLong):
		return pathTooLong(t, rest)
	}
	diag.Bug("path %q: %v", rest, err)
	return nil
}

// pathDotDot reports a ".." and says what the path would be without it.
func pathDotDot(t lang.Text, root ir.Root, rest string) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: "path-dot-dot", At: t.Range}
	clean := path.Clean(strings.TrimLeft(rest, "/"))
	if root != ir.Host && (clean == ".." || strings.HasPrefix(clean, "../")) {
		d.Message = fmt.Sprintf(`path %s has a ".." component that leaves the slot`, shown(t))
		d.Help = "name the directory from / or from another slot"
		return d
	}
	would := strings.TrimSuffix(spelt(root, path.Clean("/"+rest)), "/")
	if would == "" {
		would = "/"
	}
	d.Message = fmt.Sprintf(`path %s has a ".." component; it would be %q`, shown(t), would)
	d.Help = fmt.Sprintf("write %q if that is what is meant", would)
	return d
}

// pathControlCharacter reports a line break, an escape or another byte that no
// terminal shows.
func pathControlCharacter(t lang.Text) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "path-control-character",
		At:      t.Range,
		Message: fmt.Sprintf("path %s has a control character", shown(t)),
		Help:    "rename the file, or name its directory",
	}
}

// pathNotUTF8 reports bytes that no release file can hold.
func pathNotUTF8(t lang.Text) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "path-not-utf8",
		At:      t.Range,
		Message: fmt.Sprintf("path %s is not valid UTF-8", shown(t)),
		Help:    "rename the file, or name its directory",
	}
}

// pathTooLong reports a path that the systems refuse (PATH_MAX and NAME_MAX).
func pathTooLong(t lang.Text, rest string) *diag.Diagnostic {
	message := fmt.Sprintf("a path of %d bytes is too long: at most 4095 in all", len(rest))
	for name := range strings.SplitSeq(rest, "/") {
		if len(name) > 255 {
			message = fmt.Sprintf("a name of %d bytes in a path is too long: at most 255", len(name))
		}
	}
	return &diag.Diagnostic{Code: "path-too-long", At: t.Range, Message: message, Help: "name a directory above it"}
}

// pathTilde reports a shell's word for the home directory.
func pathTilde(t lang.Text, rest string) *diag.Diagnostic {
	below := ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		below = rest[i:]
	}
	return &diag.Diagnostic{
		Code:    "path-tilde",
		At:      t.Range,
		Message: fmt.Sprintf("path %s begins with a tilde, which only a shell understands", shown(t)),
		Help:    fmt.Sprintf(`write "${home}%s"`, below),
	}
}

// pathWildcard reports a pattern where a path is meant literally. Naming the
// directory instead is harmless for what may be read; a deny would take too much
// away, and an execute give too much.
func pathWildcard(t lang.Text, sign, before string, root ir.Root, in list) *diag.Diagnostic {
	help := "name the directory: a rule covers everything below it"
	i := strings.LastIndexByte(before, '/')
	switch {
	case in == programList:
		help = "name the one program, by its full path"
	case in == denyList, in == executeList:
		help = "list each path, or make the list with a for expression"
	case root != ir.Host || i > 0 && before[0] == '/':
		help = fmt.Sprintf("name the directory, as in %q: a rule covers everything below it", spelt(root, before[:max(i, 0)]))
	}
	return &diag.Diagnostic{
		Code:    "path-wildcard",
		At:      t.Range,
		Message: fmt.Sprintf("path %s has %q in it, and paths have no wildcards", shown(t), sign),
		Help:    help,
	}
}

// slotInside reports a slot that does not begin its path.
func slotInside(t lang.Text, slot string) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "path-slot-position",
		At:      t.Range,
		Message: fmt.Sprintf("path %s has the slot %s inside it", shown(t), slot),
		Help:    fmt.Sprintf(`a slot is an absolute path: begin with it, as in "${%s}/x"`, slot),
	}
}

// slotGlued reports text that would continue the slot's own name.
func slotGlued(t lang.Text, slot, rest string) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "path-slot-slash",
		At:      t.Range,
		Message: fmt.Sprintf("path %s names a neighbour of the slot %s, not something below it", shown(t), slot),
		Help:    fmt.Sprintf(`write "${%s}/%s"`, slot, rest),
	}
}

// programModifier reports optional() or only() around an executable.
func programModifier(p lang.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "executable-modifier",
		At:      p.Range,
		Message: "an executable is a plain path, without optional() or only()",
		Help:    fmt.Sprintf("write %s; optional() and only() belong into a filesystem block", shown(p.Text)),
	}
}

// shown is t in quotes for a message, cut when it is long.
func shown(t lang.Text) string {
	const most = 120
	s := text(t)
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
}
