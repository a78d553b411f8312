// Package domain puts a policy's Landlock rules on the calling thread and on what
// it becomes and starts. For turns the rules of landlock.json into what a kernel
// of one ABI is asked for, as a pure function; Open and Enforce ask it.
//
// Its one rule: what is asked for follows from the rules and the ABI and from
// nothing else. Whatever the kernel then refuses ends the run; nothing is tried
// again with less.
package domain

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/landlock"
)

// Request is what the kernel is asked for, in the numbers of linux/landlock.h.
type Request struct {
	Files   uint64  `json:"files"`   // handled_access_fs
	Scopes  uint64  `json:"scopes"`  // scoped
	Logging uint32  `json:"logging"` // flags of landlock_restrict_self
	Size    int     `json:"size"`    // of the attributes that this ABI has, in bytes
	Grants  []Grant `json:"grants"`
}

// Grant is the rights to what lies at or below Path: those when it is no
// directory, and those when it is one. With none there is no rule.
type Grant struct {
	Path      string `json:"path"`
	File      uint64 `json:"file"`
	Directory uint64 `json:"directory"`
}

// Sizes of landlock_ruleset_attr: handled_access_fs alone; with handled_access_net,
// since ABI 4; with scoped, since ABI 6. A longer one is E2BIG.
const (
	sizeFiles   = 8
	sizeNetwork = 16
	sizeScopes  = 24
)

// For is what a kernel with that ABI is asked for; nil where no domain is made. Of
// a later ABI than the table has, the same as of the last. Rules for paths that
// are links get no grant: what they lead to has a rule of its own.
func For(rules *landlock.Rules, abi int, b ir.Binding, link func(string) bool) *Request {
	asked := rules.Asked(abi)
	if asked.ABI == 0 {
		return nil
	}
	r := &Request{
		Files: asked.Bits(landlock.File, landlock.Directory), Scopes: asked.Bits(landlock.Scope),
		Logging: uint32(asked.Bits(landlock.Logging)), Size: sizeFiles,
	}
	switch {
	case abi >= 6:
		r.Size = sizeScopes
	case abi >= 4:
		r.Size = sizeNetwork
	}
	bound := rules.Bind(b)
	grants := map[string]Grant{}
	for _, list := range []struct {
		rules []landlock.Rule
		by    landlock.Giver
	}{{bound.Execute, landlock.ByExecute}, {bound.Read, landlock.ByRead}, {bound.Write, landlock.ByWrite}} {
		file := asked.GivenBy(list.by, landlock.File)
		directory := asked.GivenBy(list.by, landlock.File, landlock.Directory)
		for _, rule := range list.rules {
			path := rule.Path.String()
			if link(path) {
				continue
			}
			g := grants[path]
			g.Path, g.File = path, g.File|file
			if rule.Only {
				g.Directory |= directory & landlock.ReadDir
			} else {
				g.Directory |= directory
			}
			grants[path] = g
		}
	}
	for _, g := range grants {
		r.Grants = append(r.Grants, g)
	}
	slices.SortFunc(r.Grants, func(a, b Grant) int { return strings.Compare(a.Path, b.Path) })
	return r
}
