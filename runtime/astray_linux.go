package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// astray is a directory of the host that bwrap took for another one, because the
// names that led there were exchanged while it worked. No command is started over
// it, but bwrap makes mount points that are missing: empty files and directories,
// with the rights of the caller. They are taken away again as far as they are
// found; nothing else is touched.
type astray struct {
	at ir.Path // the path that led there
	fd int     // O_PATH
}

// findAstray opens what compared paths lead to in the sandbox, if it is still
// there, and on the host, where that is not what was recorded.
func (r *execution) findAstray(s *sandbox) []astray {
	var out []astray
	add := func(at ir.Path, fd int, err error) {
		var stat unix.Stat_t
		n := r.survey.nodes[at]
		if err != nil {
			return
		}
		if unix.Fstat(fd, &stat) == nil && (stat.Dev != n.stat.Dev || stat.Ino != n.stat.Ino) {
			out = append(out, astray{at, fd})
			return
		}
		unix.Close(fd)
	}
	inside := -1
	if s.pidfd >= 0 && s.pid > 0 {
		inside, _ = unix.Open(fmt.Sprintf("/proc/%d/root", s.lines.child), unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	for _, at := range r.compared {
		if inside >= 0 {
			fd, err := openBelow(inside, at.Rel(), unix.O_PATH|unix.O_DIRECTORY, 0)
			add(at, fd, err)
		}
		fd, err := unix.Open(at.String(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		add(at, fd, err)
	}
	if inside >= 0 {
		unix.Close(inside)
	}
	return out
}

// sweep takes away what bwrap made in directories that it took for others, and
// closes them. It is called when the sandbox is dead: until then its masks cover
// what they lie on. since is when bwrap was started.
func (r *execution) sweep(list []astray, since time.Time) {
	c := &r.evidence.Cleanup
	for _, a := range list {
		for _, e := range r.table.Entries {
			if above, ok := e.Path.Parent(); !ok || above != a.at {
				continue
			}
			switch err := removeMade(a.fd, e.Path.Base(), since); {
			case err == nil:
				c.Astray = append(c.Astray, e.Path.String())
			case !errors.Is(err, errNotMade):
				c.Faults = append(c.Faults, fmt.Sprintf("%s led elsewhere, and a mount point that bubblewrap made there stays: %v", e.Path, err))
			}
		}
		unix.Close(a.fd)
	}
}

// errNotMade is a node that bwrap has not made in this run.
var errNotMade = errors.New("not made by bubblewrap")

// clockStep bounds how far a file system's clock is behind: it advances with the
// kernel's ticks, 100 to 1000 a second.
const clockStep = 20 * time.Millisecond

// removeMade removes the mount point name below dir if bwrap has made it since
// then: empty, of the caller, of the mode that bubblewrap 0.8 to 0.12 gives it.
func removeMade(dir int, name string, since time.Time) error {
	var stat unix.Statx_t
	const want = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	if err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, want, &stat); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return errNotMade
		}
		return err
	}
	born := stat.Ctime
	if stat.Mask&unix.STATX_BTIME != 0 {
		born = stat.Btime
	}
	if int(stat.Uid) != os.Geteuid() || time.Unix(born.Sec, int64(born.Nsec)).Before(since.Add(-clockStep)) {
		return errNotMade
	}
	mode := uint32(stat.Mode) & 0o7777
	switch kindOf(uint32(stat.Mode)) {
	case bwrap.File:
		if stat.Size == 0 && stat.Nlink == 1 && mode&^0o444 == 0 {
			return unix.Unlinkat(dir, name, 0)
		}
	case bwrap.Directory:
		if mode&^0o755 == 0 {
			return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
	}
	return errNotMade
}
