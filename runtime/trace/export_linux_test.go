package trace

import "golang.org/x/sys/unix"

// Rows is every row of this architecture.
func Rows() []Row {
	var out []Row
	for _, r := range table {
		out = append(out, Row{r.name, r.number, r.verb, r.dir, r.path, r.flags, r.dir2, r.path2})
	}
	return out
}

// Row is a row, for the test that calls each.
type Row struct {
	Name              string
	Number            uintptr
	Verb              verb
	Dir, Path, Flags  int
	OtherDir, OtherAt int
}

// Verbs of a row.
const (
	Opens    = opens
	OpensHow = opensHow
	Asks     = asks
	Writes   = writes
	Connects = connects
	Binds    = binds
	Sends    = sends
	SendsMsg = sendsMsg
)

// InetPeer is inetPeer.
var InetPeer = inetPeer

// Resolve follows a path below a root directory, as a sandbox with that root.
func Resolve(root, dir, name string, follow bool) (path string, exists, ok bool) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false, false
	}
	defer unix.Close(fd)
	p, ok := view{root: fd, tid: unix.Getpid()}.resolve(dir, name, follow)
	return p.path, p.exists, ok
}
