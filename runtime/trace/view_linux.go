package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// view is the sandbox as one stopped thread sees it.
type view struct {
	root int // its root directory
	tid  int
}

// attempts is what a failed system call asked for; nothing where that cannot be
// told, because it names no path of the sandbox.
func (v view) attempts(call *entered, errno uint16) []Attempt {
	a := Attempt{Number: uint32(call.number), Arguments: call.args, Errno: errno}
	r := table[uintptr(call.number)]
	if r == nil {
		return []Attempt{a}
	}
	a.Call = r.name
	switch r.verb {
	case connects, binds, sends, sendsMsg:
		return v.peer(a, r, call)
	}
	at, ok := v.place(call, r.dir, r.path, r.follows(call))
	if !ok {
		return nil
	}
	a.Path, a.Exists = at.path, at.exists
	switch r.verb {
	case renames, links:
		to, ok := v.place(call, r.dir2, r.path2, false)
		if !ok {
			return nil
		}
		a.To = to.path
	}
	return v.asked(a, r, call, at)
}

// follows reports whether the call follows a link at the end of its path.
func (r *row) follows(call *entered) bool {
	switch r.last {
	case noFollow:
		return false
	case atFlags:
		return call.args[r.flags]&unix.AT_SYMLINK_NOFOLLOW == 0
	case atFollow:
		return r.flags != none && call.args[r.flags]&unix.AT_SYMLINK_FOLLOW != 0
	}
	return r.verb != opens || r.flags == none || call.args[r.flags]&unix.O_NOFOLLOW == 0
}

// asked gives the attempt its kinds: opening for reading and writing is two.
func (v view) asked(a Attempt, r *row, call *entered, at place) []Attempt {
	var kinds []ir.RequestKind
	switch r.verb {
	case opens, opensHow:
		kinds = opened(v.openFlags(r, call), at)
	case asks:
		kinds = accessed(call.args[r.flags], at)
	default:
		kinds = []ir.RequestKind{kindOf[r.verb]}
	}
	out := make([]Attempt, len(kinds))
	for i, k := range kinds {
		out[i] = a
		out[i].Kind = k
	}
	return out
}

// kindOf is the word for verbs that are always the same.
var kindOf = map[verb]ir.RequestKind{
	stats: ir.StatRequest, writes: ir.WriteRequest, reads: ir.ReadRequest, creates: ir.CreateRequest,
	removes: ir.RemoveRequest, renames: ir.RenameRequest, links: ir.LinkRequest, starts: ir.ExecuteRequest,
}

// openFlags is the flags of an opening call.
func (v view) openFlags(r *row, call *entered) uint64 {
	switch {
	case r.flags == none: // creat(2)
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	case r.verb == opens:
		return call.args[r.flags]
	}
	var how [8]byte // struct open_how begins with its flags
	if !v.memory(call.args[r.flags], how[:]) {
		return 0
	}
	return binary.NativeEndian.Uint64(how[:])
}

// opened is what opening a place with flags asks for (open(2)).
func opened(flags uint64, at place) []ir.RequestKind {
	switch {
	case flags&unix.O_PATH != 0:
		return []ir.RequestKind{ir.StatRequest}
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		return []ir.RequestKind{ir.WriteRequest} // into the directory
	case flags&unix.O_CREAT != 0 && !at.exists:
		return []ir.RequestKind{ir.CreateRequest}
	}
	var out []ir.RequestKind
	access := flags & unix.O_ACCMODE
	if access != unix.O_WRONLY {
		kind := ir.ReadRequest
		if at.directory || flags&unix.O_DIRECTORY != 0 {
			kind = ir.ListRequest
		}
		out = append(out, kind)
	}
	if access != unix.O_RDONLY || flags&unix.O_TRUNC != 0 {
		out = append(out, ir.WriteRequest)
	}
	return out
}

// accessed is what access(2) asks for: to search a directory is to see what is in
// it.
func accessed(mode uint64, at place) []ir.RequestKind {
	var out []ir.RequestKind
	switch {
	case mode&unix.R_OK != 0 && at.directory:
		out = append(out, ir.ListRequest)
	case mode&unix.R_OK != 0:
		out = append(out, ir.ReadRequest)
	}
	if mode&unix.W_OK != 0 {
		out = append(out, ir.WriteRequest)
	}
	if mode&unix.X_OK != 0 && !at.directory {
		out = append(out, ir.ExecuteRequest)
	}
	if len(out) == 0 {
		out = append(out, ir.StatRequest)
	}
	return out
}

// peer is the attempt of a call with an address.
func (v view) peer(a Attempt, r *row, call *entered) []Attempt {
	at, size := call.args[r.path], uint64(0)
	if r.verb == sendsMsg {
		var header [12]byte // struct msghdr begins with the address and its length
		if !v.memory(at, header[:]) {
			return nil
		}
		at, size = binary.NativeEndian.Uint64(header[:]), uint64(binary.NativeEndian.Uint32(header[8:]))
	} else {
		size = call.args[r.flags]
	}
	const most = 128 // sizeof(struct sockaddr_storage)
	if at == 0 || size < 2 || size > most {
		return nil
	}
	address := make([]byte, size)
	if !v.memory(at, address) {
		return nil
	}
	if binary.NativeEndian.Uint16(address) == unix.AF_UNIX {
		name, _, _ := strings.Cut(string(address[2:]), "\x00")
		if name == "" {
			return nil // an abstract name: the sandbox has those to itself
		}
		p, ok := v.resolve(v.directory(none, nil), name, r.verb != binds)
		if !ok {
			return nil
		}
		a.Path, a.Exists, a.Kind = p.path, p.exists, ir.ConnectUnixRequest
		if r.verb == binds {
			a.Kind = ir.CreateRequest
		}
		return []Attempt{a}
	}
	a.Kind, a.Peer = ir.ConnectRequest, inetPeer(address)
	if r.verb == binds || !a.Peer.IsValid() {
		return nil
	}
	return []Attempt{a}
}

// inetPeer reads a sockaddr_in or sockaddr_in6 (ip(7), ipv6(7)); the zero value for
// any other.
func inetPeer(address []byte) netip.AddrPort {
	port := func() uint16 { return binary.BigEndian.Uint16(address[2:]) }
	switch binary.NativeEndian.Uint16(address) {
	case unix.AF_INET:
		if len(address) >= 8 {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), port())
		}
	case unix.AF_INET6:
		if len(address) >= 24 {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), port())
		}
	}
	return netip.AddrPort{}
}

// place is what a path leads to in the sandbox.
type place struct {
	path              string
	exists, directory bool
}

// place is what a call's path leads to.
func (v view) place(call *entered, dir, at int, follow bool) (place, bool) {
	if at == none {
		return v.resolve("/", v.descriptor(call.args[dir]), false)
	}
	name, ok := v.text(call.args[at])
	if !ok {
		return place{}, false
	}
	if name == "" { // AT_EMPTY_PATH, or an error of its own
		if dir == none {
			return place{}, false
		}
		return v.resolve("/", v.descriptor(call.args[dir]), false)
	}
	return v.resolve(v.directory(dir, call), name, follow)
}

// directory is what relative paths of a call start at.
func (v view) directory(dir int, call *entered) string {
	if dir == none || int32(call.args[dir]) == unix.AT_FDCWD {
		at, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", v.tid))
		return at
	}
	return v.descriptor(call.args[dir])
}

// descriptor is the path of an open file, "" when it has none.
func (v view) descriptor(fd uint64) string {
	if int32(fd) == unix.AT_FDCWD {
		return v.directory(none, nil)
	}
	at, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", v.tid, int32(fd)))
	if !strings.HasPrefix(at, "/") {
		return ""
	}
	return at
}

// maxLinks is how many links the kernel follows in one path (path_resolution(7)).
const maxLinks = 40

// resolve follows a path from dir as the kernel would in the sandbox. Where the way
// ends, because a name is missing or may not be searched, the rest is taken
// literally. False: it leads to nothing that has a path.
func (v view) resolve(dir, name string, follow bool) (place, bool) {
	if !path.IsAbs(name) {
		if !path.IsAbs(dir) {
			return place{}, false
		}
		name = dir + "/" + name
	}
	here, rest, hops := "/", strings.Split(name, "/"), 0
	out := place{exists: true, directory: true}
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			here = path.Dir(here)
			continue
		}
		at := path.Join(here, v.own(here, next))
		mode, target, err := v.look(at)
		switch {
		case err != nil:
			return place{path: path.Join(at, strings.Join(rest, "/"))}, true
		case mode == unix.S_IFLNK && (follow || len(nonEmpty(rest)) > 0):
			if hops++; hops > maxLinks || target == "" {
				return place{}, false
			}
			if path.IsAbs(target) {
				here = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		default:
			out.directory = mode == unix.S_IFDIR
		}
		here = at
	}
	out.path = here
	return out, true
}

func nonEmpty(list []string) []string {
	for len(list) > 0 && (list[0] == "" || list[0] == ".") {
		list = list[1:]
	}
	return list
}

// own replaces the links of /proc that are another thing for every reader.
func (v view) own(dir, name string) string {
	if dir != "/proc" || name != "self" && name != "thread-self" {
		return name
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.tid))
	for line := range strings.Lines(string(text)) {
		// One number for each PID namespace, the innermost last (proc_pid_status(5)).
		if numbers, ok := strings.CutPrefix(line, "NStgid:"); ok {
			fields := strings.Fields(numbers)
			return fields[len(fields)-1]
		}
	}
	return name
}

// look is the type of a node of the sandbox, and where it leads if it is a link;
// "" if that is no path. Nothing of path is a link but its last component.
func (v view) look(at string) (mode uint32, target string, err error) {
	name := strings.TrimPrefix(at, "/")
	fd, err := unix.Openat2(v.root, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return 0, "", err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, "", err
	}
	mode = stat.Mode & unix.S_IFMT
	if mode != unix.S_IFLNK {
		return mode, "", nil
	}
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buffer)
	if err != nil {
		return mode, "", err
	}
	target = string(buffer[:n])
	if strings.HasPrefix(at, "/proc/") && !path.IsAbs(target) && strings.Contains(target, ":[") {
		target = "" // a pipe, a socket, a namespace (proc_pid_fd(5))
	}
	return mode, target, nil
}

// text is a path in the thread's memory.
func (v view) text(at uint64) (string, bool) {
	var out []byte
	for len(out) < unix.PathMax {
		// Up to the end of the page: what comes after need not be there.
		chunk := make([]byte, min(256, 4096-int(at%4096)))
		if !v.memory(at, chunk) {
			return "", false
		}
		if text, _, ended := strings.Cut(string(chunk), "\x00"); ended {
			return string(out) + text, true
		}
		out = append(out, chunk...)
		at += uint64(len(chunk))
	}
	return "", false
}

// memory reads what stands at an address of the thread's process.
func (v view) memory(at uint64, into []byte) bool {
	if at == 0 || len(into) == 0 {
		return false
	}
	n, err := unix.ProcessVMReadv(v.tid,
		[]unix.Iovec{{Base: &into[0], Len: uint64(len(into))}},
		[]unix.RemoteIovec{{Base: uintptr(at), Len: len(into)}}, 0)
	return !errors.Is(err, unix.EFAULT) && err == nil && n == len(into)
}
