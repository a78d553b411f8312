package conform

import (
	"strconv"

	"github.com/obspc/obspc/compiler/ir"
)

// Kind is what a node of a tree is.
type Kind string

// The kinds. Tool is a file that may be started, Empty a directory with nothing in
// it, Absent a path that is not there.
const (
	File      Kind = "file"
	Tool      Kind = "tool"
	Directory Kind = "directory"
	Empty     Kind = "empty directory"
	Socket    Kind = "socket"
	Fifo      Kind = "fifo"
	Device    Kind = "device"
	Link      Kind = "link"
	Absent    Kind = "absent"
)

// Entry is one path of a tree. Target is where a link ends, and for anything else
// the path without links, when Path leads over one. An entry that is not Ours
// belongs to the machine: nothing of it is changed.
type Entry struct {
	Path   ir.Path
	Kind   Kind
	Target ir.Path
	Ours   bool
}

// Probe is a request to be tried. Subject is the path that it is about: the first
// one, or the second when something is to come to be there. Kind is what the first
// path is. Real is the request with the links on its way followed, which a policy
// has to allow too. Replaces tells that the second path of a rename exists.
type Probe struct {
	Request, Real ir.Request
	Subject       ir.Path
	Kind          Kind
	Replaces      bool
}

// FreshName is a name that no tree has.
const FreshName = "fresh"

// Probes lists the requests that a tree gives: of every word, about every node it
// makes sense for, in every directory. Which pairs are renamed and linked depends
// on shift, so that different policies try different ones.
func Probes(tree []Entry, shift int) []Probe {
	p := prober{shift: shift}
	for _, n := range tree {
		if n.Ours && (n.Kind == Directory || n.Kind == Empty) {
			p.directories = append(p.directories, n.Path)
		}
		if n.Ours && n.Kind == File && n.Target == (ir.Path{}) {
			p.files = append(p.files, n.Path)
		}
	}
	for i, n := range tree {
		p.node(i, n)
	}
	return p.out
}

type prober struct {
	shift              int
	directories, files []ir.Path
	out                []Probe
}

// about are the words that ask about a node of each kind and change nothing of
// the tree's names.
var about = map[Kind][]ir.RequestKind{
	File:      {ir.ReadRequest, ir.StatRequest, ir.WriteRequest},
	Tool:      {ir.ReadRequest, ir.StatRequest, ir.WriteRequest, ir.ExecuteRequest},
	Directory: {ir.ListRequest, ir.StatRequest, ir.WriteRequest},
	Empty:     {ir.ListRequest, ir.StatRequest, ir.WriteRequest},
	Socket:    {ir.StatRequest, ir.WriteRequest, ir.ConnectUnixRequest},
	Fifo:      {ir.ReadRequest, ir.StatRequest, ir.WriteRequest},
	Device:    {ir.ReadRequest, ir.StatRequest, ir.WriteRequest},
	Link:      {ir.StatRequest},
}

// through are the words that follow a link at the end of their path.
var through = []ir.RequestKind{ir.ReadRequest, ir.WriteRequest}

func (p *prober) node(i int, n Entry) {
	if n.Kind != Link && n.Target != (ir.Path{}) {
		for _, word := range about[n.Kind] {
			// Nothing of the machine's own is ever written: as root, the attempt outside
			// would succeed.
			if n.Ours || word != ir.WriteRequest {
				p.real(n.Kind, word, n.Path, n.Target)
			}
		}
		return
	}
	for _, word := range about[n.Kind] {
		// The machine's own device can be written without a trace, nothing else can.
		if n.Ours || word != ir.WriteRequest || n.Kind == Device {
			p.real(n.Kind, word, n.Path, n.Path)
		}
	}
	if !n.Ours {
		return
	}
	switch n.Kind {
	case Absent:
		p.add(n.Kind, ir.Request{Kind: ir.CreateRequest, Path: n.Path})
		p.onto(i, n.Path, false)
		return
	case Directory, Empty:
		p.add(Absent, ir.Request{Kind: ir.CreateRequest, Path: n.Path.Join(FreshName)})
	case File:
		p.onto(i, n.Path, true)
	case Link:
		for _, word := range through {
			if n.Target == (ir.Path{}) {
				break // to a directory: what is reached over it has entries of its own
			}
			p.real(File, word, n.Path, n.Target)
		}
	}
	if n.Kind != Directory && n.Kind != Socket {
		p.add(n.Kind, ir.Request{Kind: ir.RemoveRequest, Path: n.Path})
	}
	p.move(i, n)
}

// real asks about a path that may lead over links to another.
func (p *prober) real(kind Kind, word ir.RequestKind, path, end ir.Path) {
	p.out = append(p.out, Probe{ir.Request{Kind: word, Path: path}, ir.Request{Kind: word, Path: end}, path, kind, false})
}

func (p *prober) add(kind Kind, r ir.Request) {
	p.out = append(p.out, Probe{r, r, r.Path, kind, false})
}

// move renames and links a node: within its directory, and to another one.
func (p *prober) move(i int, n Entry) {
	parent, ok := n.Path.Parent()
	if !ok {
		return
	}
	name := FreshName + strconv.Itoa(i)
	for _, dir := range []ir.Path{parent, p.directories[(i+p.shift)%len(p.directories)]} {
		if n.Path.Covers(dir) {
			continue // a directory into itself
		}
		p.add(n.Kind, ir.Request{Kind: ir.RenameRequest, Path: n.Path, To: dir.Join(name)})
		if n.Kind == File || n.Kind == Tool {
			p.add(n.Kind, ir.Request{Kind: ir.LinkRequest, Path: n.Path, To: dir.Join(name)})
		}
	}
}

// onto renames some file onto the name: something must not come to be there.
func (p *prober) onto(i int, to ir.Path, exists bool) {
	from := p.files[(i+p.shift)%len(p.files)]
	if from == to {
		return
	}
	r := ir.Request{Kind: ir.RenameRequest, Path: from, To: to}
	p.out = append(p.out, Probe{r, r, to, File, exists})
	if !exists {
		r.Kind = ir.LinkRequest
		p.out = append(p.out, Probe{r, r, to, File, false})
	}
}

// Thin leaves out some of what is asked of the two classes that are large, so that
// the others weigh: of what lies below a rule one in three, of what lies outside
// one in ten. Which ones depends on shift.
func Thin(probes []Probe, n *Names, shift int) []Probe {
	every := map[Class]int{Below: 3, Outside: 10}
	var out []Probe
	for i, p := range probes {
		if k := every[n.Class(p.Subject)]; k == 0 || (i+shift)%k == 0 {
			out = append(out, p)
		}
	}
	return out
}
