package compiler

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// DefaultTmpSize is the capacity in bytes of the tmp slot.
const DefaultTmpSize = 256 << 20

// proc is where every Linux sandbox has the /proc of its own processes.
var proc = ir.MustPath("/proc")

// files places every path of the filesystem blocks.
func files(c *compilation) {
	for _, b := range c.bodies {
		fs := b.source.Filesystem
		c.level(b, writeList, ir.Write, fs.Write)
		c.level(b, readList, ir.Read, fs.Read)
		c.level(b, denyList, ir.Deny, fs.Deny)
		c.execute(b, fs.Execute)
	}
}

// level states the rules of one list.
func (c *compilation) level(b *body, in list, level ir.Level, paths []lang.Path) {
	for i, p := range paths {
		at, fault := placeIn(p.Text, in)
		switch {
		case fault != nil:
			c.lose(b, *fault)
			continue
		case level == ir.Write && at == ir.Path{}:
			c.lose(b, pathTooBroad(p))
			continue
		case at.Root() == ir.Tmp && (level != ir.Write || !at.IsRoot() || p.Modifier != lang.Plain):
			c.find(b, tmpBelow(p))
			continue
		case proc.Covers(at):
			c.find(b, procStated(p, level))
			continue
		// What is wrong with these is not their place: they count in what is asked of
		// the others.
		case p.Modifier == lang.Only && level != ir.Read:
			c.find(b, onlyLevel(in, p))
		case p.Modifier == lang.Optional && level == ir.Deny:
			c.find(b, optionalDeny(p))
		case level == ir.Read && at == ir.Path{} && p.Modifier != lang.Only:
			c.find(b, readEverything(p))
		}
		r := ir.FileRule{Path: at, Level: level, Only: p.Modifier == lang.Only, Optional: p.Modifier == lang.Optional}
		if at.Root() == ir.Tmp {
			r.Backing, r.Size = ir.TmpFS, DefaultTmpSize
		}
		b.add(key{kind: fileKind, path: at}, r, fmt.Sprintf("filesystem.%s[%d]", in, i), p.Range)
	}
}

// execute states the rules of the execute list.
func (c *compilation) execute(b *body, paths []lang.Path) {
	for i, p := range paths {
		at, fault := placeIn(p.Text, executeList)
		switch {
		case fault != nil:
			c.lose(b, *fault)
		case at.Root() == ir.Tmp:
			c.find(b, tmpBelow(p))
		default:
			r := ir.ExecuteRule{Path: at, Only: p.Modifier == lang.Only, Optional: p.Modifier == lang.Optional}
			b.add(key{kind: executeKind, path: at}, r, fmt.Sprintf("filesystem.execute[%d]", i), p.Range)
		}
	}
}

// onlyLevel reports only() where one node without what lies below it has no
// meaning that every system keeps.
func onlyLevel(in list, p lang.Path) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "only-level",
		At:      p.Range,
		Message: fmt.Sprintf("only() stands in %s; it belongs into read and execute", in),
		Help:    fmt.Sprintf("for a file write %s; of a directory that would be all that lies below it", shown(p.Text)),
	}
	if in == denyList {
		d.Help = fmt.Sprintf("write %s, and read = [...] for what below it may be read all the same", shown(p.Text))
	}
	return d
}

// optionalDeny reports a protection that would vanish when its path is missing.
func optionalDeny(p lang.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "optional-protection",
		At:      p.Range,
		Message: "a deny cannot be optional: optional() may only add access",
		Help:    fmt.Sprintf("write %s: a deny holds for a path that is missing as well", shown(p.Text)),
	}
}

// pathTooBroad reports a write of everything.
func pathTooBroad(p lang.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "path-too-broad",
		At:      p.Range,
		Message: "a write of / is a write of the whole machine",
		Help:    "name the directories that are written, as in write = [workspace]",
	}
}

// readEverything warns of a read that leaves out nothing: what a command can read
// it can carry away as soon as it may write or connect anywhere.
func readEverything(p lang.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "read-everything",
		At:       p.Range,
		Message:  "a read of / is a read of everything that the caller may read, secrets included",
		Help:     "name the directories that are read, or deny every one that must not be",
	}
}

// tmpBelow reports anything about the tmp slot but its write as a whole: it is
// empty when the run starts.
func tmpBelow(p lang.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "tmp-below",
		At:      p.Range,
		Message: "the tmp slot is empty when a run starts, and is written as a whole or not at all",
		Help:    "write = [tmp] is all that can be said about it",
	}
}

// procStated reports a path below /proc, which obspc itself states: the sandbox
// has the /proc of its own processes, readable, and never the host's.
func procStated(p lang.Path, level ir.Level) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "proc-stated",
		At:      p.Range,
		Message: fmt.Sprintf("%s lies in /proc, which is the sandbox's own and readable, whatever a policy says", shown(p.Text)),
		Help:    "remove it",
	}
	if level == ir.Read {
		d.Severity = diag.Warning
	}
	return d
}
