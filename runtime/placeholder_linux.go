package runtime

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// placeholder is an empty file or directory on the host that bwrap mounts over,
// so that a missing protected name stays missing. Every run that masks it holds a
// shared lock (flock(2)) on it: were it removed under a live run, the kernel would
// drop that run's mask. The last one removes it, also when whoever made it was
// cut off.
type placeholder struct {
	at        ir.Path
	directory bool
	parent    int // the directory it is in
	fd        int // itself; holds the lock
	dev, ino  uint64
}

// placeholders are those of one run, parents before children.
type placeholders []placeholder

// mark is the mode bit by which runs know placeholders. On a file, and on a
// directory of one user, it means nothing else (chmod(2), S_ISVTX).
const mark = unix.S_ISVTX

// The modes of placeholders.
const (
	fileMode      = mark | 0o600
	directoryMode = mark | 0o700
)

// isPlaceholder reports whether a node looks as if a run had made it: marked, and
// for a file under no other name, by which it could be written.
func isPlaceholder(stat *unix.Stat_t) bool {
	return marked(stat) && (stat.Nlink == 1 || kindOf(stat.Mode) == bwrap.Directory)
}

// marked reports whether a node has a placeholder's mode, is of this user, and for a
// file empty.
func marked(stat *unix.Stat_t) bool {
	switch kindOf(stat.Mode) {
	case bwrap.File:
		return stat.Mode&0o7777 == fileMode && stat.Size == 0 && int(stat.Uid) == os.Geteuid()
	case bwrap.Directory:
		return stat.Mode&0o7777 == directoryMode && int(stat.Uid) == os.Geteuid()
	}
	return false
}

// join takes part in a placeholder of another live run, whatever its mode is now, so
// that it stays while this run mounts something on it or below it. It has to be the
// node that was found there.
func (l *placeholders) join(at ir.Path, directory bool, found *unix.Stat_t) error {
	parent, err := openParent(at)
	if err != nil {
		return err
	}
	p := placeholder{at: at, directory: directory, parent: parent, dev: found.Dev, ino: found.Ino}
	if p.fd, err = openBelow(parent, at.Base(), unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
		if err = unix.Flock(p.fd, unix.LOCK_SH|unix.LOCK_NB); err == nil && p.current() {
			*l = append(*l, p)
			slices.SortStableFunc(*l, func(a, b placeholder) int { return a.at.Compare(b.at) })
			return nil
		}
		unix.Close(p.fd)
	}
	unix.Close(parent)
	return fmt.Errorf("%s: %w", at, errTaken)
}

// openParent opens the directory that a path lies in, to work with names in it.
func openParent(at ir.Path) (int, error) {
	above, _ := at.Parent()
	fd, err := openBelow(unix.AT_FDCWD, above.String(), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", above, err)
	}
	return fd, nil
}

// errTaken is a name that something else has meanwhile.
var errTaken = errors.New("it appeared while the run was prepared; try again")

// add makes a placeholder at the path, or takes part in one that another run has
// made. Nothing is followed, and nothing else is touched.
func (l *placeholders) add(at ir.Path, directory bool) error {
	parent, err := openParent(at)
	if err != nil {
		return err
	}
	p := placeholder{at: at, directory: directory, parent: parent, fd: -1}
	// Another run may be removing it: then it is made anew.
	for range 100 {
		var held bool
		if held, err = p.hold(); held || err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	switch {
	case err != nil:
	case p.fd < 0:
		err = errTaken
	default:
		*l = append(*l, p)
		return nil
	}
	unix.Close(parent)
	return fmt.Errorf("%s: %w", at, err)
}

// hold makes the node or opens it, and locks it; false when it went away again.
func (p *placeholder) hold() (bool, error) {
	if err := p.open(); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return false, err
	}
	var stat unix.Stat_t
	err := unix.Flock(p.fd, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		err = unix.Fstat(p.fd, &stat)
	}
	if err == nil && (!isPlaceholder(&stat) || p.directory != (kindOf(stat.Mode) == bwrap.Directory)) {
		err = errTaken
	}
	p.dev, p.ino = stat.Dev, stat.Ino
	if err == nil && p.current() {
		return true, nil
	}
	unix.Close(p.fd)
	p.fd = -1
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return false, err
}

// open makes the node if there is none, and opens it.
func (p *placeholder) open() error {
	name, flags := p.at.Base(), uint64(unix.O_RDONLY|unix.O_NONBLOCK)
	var err error
	if p.directory {
		flags |= unix.O_DIRECTORY
		err = unix.Mkdirat(p.parent, name, directoryMode)
	} else {
		var fd int
		fd, err = openBelow(p.parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY, fileMode)
		if err == nil {
			err = unix.Close(fd)
		}
	}
	made := err == nil
	if !made && !errors.Is(err, unix.EEXIST) {
		return err
	}
	if p.fd, err = openBelow(p.parent, name, flags, 0); err != nil {
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			return errTaken
		}
		return err
	}
	if made {
		mode := uint32(fileMode)
		if p.directory {
			mode = directoryMode
		}
		return unix.Fchmod(p.fd, mode) // whatever the umask takes from others
	}
	return nil
}

// current reports whether the name still leads to the node.
func (p *placeholder) current() bool {
	var stat unix.Stat_t
	err := unix.Fstatat(p.parent, p.at.Base(), &stat, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && stat.Dev == p.dev && stat.Ino == p.ino
}

// include reports whether the placeholder at the path is among them.
func (l placeholders) include(at ir.Path) bool {
	return slices.ContainsFunc(l, func(p placeholder) bool { return p.at == at })
}

// last is the node that was added last.
func (l placeholders) last() *node {
	p := l[len(l)-1]
	n := &node{path: p.at, real: p.at, kind: bwrap.File}
	if p.directory {
		n.kind = bwrap.Directory
	}
	n.stat.Dev, n.stat.Ino, n.stat.Nlink = p.dev, p.ino, 1
	return n
}

// remove takes away every placeholder that no other run holds and that is still
// the empty node we know, children first. What somebody replaced or filled stays;
// left names it.
func (l *placeholders) remove() (left []ir.Path, err error) {
	for i := len(*l) - 1; i >= 0; i-- {
		p := &(*l)[i]
		stays, e := p.remove()
		unix.Close(p.fd)
		unix.Close(p.parent)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("remove %s: %w", p.at, e))
		}
		if stays {
			left = append(left, p.at)
		}
	}
	*l = nil
	return left, err
}

func (p *placeholder) remove() (stays bool, err error) {
	if err := unix.Flock(p.fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, nil // another run's now
	}
	defer p.openUp()()
	var stat unix.Stat_t
	if err := unix.Fstat(p.fd, &stat); err != nil {
		return true, err
	}
	switch {
	case stat.Nlink == 0:
		return false, nil // somebody has removed it
	case !p.current() || !p.ours(&stat):
		return true, nil
	case !p.directory:
		return false, unix.Unlinkat(p.parent, p.at.Base(), 0)
	}
	err = unix.Unlinkat(p.parent, p.at.Base(), unix.AT_REMOVEDIR)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return p.fill()
	}
	return false, err
}

// ours reports whether the node is still what we made. The command may have
// changed the mode of a directory: that leads to what is masked, and is not masked
// itself.
func (p *placeholder) ours(stat *unix.Stat_t) bool {
	if p.directory {
		return kindOf(stat.Mode) == bwrap.Directory && int(stat.Uid) == os.Geteuid()
	}
	return marked(stat)
}

// openUp gives the caller's own directory that p is in the permissions back which
// the command has taken away, until shut is called.
func (p *placeholder) openUp() (shut func()) {
	var stat unix.Stat_t
	const enter = 0o300
	if unix.Fstat(p.parent, &stat) != nil || stat.Mode&enter == enter || int(stat.Uid) != os.Geteuid() {
		return func() {}
	}
	parent := fmt.Sprintf("/proc/self/fd/%d", p.parent)
	unix.Chmod(parent, stat.Mode&0o7777|enter)
	return func() { unix.Chmod(parent, stat.Mode&0o7777) }
}

// fill says of a directory that is not empty whether it stays for good: not while
// another run's placeholder is in it, which removes both.
func (p *placeholder) fill() (stays bool, err error) {
	switch only, err := holdsPlaceholders(p.fd); {
	case err != nil:
		return true, err
	case !only:
		return true, unix.Fchmod(p.fd, 0o700) // an ordinary directory from now on
	}
	return false, nil
}

// holdsPlaceholders reports whether nothing but placeholders lies in a directory.
func holdsPlaceholders(fd int) (bool, error) {
	names, err := namesIn(fd)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		var stat unix.Stat_t
		if unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil || !marked(&stat) {
			return false, nil
		}
	}
	return true, nil
}

// placeholder reports whether the node at a path was made by a run, so that it counts
// as missing. Anybody may give what is his own a placeholder's mode, a command of an
// earlier run too: it is one only where a run would make it, inside a write, a file for
// what a rule protects, and a directory, in which there is nothing else, for what leads
// there.
func (s *survey) placeholder(at ir.Path, n *node) bool {
	if !n.exists() || !isPlaceholder(&n.stat) || !s.inWrite(at) {
		return false
	}
	protected := func(at func(ir.Path) bool) bool {
		return slices.ContainsFunc(s.policy.Files, func(r ir.FileRule) bool { return r.Level < ir.Write && !r.Optional && at(r.Path) })
	}
	itself := func(p ir.Path) bool { return p == at }
	if kindOf(n.stat.Mode) == bwrap.File {
		return protected(itself)
	}
	if !protected(at.Above) || s.named(at) {
		return false
	}
	fd, err := openBelow(unix.AT_FDCWD, n.real.String(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	only, err := holdsPlaceholders(fd)
	return err == nil && only
}

// named reports whether a rule names a path that has to be there.
func (s *survey) named(at ir.Path) bool {
	return slices.ContainsFunc(s.policy.Files, func(r ir.FileRule) bool { return r.Path == at && !r.Optional }) ||
		slices.ContainsFunc(s.policy.Execute, func(r ir.ExecuteRule) bool { return r.Path == at && !r.Optional })
}
