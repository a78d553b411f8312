package targets

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// statements holds operations and rules to each other, one for one: what a rule
// is backed by, where it may be missing, whose statement it is. Answers to
// requests do not tell the host's /proc from the sandbox's own.
func (v *validator) statements() error {
	stated := make(map[ir.Path]*bwrap.Operation, len(v.read.Set.Operations))
	for i := range v.read.Set.Operations {
		if o := &v.read.Set.Operations[i]; o.States() {
			stated[o.Path] = o
		}
	}
	devices := false
	for _, r := range v.policy.Files {
		if r.Backing == ir.DevFS {
			devices = true
			continue
		}
		if o, ok := stated[r.Path]; !ok || !comesFrom(*o, r) {
			return v.lacks(bwrapFile, r.Origin, "nothing in it is the rule %s (%s)", r, r.Origin)
		}
		delete(stated, r.Path)
	}
	for _, r := range v.policy.Execute {
		o, ok := stated[r.Path]
		if ok && o.Verb == bwrap.Pin && o.Optional == r.Optional && o.Origin == r.Origin {
			delete(stated, r.Path)
		}
	}
	for i := range v.read.Set.Operations {
		o := &v.read.Set.Operations[i]
		if stated[o.Path] != o {
			continue
		}
		if o.Verb != bwrap.Dev || !devices || !v.deviceRoot(*o) {
			return v.differsAt(bwrapFile, v.line(*o), "%s %s comes from no rule of the policy", o.Verb, o.Path)
		}
	}
	return nil
}

// comesFrom reports whether the operation is what the rule asks for.
func comesFrom(o bwrap.Operation, r ir.FileRule) bool {
	if o.Origin != r.Origin || o.Optional != r.Optional || o.Size != r.Size {
		return false
	}
	switch {
	case r.Backing == ir.ProcFS:
		return o.Verb == bwrap.Proc
	case r.Backing == ir.TmpFS:
		return o.Verb == bwrap.Tmpfs
	case r.Level == ir.Deny:
		return o.Verb == bwrap.Mask && o.Only == r.Only
	case r.Level == ir.Write:
		return o.Verb == bwrap.Bind && o.Level == ir.Write && o.Only == r.Only
	case o.Verb == bwrap.Skeleton:
		return r.Only
	}
	return (o.Verb == bwrap.LinkOrBind || o.Verb == bwrap.Bind && o.Level == ir.Read) && o.Only == r.Only
}

// deviceRoot reports whether the policy states the minimal /dev where the
// operation makes it.
func (v *validator) deviceRoot(o bwrap.Operation) bool {
	for _, r := range v.policy.Files {
		if r.Path == o.Path {
			return r.Backing == ir.DevFS && r.Origin == o.Origin
		}
	}
	return false
}

// landlockStatements holds the Landlock rules to the policy's, one for one. What
// the mounts do not show cannot be read or started, so answers to requests do not
// tell a foreign rule for it from none, nor whether a rule may be missing on some
// machine.
func (v *validator) landlockStatements() error {
	rules := v.read.Landlock
	var execute, read, write []landlock.Rule
	for _, r := range v.policy.Execute {
		if rules.Programs { // else there is no rule of /execute
			execute = append(execute, landlock.Rule{Path: r.Path, Only: r.Only, Optional: r.Optional, Origin: r.Origin})
		}
	}
	for _, r := range v.policy.Files {
		rule := landlock.Rule{Path: r.Path, Only: r.Only, Optional: r.Optional, Origin: r.Origin}
		switch r.Level {
		case ir.Read:
			read = append(read, rule)
		case ir.Write:
			write = append(write, rule)
		}
	}
	for _, c := range []struct {
		list       string
		have, want []landlock.Rule
	}{{"execute", rules.Execute, execute}, {"read", rules.Read, read}, {"write", rules.Write, write}} {
		if slices.Equal(c.have, c.want) { // both are sorted by path
			continue
		}
		for i, r := range c.have {
			if !slices.Contains(c.want, r) {
				return v.differsAt(landlockFile, landlockMember(c.list, i, r), "%s of %s (%s) comes from no rule of the policy", c.list, r.Path, r.Origin)
			}
		}
		for _, r := range c.want {
			if !slices.Contains(c.have, r) {
				return v.lacks(landlockFile, r.Origin, "nothing in it is %s of %s (%s)", c.list, r.Path, r.Origin)
			}
		}
	}
	return nil
}
