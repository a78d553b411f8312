// Package attribute turns a connection that a sandbox makes into the program that
// makes it: from the client's address to the socket, from the socket to every process
// that holds it, from those to one executable file. Its one rule: where the answer
// would be a guess there is none, so a connection of several programs, or of one that
// cannot be read, has no program. What a program may do is not asked here.
//
// It limits honest programs. A hostile one starts an allowed program and makes it
// load code of its own, or hands its sockets on.
package attribute

import (
	"fmt"
	"strings"
)

// File is an executable file as the kernel knows it.
type File struct{ Dev, Ino uint64 }

// Program is the executable of every process that holds a connection.
type Program struct {
	File
	// Path is its name inside the sandbox, held to lead to this very file; "" when none
	// does (a file that was removed, a memory file), and Unnamed is then why.
	Path, Unnamed string
	// SHA256 is the digest of its bytes, "" when they cannot be had; Unhashed is then why.
	SHA256, Unhashed string
}

// Ambiguous is a connection that has no program; it says why.
type Ambiguous struct{ Why string }

func (a *Ambiguous) Error() string { return a.Why }

func ambiguous(format string, args ...any) error {
	return &Ambiguous{fmt.Sprintf(format, args...)}
}

// socketName is what a descriptor of the socket leads to (proc_pid_fd(5)).
func socketName(inode uint64) string { return fmt.Sprintf("socket:[%d]", inode) }

// removed is what the kernel adds to the name of a file that has none any more
// (d_path, fs/d_path.c).
const removed = " (deleted)"

// shown is a name that another process chose, for people: one line, not too long.
func shown(name string) string {
	if len(name) > 256 {
		name = name[:256] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, name), "?")
}
