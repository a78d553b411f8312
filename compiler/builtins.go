package compiler

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// device is one node of the minimal /dev that bubblewrap's --dev makes
// (bubblewrap 0.8.0 manual, --dev): its level, and whether what lies below
// counts too.
type device struct {
	path  string
	level ir.Level
	only  bool
}

// minimalDevices is what system.devices = "minimal" states. The links lead to
// /proc/self/fd, /proc/kcore and pts/ptmx.
var minimalDevices = []device{
	{"/dev", ir.Read, true},
	{"/dev/core", ir.Read, true},
	{"/dev/fd", ir.Read, true},
	{"/dev/ptmx", ir.Read, true},
	{"/dev/stderr", ir.Read, true},
	{"/dev/stdin", ir.Read, true},
	{"/dev/stdout", ir.Read, true},
	{"/dev/full", ir.Write, true},
	{"/dev/null", ir.Write, true},
	{"/dev/random", ir.Write, true},
	{"/dev/tty", ir.Write, true},
	{"/dev/urandom", ir.Write, true},
	{"/dev/zero", ir.Write, true},
	{"/dev/pts", ir.Write, false},
}

// builtins states what follows from system.devices and system.shm, what the tmp
// slot is, and what every policy has.
func builtins(c *compilation) {
	for _, d := range c.drafts {
		have := map[key]*statement{}
		for _, s := range d.merged {
			have[s.key] = s
		}
		if s := have[key{kind: devicesKind}]; s != nil && s.value == "minimal" {
			for _, v := range minimalDevices {
				d.state(have, ir.FileRule{Path: ir.MustPath(v.path), Level: v.level, Only: v.only, Backing: ir.DevFS}, s.origin, s.at)
			}
			// --dev makes an empty, read-only /dev/shm where no memory is asked for.
			if have[key{kind: shmKind}] == nil {
				d.state(have, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Read, Only: true, Backing: ir.DevFS}, s.origin, s.at)
			}
		}
		if s := have[key{kind: shmKind}]; s != nil {
			d.state(have, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Write, Backing: ir.TmpFS, Size: s.value.(int64)}, s.origin, s.at)
		}
		header := d.body.source.Range
		d.state(have, ir.FileRule{Path: proc, Level: ir.Read, Backing: ir.ProcFS}, "builtin/proc", header)
		if d.writes() {
			d.state(have, ir.FileRule{Path: ir.RootPath(ir.Config), Level: ir.Read, Optional: true}, "builtin/config", header)
		}
		if have[key{kind: unixKind}] == nil {
			d.merged = append(d.merged, &statement{key: key{kind: unixKind}, value: "none", origin: "builtin/unix", at: header, body: d.body})
		}
		c.tmpApart(d)
	}
}

// state adds a file rule. A statement of the same level about the path stays as
// the reader's own and is met by the rule's backing; another level wins over it.
// A whole directory is more than its node alone, and wins too.
func (d *draft) state(have map[key]*statement, r ir.FileRule, origin ir.Origin, at diag.Range) {
	s := have[key{kind: fileKind, path: r.Path}]
	if s == nil {
		s = &statement{key: key{kind: fileKind, path: r.Path}, value: r, origin: origin, at: at, body: d.body}
		d.merged = append(d.merged, s)
		return
	}
	stated := s.value.(ir.FileRule)
	if stated.Level != r.Level || r.Path == ir.MustPath("/dev") && !stated.Only {
		return
	}
	met := *s
	met.value = r
	have[s.key] = &met
	for i := range d.merged {
		if d.merged[i] == s {
			d.merged[i] = &met
		}
	}
}

// writes reports whether something of the host can be written.
func (d *draft) writes() bool {
	for _, s := range d.merged {
		if r, ok := s.value.(ir.FileRule); ok && r.Level == ir.Write && r.Backing == ir.HostFile {
			return true
		}
	}
	return false
}

// tmpApart reports paths that the tmp slot would hide: it lies at /tmp on Linux.
func (c *compilation) tmpApart(d *draft) {
	var tmp *statement
	for _, s := range d.merged {
		if s.key == (key{kind: fileKind, path: ir.RootPath(ir.Tmp)}) {
			tmp = s
		}
	}
	if tmp == nil || !has(d.body.targets, ir.Bwrap) {
		return
	}
	for _, s := range d.merged {
		if (s.key.kind == fileKind || s.key.kind == executeKind) && ir.MustPath("/tmp").Covers(s.key.path) {
			c.find(d.body, tmpOverlap(s, tmp))
		}
	}
}

func has(targets []ir.Target, t ir.Target) bool {
	for _, have := range targets {
		if have == t {
			return true
		}
	}
	return false
}

// tmpOverlap reports a path of the host that no run on Linux could see.
func tmpOverlap(s, tmp *statement) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "tmp-overlap",
		At:      s.at,
		Message: "on Linux the tmp slot lies at /tmp and hides " + s.key.path.String(),
		Help:    "name another directory, or leave tmp out",
		Related: []diag.Related{{At: tmp.at, Message: "tmp is written here"}},
	}
	if tmp.body != s.body {
		d.Help = fmt.Sprintf("name another directory: %s writes tmp", tmp.body.name)
	}
	return d
}
