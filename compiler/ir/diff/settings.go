package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Grants that no request asks for: each is compared by name.

// environment compares what is handed to commands.
func (c *comparison) environment() {
	name := func(v ir.Variable) string { return v.Name }
	match(c.policies[before].Environment, c.policies[after].Environment, name, func(old, new *ir.Variable) {
		switch {
		case old == nil:
			text := assigned(*new)
			c.tell(beyond(VariableAdded, "environment "+new.Name, text, nil, &Statement{text, new.Origin}))
		case new == nil:
			text := assigned(*old)
			c.tell(beyond(VariableRemoved, "environment "+old.Name, text, &Statement{text, old.Origin}, nil))
		case !slices.Equal(old.Value, new.Value):
			was, is := assigned(*old), assigned(*new)
			c.tell(beyond(VariableChanged, "environment "+new.Name, is, &Statement{was, old.Origin}, &Statement{is, new.Origin}))
		}
	})
}

func assigned(v ir.Variable) string { return v.Name + "=" + valueText(v.Value) }

// valueText is a value so that no two values read alike: text in quotes, slots and
// fields outside of them.
func valueText(v ir.Value) string {
	if len(v) == 0 {
		return `""`
	}
	parts := make([]string, len(v))
	for i, p := range v {
		if text, ok := p.(ir.Literal); ok {
			parts[i] = strconv.Quote(string(text))
		} else {
			parts[i] = ir.Value{p}.String()
		}
	}
	return strings.Join(parts, " ")
}

// limits compares bounds on resources.
func (c *comparison) limits() {
	name := func(l ir.Limit) ir.LimitName { return l.Name }
	match(c.policies[before].Limits, c.policies[after].Limits, name, func(old, new *ir.Limit) {
		switch {
		case cmp.Or(new, old).Name == ir.TmpSize:
			return // the rule for the tmp slot has that size, and tells
		case old == nil:
			c.tell(beyond(LimitAdded, "limit "+string(new.Name), more(new.Name, new.Value+1), nil, limitStatement(new)))
		case new == nil:
			c.tell(beyond(LimitRemoved, "limit "+string(old.Name), more(old.Name, old.Value+1), limitStatement(old), nil))
		case new.Value > old.Value:
			c.tell(beyond(LimitRaised, "limit "+string(new.Name), more(new.Name, new.Value), limitStatement(old), limitStatement(new)))
		case new.Value < old.Value:
			c.tell(beyond(LimitLowered, "limit "+string(new.Name), more(new.Name, old.Value), limitStatement(old), limitStatement(new)))
		}
		if old != nil && new != nil && old.Scope != new.Scope {
			c.limitScope(old, new)
		}
	})
}

// limitScope compares what has to keep a limit that both policies state.
func (c *comparison) limitScope(old, new *ir.Limit) {
	kind := LimitLowered
	if new.Scope == "" {
		kind = LimitRaised
	}
	witness := fmt.Sprintf("pass the limit of %s between two looks, where it is only watched", new.Name)
	c.tell(beyond(kind, "scope of the limit "+string(new.Name), witness, limitStatement(old), limitStatement(new)))
}

func limitStatement(l *ir.Limit) *Statement {
	text := string(l.Name) + " = " + amount(l.Name, l.Value)
	if l.Scope != "" {
		text += ", scope = " + string(l.Scope)
	}
	return &Statement{text, l.Origin}
}

// more is a use of the resource that one policy alone allows.
func more(name ir.LimitName, n int64) string { return "use " + amount(name, n) + " of " + string(name) }

// amount is a limit's value with its unit.
func amount(name ir.LimitName, n int64) string {
	switch name {
	case ir.Timeout:
		return fmt.Sprintf("%d ms", n)
	case ir.CPUTime:
		return fmt.Sprintf("%d s", n)
	case ir.Memory, ir.FileSize, ir.TmpSize, ir.WorkspaceSize, ir.Stdout, ir.Stderr:
		return fmt.Sprintf("%d bytes", n)
	}
	return strconv.FormatInt(n, 10)
}

// system compares what of macOS beside files is reached, name by name.
func (c *comparison) system() {
	old, new := c.policies[before].System, c.policies[after].System
	for _, list := range []struct {
		word     string
		old, new []ir.Name
	}{
		{"service", old.Services, new.Services}, {"sysctl", old.Sysctls, new.Sysctls},
		{"ipc", old.IPC, new.IPC}, {"iokit", old.IOKit, new.IOKit},
	} {
		match(list.old, list.new, func(n ir.Name) string { return n.Name }, func(old, new *ir.Name) {
			switch {
			case old == nil:
				text := list.word + " " + new.Name
				c.tell(beyond(NameAdded, text, text, nil, &Statement{text, new.Origin}))
			case new == nil:
				text := list.word + " " + old.Name
				c.tell(beyond(NameRemoved, text, text, &Statement{text, old.Origin}, nil))
			}
		})
	}
}

// reach ranks kinds of workspaces: a shared one is the caller's own directory,
// and nothing said is that for obspc exec alone.
var reaches = map[ir.WorkspaceKind]int{ir.FreshWorkspace: 0, ir.ByCommand: 1, ir.SharedWorkspace: 2}

// workspace compares whose directory the workspace is.
func (c *comparison) workspace() {
	old, new := c.policies[before].Workspace, c.policies[after].Workspace
	if old == new {
		return
	}
	kind, wider := WorkspaceWidened, new
	if reaches[new] < reaches[old] {
		kind, wider = WorkspaceNarrowed, old
	}
	witness := "a governed command in the caller's own directory"
	if wider == ir.ByCommand {
		witness = "obspc exec in the caller's own directory"
	}
	c.tell(beyond(kind, "workspace", witness, &Statement{Text: workspaceText(old)}, &Statement{Text: workspaceText(new)}))
}

func workspaceText(k ir.WorkspaceKind) string {
	if k == ir.ByCommand {
		return "workspace not stated: fresh for governed commands, shared for obspc exec"
	}
	return fmt.Sprintf("workspace = %q", k)
}

// configuration compares the place for the carve-out over obspc's own
// configuration, which a policy needs as soon as something of the host can be
// written.
func (c *comparison) configuration() {
	var rule [2]*ir.FileRule
	for side, p := range c.policies {
		writes := false
		for i := range p.Files {
			r := &p.Files[i]
			if r.Path.Root() == ir.Config {
				rule[side] = r
			}
			writes = writes || r.Level == ir.Write && r.Backing == ir.HostFile
		}
		if !writes {
			return // the writes that come or go tell
		}
	}
	const subject, witness = "what obspc trusts", "write ${config}/_ when the configuration lies inside a write"
	switch old, new := rule[before], rule[after]; {
	case old != nil && new == nil:
		c.tell(beyond(ProtectionRemoved, subject, witness, &Statement{old.String(), old.Origin}, nil))
	case old == nil && new != nil:
		c.tell(beyond(ProtectionAdded, subject, witness, nil, &Statement{new.String(), new.Origin}))
	}
}

// targets compares the systems that the policy is compiled for: on one more, all
// of it is granted anew.
func (c *comparison) targets() {
	name := func(t ir.Target) ir.Target { return t }
	match(c.policies[before].Targets, c.policies[after].Targets, name, func(old, new *ir.Target) {
		switch {
		case old == nil:
			text := "target " + string(*new)
			c.tell(beyond(TargetAdded, text, "run on "+string(*new), nil, &Statement{Text: text}))
		case new == nil:
			text := "target " + string(*old)
			c.tell(beyond(TargetRemoved, text, "run on "+string(*old), &Statement{Text: text}, nil))
		}
	})
}

// waivers compares what is accepted not to be enforced. Another reason is none of
// the meaning, nor is a waiver of what the target keeps or is tighter about: that
// silences a warning.
func (c *comparison) waivers() {
	type key = string
	name := func(w ir.Waiver) key { return string(w.Target) + " does not enforce " + string(w.Feature) }
	match(c.policies[before].Waivers, c.policies[after].Waivers, name, func(old, new *ir.Waiver) {
		either := cmp.Or(new, old)
		kept := c.keeps != nil && c.keeps(either.Target, either.Feature)
		switch {
		case old == nil && kept:
			c.note(fmt.Sprintf("%s is waived for %s now, which keeps it or denies more: no grant changes", new.Feature, new.Target))
		case new == nil && kept:
			c.note(fmt.Sprintf("%s is no longer waived for %s, which keeps it or denies more: no grant changes", old.Feature, old.Target))
		case old == nil:
			c.tell(beyond(WaiverAdded, "waiver", name(*new), nil, waiverStatement(new)))
		case new == nil:
			c.tell(beyond(WaiverRemoved, "waiver", name(*old), waiverStatement(old), nil))
		case old.Reason != new.Reason:
			c.note(fmt.Sprintf("%s for another reason: %q, no longer %q", name(*new), new.Reason, old.Reason))
		}
	})
}

func waiverStatement(w *ir.Waiver) *Statement {
	return &Statement{fmt.Sprintf("waive %q { features = [%q], reason = %q }", w.Target, w.Feature, w.Reason), w.Origin}
}
