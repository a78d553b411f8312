// Package conform is the suite that a target is put through: policies over a tree,
// every request that can be made of it, and the count of what was asked. Here is
// what needs no machine: what a policy's statements mean, which requests a tree
// gives, to which class each belongs, and whether enough of each were tried. The
// tests draw the policies and ask a kernel; a target is known here only by what it
// answers.
package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// memory is the size of every memory file system, in bytes.
const memory = 1 << 20

// minimalDevices is what system.devices = "minimal" states: path and level; "+"
// for all below.
var minimalDevices = []struct{ path, level string }{
	{"/dev", "read"}, {"/dev/core", "read"}, {"/dev/fd", "read"}, {"/dev/full", "write"}, {"/dev/null", "write"}, {"/dev/ptmx", "read"},
	{"/dev/pts", "write+"}, {"/dev/random", "write"}, {"/dev/stderr", "read"}, {"/dev/stdin", "read"}, {"/dev/stdout", "read"},
	{"/dev/tty", "write"}, {"/dev/urandom", "write"}, {"/dev/zero", "write"},
}

var levels = map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}

// Policy is the policy "p" for Linux that the statements make: "read PATH",
// "write PATH", "deny PATH", "execute PATH", each with "only" or "optional" before
// it, and "devices", "shm", "tmp", "visible". What the compiler adds to every
// policy is added here.
func Policy(statements ...string) (*ir.Policy, error) {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS, Origin: "builtin/proc"})
	for _, text := range statements {
		if err := state(p, text, slices.Contains(statements, "shm")); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(p.Files, func(r ir.FileRule) bool { return r.Level == ir.Write && r.Backing == ir.HostFile }) {
		p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Config), Level: ir.Read, Optional: true, Origin: "builtin/config"})
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	return p, p.Check()
}

// state adds one statement. shm tells whether /dev/shm has one of its own.
func state(p *ir.Policy, text string, shm bool) error {
	origin := ir.Origin("p/" + text)
	switch text {
	case "devices":
		for _, d := range minimalDevices {
			level, all := strings.CutSuffix(d.level, "+")
			p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath(d.path), Level: levels[level], Only: !all, Backing: ir.DevFS, Origin: origin})
		}
		if !shm {
			p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Read, Only: true, Backing: ir.DevFS, Origin: origin})
		}
		return nil
	case "shm":
		p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Write, Backing: ir.TmpFS, Size: memory, Origin: origin})
		return nil
	case "tmp":
		p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Tmp), Level: ir.Write, Backing: ir.TmpFS, Size: memory, Origin: origin})
		return nil
	case "visible":
		p.Unix = ir.UnixRule{Visible: true, Origin: origin}
		return nil
	}
	return statePath(p, text, origin)
}

func statePath(p *ir.Policy, text string, origin ir.Origin) error {
	words := strings.Fields(text)
	if len(words) < 2 {
		return fmt.Errorf("statement %q has no path", text)
	}
	path, err := ir.ParsePath(words[len(words)-1])
	if err != nil {
		return fmt.Errorf("statement %q: %w", text, err)
	}
	word, how := words[len(words)-2], words[:len(words)-2]
	only, optional := slices.Contains(how, "only"), slices.Contains(how, "optional")
	if word == "execute" {
		p.Execute = append(p.Execute, ir.ExecuteRule{Path: path, Only: only, Optional: optional, Origin: origin})
		return nil
	}
	level, known := levels[word]
	if !known {
		return fmt.Errorf("statement %q: no word %q", text, word)
	}
	p.Files = append(p.Files, ir.FileRule{Path: path, Level: level, Only: only, Optional: optional, Origin: origin})
	return nil
}
