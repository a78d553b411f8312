package compiler

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// settings reads what is one word for a whole body: targets, workspace, unix.
func settings(c *compilation) {
	for _, b := range c.bodies {
		if !b.source.Template {
			b.targets = c.targets(b)
			if v := b.source.Version; v.Value > mostInteger {
				c.find(b, versionTooLarge(v))
			}
		}
		c.setting(b, workspaceKind, "workspace", b.source.Workspace)
		c.setting(b, unixKind, "network.unix", b.source.Network.Unix)
		c.setting(b, loopbackKind, "network.loopback", b.source.Network.Loopback)
	}
}

// setting states s if it is there. lang has seen to it that it is a known word.
func (c *compilation) setting(b *body, k kind, place string, s lang.String) {
	if !s.Range.IsZero() {
		b.add(key{kind: k}, s.Value, place, s.Range)
	}
}

// targets are what the policy is compiled for, sorted; all unless it says.
func (c *compilation) targets(b *body) []ir.Target {
	if b.source.Targets == nil {
		return []ir.Target{ir.Bwrap, ir.Seatbelt}
	}
	var out []ir.Target
	for _, t := range b.source.Targets {
		if c.promised(isTarget(t.Value), "an unknown target", t.Range) {
			out = append(out, ir.Target(t.Value))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func isTarget(name string) bool {
	return name == string(ir.Bwrap) || name == string(ir.Seatbelt)
}

// promised reports whether ok holds, which lang promises of every configuration
// in which it found no error.
func (c *compilation) promised(ok bool, what string, at diag.Range) bool {
	if !ok && !c.config.Partial {
		diag.Bug("lang let pass %s at %s", what, at)
	}
	return ok
}

// versionTooLarge reports a version that some reader of the release would round.
func versionTooLarge(v lang.Integer) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "version-range",
		At:      v.Range,
		Message: fmt.Sprintf("version %d is larger than a version may be", v.Value),
		Help:    fmt.Sprintf("count versions from 1; the largest is %d", mostInteger),
	}
}
