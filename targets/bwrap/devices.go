package bwrap

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

var (
	procPath = ir.MustPath("/proc")
	devPath  = ir.MustPath("/dev")
	shmPath  = ir.MustPath("/dev/shm")
)

// devNode is one node of the /dev that `bwrap --dev` makes, and the rule that
// grants just it.
type devNode struct {
	path   ir.Path
	kind   EntryKind
	target ir.Path // DevLink
	level  ir.Level
	only   bool
}

// devNodes is the minimal /dev of bwrap(1), "--dev", in the order of paths. The
// links are absolute here as they end there; /dev/console, which bwrap adds when
// its standard output is a terminal, is missing: the runtime gives it none.
var devNodes = []devNode{
	{ir.MustPath("/dev/core"), SymbolicLink, ir.MustPath("/proc/kcore"), ir.Read, true},
	{ir.MustPath("/dev/fd"), SymbolicLink, ir.MustPath("/proc/self/fd"), ir.Read, true},
	{ir.MustPath("/dev/full"), DeviceNode, ir.Path{}, ir.Write, true},
	{ir.MustPath("/dev/null"), DeviceNode, ir.Path{}, ir.Write, true},
	{ir.MustPath("/dev/ptmx"), SymbolicLink, ir.MustPath("/dev/pts/ptmx"), ir.Read, true},
	{ir.MustPath("/dev/pts"), Terminals, ir.Path{}, ir.Write, false},
	{ir.MustPath("/dev/random"), DeviceNode, ir.Path{}, ir.Write, true},
	{shmPath, MadeDirectory, ir.Path{}, ir.Read, true},
	{ir.MustPath("/dev/stderr"), SymbolicLink, ir.MustPath("/proc/self/fd/2"), ir.Read, true},
	{ir.MustPath("/dev/stdin"), SymbolicLink, ir.MustPath("/proc/self/fd/0"), ir.Read, true},
	{ir.MustPath("/dev/stdout"), SymbolicLink, ir.MustPath("/proc/self/fd/1"), ir.Read, true},
	{ir.MustPath("/dev/tty"), DeviceNode, ir.Path{}, ir.Write, true},
	{ir.MustPath("/dev/urandom"), DeviceNode, ir.Path{}, ir.Write, true},
	{ir.MustPath("/dev/zero"), DeviceNode, ir.Path{}, ir.Write, true},
}

// devices turns the rules of the minimal /dev into one operation. bwrap makes it
// whole, so the policy must grant it whole.
func (c *compilation) devices() error {
	if len(c.dev) == 0 {
		return nil
	}
	root := c.rules[devPath]
	if root == nil || root.Backing != ir.DevFS || root.Level != ir.Read || !root.Only {
		if root != nil {
			return otherDevice(root)
		}
		return partialDevices(c.dev[0], devPath)
	}
	for _, r := range c.dev {
		i := slices.IndexFunc(devNodes, func(n devNode) bool { return n.path == r.Path })
		switch {
		case r == root:
		case i < 0:
			return notADevice(r)
		case devNodes[i].level != r.Level || r.Only && devNodes[i].kind == Terminals || r.Optional:
			return otherDevice(r)
		}
	}
	for _, n := range devNodes {
		r := c.rules[n.path]
		switch {
		case r == nil:
			return partialDevices(root, n.path)
		case r.Backing != ir.DevFS && !(n.path == shmPath && r.Backing == ir.TmpFS):
			return otherDevice(r)
		}
	}
	c.operations[devPath] = Operation{Verb: Dev, Path: devPath, Origin: root.Origin}
	return nil
}

// partialDevices reports a /dev of which the policy leaves something out.
func partialDevices(r *ir.FileRule, lacking ir.Path) error {
	help := "state the minimal devices whole, and what differs from them outside /dev"
	if lacking == shmPath {
		help = `state its size as well, as in shm = "64MiB"`
	}
	return &UnsupportedError{r.Path, r.Origin, fmt.Sprintf("the minimal /dev is made whole, and the policy says nothing of %s", lacking), help}
}

func notADevice(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin, "the minimal /dev has no such node", "state it as a path of the host"}
}

func otherDevice(r *ir.FileRule) error {
	return &UnsupportedError{r.Path, r.Origin, "the minimal /dev has it, at another level", `leave it out, or leave devices = "minimal" out`}
}
