// Package proof holds a Seatbelt profile, as its own bytes say, to what a policy
// means: every operation of every supported release, every class of paths, on every
// class of machines (design 5.7). Its one rule: what is wanted comes from the
// policy and from the tables here, and what is there from the profile's bytes; the
// package that writes profiles is not asked. The words in which profiles are
// written are for package fragment.
package proof

import (
	"cmp"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// Fault is where a profile does not mean what the policy means. Where a request
// tells them apart, it is there with what the policy says; otherwise Detail says
// what differs.
type Fault struct {
	Request   *ir.Request // about paths of Machine
	Decision  ir.Decision // the policy's; the profile's is the other one
	Operation string
	Release   operations.Release
	Machine   string
	Rule      *fragment.Rule // decides in the profile; nil where none does
	Detail    string

	binding ir.Binding
}

func (f *Fault) Error() string {
	if f.Request == nil {
		return f.Detail
	}
	return f.Request.String() + ": the policy and the profile differ (" + f.Where() + ")"
}

// Where is what was assumed of the machine.
func (f *Fault) Where() string {
	return f.Operation + " of macOS " + f.Release.String() + ", " + f.Machine
}

// Statement is the rule that decided for the policy, with its slots as the policy
// p has them; nil where none did.
func (f *Fault) Statement(p *ir.Policy) ir.Rule {
	switch bound := f.Decision.Rule.(type) {
	case *ir.FileRule:
		for i := range p.Files {
			if r := &p.Files[i]; f.binding.Path(resolve(r.Path)) == bound.Path {
				return r
			}
		}
	case *ir.ExecuteRule:
		for i := range p.Execute {
			if r := &p.Execute[i]; f.binding.Path(resolve(r.Path)) == bound.Path {
				return r
			}
		}
	}
	return f.Decision.Rule
}

// Check proves of the profile that it allows what the policy allows and nothing
// else, but for what package seatbelt declares to be tighter: names that differ
// from a protected one by case, and masks that nobody can know to be seen (hidden).
// The error is a *fragment.Error or a *Fault.
func Check(p *ir.Policy, profile []byte) error {
	read, err := fragment.Read(profile)
	if err != nil {
		return err
	}
	c := newCheck(p, read)
	if err := cmp.Or(c.distinct(), c.spellings(), c.proxy()); err != nil {
		return err
	}
	if err := c.tags(); err != nil {
		return err
	}
	for _, config := range []bool{false, true} {
		if err := c.operations(config); err != nil {
			return err
		}
	}
	if err := c.classes(); err != nil {
		return err
	}
	return c.order()
}

// check is one policy and one profile.
type check struct {
	policy  *ir.Policy // as macOS sees it
	stated  *ir.Policy
	profile *fragment.Profile
	paths   []ir.Path  // that either names
	lists   [2][]asked // about paths: without CONFIG, and with it
	fresh   string     // a name that nothing has
}

func newCheck(p *ir.Policy, profile *fragment.Profile) *check {
	c := &check{policy: onMac(p), stated: p, profile: profile}
	c.paths = pathsOf(c.policy, profile)
	return c
}

// asked is a list that answers a request word about a path, one for all operations
// and releases whose lists are alike.
type asked struct {
	word      ir.RequestKind
	operation string
	release   operations.Release
	list      fragment.List
}
