package runtime

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// survey is what was found on this machine at the paths a policy names.
type survey struct {
	policy *ir.Policy // bound
	facts  bwrap.Facts
	// writes are the paths of write rules: only inside them a missing name may have
	// to be kept missing.
	writes []ir.Path
	nodes  map[ir.Path]*node // by the path they were looked up under
	order  []ir.Path         // of nodes: as looked up
}

// look takes the facts of every path for the bound policy p, and of every link on the way to it. A link
// that somebody but root could have made is refused: what the rule means would
// be his to decide.
func look(p *ir.Policy, paths []ir.Path) (*survey, *Refusal) {
	s := &survey{policy: p, facts: bwrap.Facts{}, nodes: map[ir.Path]*node{}}
	for _, r := range p.Files {
		if r.Level == ir.Write {
			s.writes = append(s.writes, r.Path)
		}
	}
	for _, at := range paths {
		if refusal := s.add(at); refusal != nil {
			return nil, refusal
		}
	}
	return s, nil
}

// Facts is what this machine has at every path that the policy's argument set names
// under the binding, with the placeholders that a run would make. It is for
// questions about a machine, and changes nothing there; a run takes its own.
func Facts(p *ir.Policy, set *bwrap.Set, b ir.Binding) (bwrap.Facts, error) {
	bound, err := p.Bind(b)
	if err != nil {
		return nil, err
	}
	s, refusal := look(bound, set.NamedPaths(b))
	if refusal != nil {
		return nil, refusal
	}
	wanted, err := set.Placeholders(b, s.facts)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		s.facts[w.Path] = w.Fact()
	}
	return s.facts, nil
}

func (s *survey) add(p ir.Path) *Refusal {
	for hops := 0; ; hops++ {
		n, refusal := s.node(p)
		if refusal != nil {
			return refusal
		}
		if s.placeholder(p, n) {
			n.kind, n.stat = bwrap.Missing, unix.Stat_t{} // another run's: missing but for that
		}
		if len(n.links) == 0 {
			s.facts[p] = bwrap.Fact{Kind: n.kind, Sealed: n.kind == bwrap.Missing && s.inWrite(p) && sealedOff(p)}
			return nil
		}
		first := n.links[0].at
		if !n.links[0].system {
			return foreignLink(p, n.links[0])
		}
		l, refusal := s.node(first)
		if refusal != nil {
			return refusal
		}
		if i := slices.IndexFunc(l.links, func(l link) bool { return !l.system }); i >= 0 {
			return foreignLink(p, l.links[i])
		}
		s.facts[first] = bwrap.Fact{Kind: bwrap.Link, Target: l.real}
		rest := p.Rel()[len(first.Rel()):]
		if next, err := ir.NewPath(ir.Host, l.real.String()+"/"+rest); err == nil && hops < maxLinks {
			p = next
			continue
		}
		return refuse(Machine, "", "%s: too many links on the way", p)
	}
}

func (s *survey) inWrite(p ir.Path) bool {
	return slices.ContainsFunc(s.writes, func(w ir.Path) bool { return w.Covers(p) })
}

func (s *survey) node(p ir.Path) (*node, *Refusal) {
	if n := s.nodes[p]; n != nil {
		return n, nil
	}
	n, err := lookup(p)
	if err != nil {
		return nil, refuse(Machine, "", "%v", err)
	}
	if n.barred != nil && int(n.barred.owner) == os.Getuid() {
		return nil, ownBarrier(p, n.barred.at)
	}
	s.nodes[p] = n
	s.order = append(s.order, p)
	return n, nil
}

// sealedOff reports whether no process of the caller without capabilities can
// make p: it neither owns nor may write the nearest directory that exists.
func sealedOff(p ir.Path) bool {
	for above, ok := p.Parent(); ok; above, ok = above.Parent() {
		fd, err := openBelow(unix.AT_FDCWD, above.String(), pathOnly, 0)
		if errors.Is(err, unix.EACCES) {
			return true // below a directory of somebody else's that may not be searched
		}
		if err != nil {
			continue
		}
		var stat unix.Stat_t
		var fs unix.Statfs_t
		err = errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &fs))
		sealed := err == nil && (fs.Flags&unix.ST_RDONLY != 0 || !mayWrite(fd, &stat))
		unix.Close(fd)
		return sealed
	}
	return false
}

// mayWrite reports whether the caller, without capabilities, owns or may write a
// node. An access control list is taken for permission: its mask stands in the
// group's bits.
func mayWrite(fd int, stat *unix.Stat_t) bool {
	if int(stat.Uid) == os.Geteuid() || stat.Mode&unix.S_IWOTH != 0 {
		return true
	}
	if stat.Mode&unix.S_IWGRP == 0 {
		return false
	}
	if int(stat.Gid) == os.Getegid() {
		return true
	}
	groups, err := os.Getgroups()
	if err != nil || slices.Contains(groups, int(stat.Gid)) {
		return true
	}
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// evidence lists what was found, in the order in which it was looked at.
func (s *survey) evidence() []FactEvidence {
	out := make([]FactEvidence, 0, len(s.order))
	for _, p := range s.order {
		n := s.nodes[p]
		e := FactEvidence{Path: p.String(), Kind: n.kind.String()}
		if n.kind == bwrap.Link {
			e.Target = n.real.String()
		}
		if n.exists() {
			e.Device, e.Inode = n.stat.Dev, n.stat.Ino
		}
		out = append(out, e)
	}
	return out
}

// around is the level that decides p if the rule at p is left out; p's policy is
// bound.
func around(p *ir.Policy, at ir.Path) ir.Level {
	for q, ok := at.Parent(); ok; q, ok = q.Parent() {
		for i := range p.Files {
			if r := &p.Files[i]; r.Path == q && !r.Only {
				return r.Level
			}
		}
	}
	return ir.Deny
}

// checkLinkCounts refuses a protected file that has other names: under one of
// them it could be read or written after all. In a fresh workspace there are none.
func (s *survey) checkLinkCounts(p *ir.Policy, fresh ir.Path) *Refusal {
	for i := range p.Files {
		r := &p.Files[i]
		if r.Path.Root() != ir.Host || r.Backing != ir.HostFile || r.Level == ir.Write {
			continue
		}
		n := s.nodes[r.Path]
		if n == nil || !n.exists() || kindOf(n.stat.Mode) == bwrap.Directory || n.stat.Nlink < 2 || !fresh.IsRoot() && fresh.Covers(r.Path) {
			continue
		}
		outer := around(p, r.Path)
		if r.Level == ir.Deny && outer > ir.Deny || r.Level == ir.Read && outer == ir.Write {
			return manyNames(r, uint64(n.stat.Nlink))
		}
	}
	return nil
}

func foreignLink(p ir.Path, l link) *Refusal {
	at := fmt.Sprintf("%s, on the way to %s,", l.at, p)
	if l.at == p {
		at = p.String()
	}
	return refuse(No, "name what it leads to", "%s is a link to %s, and not only root could have made it", at, l.target)
}

func ownBarrier(p, at ir.Path) *Refusal {
	return refuse(Machine, "give yourself search permission there (chmod u+x)",
		"%s cannot be checked: %s is yours and may not be searched, and the command could change that", p, at)
}

func manyNames(r *ir.FileRule, links uint64) *Refusal {
	return refuse(No, "replace it by a copy of its own (cp, then mv over it)",
		"%s is protected (%s) and has %d names; under another one it would not be", r.Path, r.Origin, links).about(r.Origin)
}
