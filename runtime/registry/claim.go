// Package registry keeps the live runs of one user on one machine apart: what each
// may do to names of the host, which names each relies on, and what each has made
// there and not yet taken away. Its one rule: a run is registered before it can do
// harm, and a run that is gone frees its entry, however it ended, because the
// kernel drops its lock. How a policy is enforced, and how what a dead run left is
// removed, is the runtime's.
package registry

import (
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Claim is what one run may do to names of the host, and which names it relies on.
type Claim struct {
	Policy string // its name
	// Files and Execute are the rules that say which names the run may make, remove
	// and move: all that stand at or below one of its writes.
	Files   []ir.FileRule
	Execute []ir.ExecuteRule
	// Writes are the directories and files that the run may write, as they were found.
	Writes []Node
	// Keeps are the names that something is mounted on for the run, or that it must
	// not see come to be.
	Keeps []ir.Path
	// Trusts are what obspc trusts for this run or reads for the next one: files, or
	// directories with all that is in them.
	Trusts []ir.Path
	// Way is every directory that leads to what is kept or trusted, and what is
	// trusted itself.
	Way []Node

	decider *ir.Decider
}

// Node is a node of the host and the path that led there, without links.
type Node struct {
	Path     ir.Path
	Dev, Ino uint64
}

// NewClaim is the claim of a run under p, bound and less the optional rules whose
// paths are missing. stat finds a node; what it does not find is left out.
func NewClaim(p *ir.Policy, trusts []ir.Path, stat func(ir.Path) (Node, bool)) *Claim {
	c := &Claim{Policy: p.Name, Trusts: trusts}
	rules := make(map[ir.Path]*ir.FileRule, len(p.Files))
	for i := range p.Files {
		if r := &p.Files[i]; r.Path.Root() == ir.Host {
			rules[r.Path] = r
		}
	}
	for i := range p.Files {
		r := &p.Files[i]
		if r.Path.Root() != ir.Host {
			continue
		}
		if inWrite(rules, r.Path) {
			c.Files = append(c.Files, ir.FileRule{Path: r.Path, Level: r.Level, Only: r.Only, Backing: r.Backing})
		}
		if r.Backing != ir.HostFile {
			continue
		}
		if r.Level == ir.Write {
			if n, ok := stat(r.Path); ok {
				c.Writes = append(c.Writes, n)
			}
		}
		if kept(r.Level, around(rules, r.Path)) {
			c.Keeps = append(c.Keeps, r.Path)
		}
	}
	for _, r := range p.Execute {
		if r.Path.Root() == ir.Host && inWrite(rules, r.Path) {
			c.Execute = append(c.Execute, ir.ExecuteRule{Path: r.Path, Only: r.Only})
			if rules[r.Path] == nil {
				c.Keeps = append(c.Keeps, r.Path)
			}
		}
	}
	c.lead(stat)
	return c
}

// inWrite reports whether p is, or lies below, the path of a write.
func inWrite(rules map[ir.Path]*ir.FileRule, p ir.Path) bool {
	for at := range p.Upward() {
		if r := rules[at]; r != nil && r.Level == ir.Write && r.Backing == ir.HostFile {
			return true
		}
	}
	return false
}

// around is the rule that decides p if none names it; nil when none does.
func around(rules map[ir.Path]*ir.FileRule, p ir.Path) *ir.FileRule {
	for at, ok := p.Parent(); ok; at, ok = at.Parent() {
		if r := rules[at]; r != nil && !r.Only {
			return r
		}
	}
	return nil
}

// kept reports whether a rule of that level, with outer around it, stands on a name
// of the host: what it says is then lost when the name changes. A read inside a
// read says nothing, and what stands in memory of the run's own nobody else
// reaches.
func kept(l ir.Level, outer *ir.FileRule) bool {
	return outer != nil && outer.Backing == ir.HostFile && outer.Level > ir.Deny && !(l == ir.Read && outer.Level == ir.Read)
}

// lead notes what leads to the names.
func (c *Claim) lead(stat func(ir.Path) (Node, bool)) {
	seen := map[ir.Path]bool{}
	note := func(at ir.Path) {
		if n, ok := stat(at); ok {
			c.Way = append(c.Way, n)
		}
	}
	up := func(p ir.Path) {
		for at, ok := p.Parent(); ok && !seen[at]; at, ok = at.Parent() {
			seen[at] = true
			note(at)
		}
	}
	for _, p := range c.Keeps {
		up(p)
	}
	for _, p := range c.Trusts {
		up(p)
		if !seen[p] {
			seen[p] = true
			note(p)
		}
	}
}

// Conflict is a name that one of two runs relies on and the other could change.
type Conflict struct {
	// Path is what one relies on, As the name that the other has for it.
	Path, As ir.Path
	// First: the first of the two could change it; else the second.
	First bool
	// Trusted: obspc reads what is there, as a policy, pins or a release.
	Trusted bool
}

// Between finds what keeps two runs from being live at once; nil when nothing
// does. below lists what the machine has mounted below a path: there a run reaches
// directories that have other names as well.
func Between(a, b *Claim, below func(ir.Path) []Node) *Conflict {
	if c := a.moves(b, below); c != nil {
		c.First = true
		return c
	}
	return b.moves(a, below)
}

// moves finds a name that k relies on and that a run with claim c could change.
func (c *Claim) moves(k *Claim, below func(ir.Path) []Node) *Conflict {
	if len(c.Writes) == 0 || len(k.Keeps)+len(k.Trusts) == 0 {
		return nil
	}
	names := c.aliases(k, below)
	for _, p := range k.Keeps {
		for _, as := range names(p) {
			if c.may(ir.RemoveRequest, as) {
				return &Conflict{Path: p, As: as}
			}
		}
	}
	for _, p := range k.Trusts {
		for _, as := range names(p) {
			if c.may(ir.WriteRequest, as) || c.writesBelow(as) {
				return &Conflict{Path: p, As: as, Trusted: true}
			}
		}
	}
	return nil
}

// aliases gives, for a name that k relies on, the names under which c may reach it:
// its own, and those below a directory of c that is one of those that lead there.
func (c *Claim) aliases(k *Claim, below func(ir.Path) []Node) func(ir.Path) []ir.Path {
	type inode struct{ dev, ino uint64 }
	way := make(map[inode]ir.Path, len(k.Way))
	for _, n := range k.Way {
		way[inode{n.Dev, n.Ino}] = n.Path
	}
	type alias struct{ theirs, ours ir.Path }
	var found []alias
	for _, w := range c.Writes {
		for _, n := range append(below(w.Path), w) {
			if theirs, ok := way[inode{n.Dev, n.Ino}]; ok && theirs != n.Path {
				found = append(found, alias{theirs, n.Path})
			}
		}
	}
	return func(p ir.Path) []ir.Path {
		out := []ir.Path{p}
		for _, a := range found {
			if a.theirs.Covers(p) {
				out = append(out, a.ours.Join(strings.TrimPrefix(p.Rel()[len(a.theirs.Rel()):], "/")))
			}
		}
		return out
	}
}

// may reports whether the run may do so to the host's own p.
func (c *Claim) may(kind ir.RequestKind, p ir.Path) bool {
	if c.decider == nil {
		c.decider = ir.NewDecider(&ir.Policy{Files: c.Files, Execute: c.Execute})
	}
	answer := c.decider.Decide(ir.Request{Kind: kind, Path: p})
	rule, ok := answer.Rule.(*ir.FileRule)
	return answer.Allow && ok && rule.Backing == ir.HostFile
}

// writesBelow reports whether one of the run's writes lies below p.
func (c *Claim) writesBelow(p ir.Path) bool {
	for _, w := range c.Writes {
		if p.Covers(w.Path) {
			return true
		}
	}
	return false
}
