package bwrap

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Kind is what a path is on the host.
type Kind uint8

// The kinds. The zero Kind is Missing.
const (
	Missing Kind = iota
	Directory
	File
	Socket
	Device
	Fifo
	Link
)

var kindNames = [...]string{"missing path", "directory", "file", "socket", "device", "fifo", "link"}

func (k Kind) String() string { return kindNames[k] }

// Fact is what the runtime found at one bound path, opening component by
// component without following links.
//
// Target belongs to Link: what the link leads to with every link resolved.
// Placeholder: the node is an empty file or directory that a run of ours made.
// Sealed belongs to Missing: no process of the caller without capabilities can
// make the path, because it neither owns nor can write the nearest directory
// that exists; so nothing needs to keep it missing.
type Fact struct {
	Kind        Kind
	Target      ir.Path
	Placeholder bool
	Sealed      bool
}

// Facts is the part of the host's file system that a Set concerns, by bound path
// (root Host). For each named path it holds either the path's own fact, or, when
// a component of it is a link, the fact of that component (Kind Link) and then
// whatever it needs for the path with the component replaced by its target; and
// so on until no component is a link. A dangling or circular link ends in a path
// whose fact is Missing.
type Facts map[ir.Path]Fact

// maxLinks is how many links the kernel follows on the way to one path
// (MAXSYMLINKS, linux/namei.h).
const maxLinks = 40

// hop is one link on the way to a path.
type hop struct{ link, target ir.Path }

// find walks to p: the links on the way, where it ends, and the fact there. A
// missing entry is an error: the runtime did not look.
func (f Facts) find(p ir.Path) (hops []hop, end ir.Path, fact Fact, err error) {
	for range maxLinks {
		link, ok := f.firstLink(p)
		if !ok {
			fact, ok = f[p]
			if !ok {
				return nil, p, Fact{}, fmt.Errorf("no fact about %s was taken", p)
			}
			return hops, p, fact, nil
		}
		target := f[link].Target
		hops = append(hops, hop{link, target})
		p, err = throughLink(p, link, target)
		if err != nil {
			return nil, p, Fact{}, err
		}
	}
	return hops, p, Fact{Kind: Missing}, nil
}

// firstLink is the component of p, nearest to the root, that is a link.
func (f Facts) firstLink(p ir.Path) (ir.Path, bool) {
	var out ir.Path
	found := false
	for q := range p.Upward() {
		if fact, ok := f[q]; ok && fact.Kind == Link {
			out, found = q, true
		}
	}
	return out, found
}

// throughLink is p with its component link replaced by target.
func throughLink(p, link, target ir.Path) (ir.Path, error) {
	if !link.Covers(p) || link.IsRoot() || target.Root() != ir.Host {
		return p, fmt.Errorf("link %s → %s is not on the way to %s", link, target, p)
	}
	return target.Join(strings.TrimPrefix(p.Rel()[len(link.Rel()):], "/")), nil
}
