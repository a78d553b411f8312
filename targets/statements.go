package targets

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// statements holds operations and rules to each other, one for one: what a rule
// is backed by, where it may be missing, whose statement it is. Answers to
// requests do not tell the host's /proc from the sandbox's own.
func (v *validator) statements() error {
	stated := map[ir.Path]bwrap.Operation{}
	for _, o := range v.read.Set.Operations {
		if o.States() {
			stated[o.Path] = o
		}
	}
	files := map[ir.Path]bool{}
	devices := false
	for _, r := range v.policy.Files {
		files[r.Path] = true
		if r.Backing == ir.DevFS {
			devices = true
			continue
		}
		if o, ok := stated[r.Path]; !ok || !comesFrom(o, r) {
			return v.differs(bwrapFile, "nothing in it is the rule %s (%s)", r, r.Origin)
		}
		delete(stated, r.Path)
	}
	for _, r := range v.policy.Execute {
		o, ok := stated[r.Path]
		if ok && o.Verb == bwrap.Pin && o.Optional == r.Optional && o.Origin == r.Origin {
			delete(stated, r.Path)
		}
	}
	for _, o := range stated {
		if o.Verb != bwrap.Dev || !devices || !v.deviceRoot(o) {
			return v.differs(bwrapFile, "%s %s comes from no rule of the policy", o.Verb, o.Path)
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
