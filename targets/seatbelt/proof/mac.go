package proof

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// links are the links that every macOS has at "/", and where they lead (system.sb
// of macOS 10.15; /home was measured by microsoft/mxc). The kernel hands profiles
// resolved paths, and a link's own name where the link itself is looked at.
var links = []struct{ link, target ir.Path }{
	{ir.MustPath("/tmp"), ir.MustPath("/private/tmp")},
	{ir.MustPath("/var"), ir.MustPath("/private/var")},
	{ir.MustPath("/etc"), ir.MustPath("/private/etc")},
	{ir.MustPath("/home"), ir.MustPath("/System/Volumes/Data/home")},
}

// resolve is p as the kernel of macOS spells it.
func resolve(p ir.Path) ir.Path {
	for _, l := range links {
		if l.link.Covers(p) {
			return l.target.Join(strings.TrimPrefix(p.Rel()[len(l.link.Rel()):], "/"))
		}
	}
	return p
}

func isLink(p ir.Path) bool {
	return slices.ContainsFunc(links, func(l struct{ link, target ir.Path }) bool { return l.link == p })
}

// linuxDevices are nodes of the minimal /dev that the devfs of macOS lacks, or has
// under no fixed name.
var linuxDevices = []ir.Path{
	ir.MustPath("/dev/core"), ir.MustPath("/dev/full"), ir.MustPath("/dev/pts"), ir.MustPath("/dev/shm"),
}

// onMac is the policy as macOS sees it: paths resolved, and less what only Linux
// has: its /proc, some devices, memory file systems (the tmp slot is a directory).
func onMac(p *ir.Policy) *ir.Policy {
	q := *p
	q.Files, q.Execute = nil, nil
	for _, r := range p.Files {
		linux := r.Backing == ir.ProcFS || r.Backing != ir.HostFile && slices.Contains(linuxDevices, r.Path) ||
			r.Backing == ir.TmpFS && r.Path.Root() != ir.Tmp
		if !linux {
			r.Path = resolve(r.Path)
			q.Files = append(q.Files, r)
		}
	}
	for _, r := range p.Execute {
		r.Path = resolve(r.Path)
		q.Execute = append(q.Execute, r)
	}
	return &q
}
