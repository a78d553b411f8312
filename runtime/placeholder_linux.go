package runtime

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// placeholder is an empty file or directory that the runtime made on the host
// for bwrap to mount over, so that a missing protected name stays missing.
type placeholder struct {
	at        ir.Path
	directory bool
	parent    int // the directory it was made in, held open
	dev, ino  uint64
}

// placeholders are those of one run, parents before children.
type placeholders []placeholder

// make puts a placeholder at the path. Nothing is followed and nothing that
// exists is touched: then made is false, which is no error.
func (l *placeholders) make(at ir.Path, directory bool) (made bool, err error) {
	above, _ := at.Parent()
	parent, err := openBelow(unix.AT_FDCWD, above.String(), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", above, err)
	}
	p := placeholder{at: at, directory: directory, parent: parent}
	if err := p.create(); err != nil {
		unix.Close(parent)
		if errors.Is(err, unix.EEXIST) {
			return false, nil
		}
		return false, err
	}
	*l = append(*l, p)
	return true, nil
}

// last is the node that was made last.
func (l placeholders) last() *node {
	p := l[len(l)-1]
	n := &node{path: p.at, real: p.at, kind: bwrap.File}
	if p.directory {
		n.kind = bwrap.Directory
	}
	n.stat.Dev, n.stat.Ino, n.stat.Nlink = p.dev, p.ino, 1
	return n
}

func (p *placeholder) create() error {
	flags := uint64(unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_NOFOLLOW)
	if p.directory {
		if err := unix.Mkdirat(p.parent, p.at.Base(), 0o700); err != nil {
			return fmt.Errorf("make %s: %w", p.at, err)
		}
		flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
	}
	mode := uint64(0)
	if !p.directory {
		mode = 0o600
	}
	fd, err := openBelow(p.parent, p.at.Base(), flags, mode)
	if err != nil {
		return fmt.Errorf("make %s: %w", p.at, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("stat %s: %w", p.at, err)
	}
	p.dev, p.ino = stat.Dev, stat.Ino
	return nil
}

// remove takes away every placeholder that is still the empty node we made,
// children first. What somebody replaced or filled stays, and is not an error;
// left names what stayed.
func (l *placeholders) remove() (left []ir.Path, err error) {
	for i := len(*l) - 1; i >= 0; i-- {
		p := &(*l)[i]
		removed, e := p.remove()
		unix.Close(p.parent)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("remove %s: %w", p.at, e))
		}
		if !removed {
			left = append(left, p.at)
		}
	}
	*l = nil
	return left, err
}

func (p *placeholder) remove() (bool, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(p.parent, p.at.Base(), &stat, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if stat.Dev != p.dev || stat.Ino != p.ino || !p.directory && stat.Size != 0 {
		return false, nil
	}
	flags := 0
	if p.directory {
		flags = unix.AT_REMOVEDIR
	}
	err = unix.Unlinkat(p.parent, p.at.Base(), flags)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return err == nil, err
}
