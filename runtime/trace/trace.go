// Package trace sees what the programs of a sandbox try and do not get: the system
// calls that fail, each as a request of design 5 with its paths as the sandbox
// resolves them. Its one rule: it changes nothing about the sandbox. It traces from
// outside (ptrace(2)), no filter and no right inside is another than without it.
//
// Which system call asks for what is data in calls_linux.go; what an answer of the
// policy would be, and what of a request this machine has, are the caller's.
package trace

import (
	"net/netip"

	"github.com/obspc/obspc/compiler/ir"
)

// Attempt is one access that failed. Kind is empty where the call asks for nothing
// that a request word names; Call, Number and Arguments are then all there is.
type Attempt struct {
	Call      string // the system call's name, "" for one that the tables lack
	Number    uint32
	Arguments [6]uint64

	Kind ir.RequestKind
	// Path, and To of a rename or link, are absolute and free of links as far as the
	// sandbox has the way; they can hold anything that a file name can.
	Path, To string
	// Exists: the sandbox has Path.
	Exists bool
	// Peer is where a connection would have gone.
	Peer netip.AddrPort

	Program string // the path of the program inside, "" when it is gone
	Errno   uint16
}
