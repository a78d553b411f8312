package runtime

import (
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/registry"
)

// freshParent is where fresh workspaces are made. A reboot empties it, should a
// run be cut off before it cleans up.
const freshParent = "/tmp"

// freshPrefix begins the name of every fresh workspace.
const freshPrefix = "obspc-workspace-"

// freshWorkspace makes a new directory that only this user may enter. Its name is
// noted before, and what it is known by after that.
func freshWorkspace(note func(registry.Node) error) (ir.Path, error) {
	at, err := ir.NewPath(ir.Host, freshParent+"/"+freshPrefix+rand.Text())
	if err == nil {
		err = note(registry.Node{Path: at})
	}
	if err == nil {
		err = unix.Mkdir(at.String(), 0o700)
	}
	if err != nil {
		return ir.Path{}, fmt.Errorf("make a workspace: %w", err)
	}
	made, _ := nodeAt(at)
	if err := note(made); err != nil {
		return ir.Path{}, errors.Join(err, unix.Rmdir(at.String()))
	}
	return at, nil
}

// errInterrupted is a removal that was broken off. What is gone by then is gone.
var errInterrupted = errors.New("broken off before all of it was removed")

// removeTree removes the directory at and everything in it, in time that grows
// with the number of entries; it gives up with errInterrupted once stop says so.
// No link is followed, a directory without permissions is opened up first, and
// depth costs memory for names only: a command may have left a tree that is deeper
// than a process has descriptors. Nobody else may be changing the tree.
func removeTree(at ir.Path, stop func() bool) error {
	parent, ok := at.Parent()
	if !ok {
		return errors.New("remove /: refused")
	}
	dir, err := openBelow(unix.AT_FDCWD, parent.String(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("remove %s: %w", at, err)
	}
	r := remover{stop: stop, levels: []level{{fd: dir}}}
	err = r.remove(at.Base())
	r.close()
	if err != nil {
		return fmt.Errorf("remove %s: %w", at, err)
	}
	return nil
}

// remover empties directories, depth first. The first level holds what is removed
// and is not emptied itself.
type remover struct {
	stop   func() bool
	levels []level
}

// level is a directory that is being emptied.
type level struct {
	name string // in the level above
	fd   int    // at the place up to which it was read; -1 while it is closed
	// dev and ino are those of a directory that was closed.
	dev, ino uint64
	names    []string // read and not yet dealt with
	removed  bool     // something of it, since it was last read from its beginning
}

// openLevels is how many directories are kept open. Deeper ones are closed while
// what lies below them is removed, and read from the beginning after that.
const openLevels = 64

func (r *remover) top() *level { return &r.levels[len(r.levels)-1] }

func (r *remover) close() {
	for _, l := range r.levels {
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
	}
}

// remove empties and removes the directory name of the first level.
func (r *remover) remove(name string) error {
	if err := r.enter(name); err != nil {
		return err
	}
	for len(r.levels) > 1 {
		deeper, err := r.empty()
		if err != nil {
			return err
		}
		if deeper != "" {
			err = r.enter(deeper)
		} else {
			err = r.leave()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// empty removes what it can of the current directory, up to a subdirectory that
// is not empty, which it names.
func (r *remover) empty() (deeper string, err error) {
	d := r.top()
	for {
		if r.stop() {
			return "", errInterrupted
		}
		if len(d.names) == 0 {
			if err := d.read(r.stop); err != nil || len(d.names) == 0 {
				return "", err
			}
		}
		name := d.names[0]
		d.names = d.names[1:]
		err := unix.Unlinkat(d.fd, name, 0)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
			err = unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR)
		}
		d.removed = true
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
		case errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST):
			return name, nil
		default:
			return "", err
		}
	}
}

// read takes the next names of the directory. At its end it begins anew, until
// nothing is left: what is removed while a directory is read may hide other
// entries from that reading (readdir(3)).
func (d *level) read(stop func() bool) error {
	buffer := make([]byte, 16<<10)
	for {
		if stop() {
			return errInterrupted
		}
		n, err := unix.ReadDirent(d.fd, buffer)
		if err != nil {
			return err
		}
		if n > 0 {
			if _, _, d.names = unix.ParseDirent(buffer[:n], -1, nil); len(d.names) > 0 {
				return nil
			}
			continue
		}
		if !d.removed {
			return nil
		}
		d.removed = false
		if _, err := unix.Seek(d.fd, 0, unix.SEEK_SET); err != nil {
			return err
		}
	}
}

// enter steps into the directory name.
func (r *remover) enter(name string) error {
	d := r.top()
	// The command may have taken its own directories' permissions away.
	if err := unix.Fchmodat(d.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		if err := chmodDirectory(d.fd, name); err != nil {
			return err
		}
	}
	fd, err := openBelow(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	if len(r.levels) > openLevels {
		var stat unix.Stat_t
		if err := unix.Fstat(d.fd, &stat); err != nil {
			unix.Close(fd)
			return err
		}
		unix.Close(d.fd)
		d.fd, d.dev, d.ino = -1, stat.Dev, stat.Ino
	}
	r.levels = append(r.levels, level{name: name, fd: fd})
	return nil
}

// leave steps out of the current, empty directory and removes it.
func (r *remover) leave() error {
	left := *r.top()
	r.levels = r.levels[:len(r.levels)-1]
	d := r.top()
	if d.fd < 0 {
		fd, err := unix.Openat(left.fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			unix.Close(left.fd)
			return err
		}
		d.fd = fd
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || stat.Dev != d.dev || stat.Ino != d.ino {
			unix.Close(left.fd)
			return errors.Join(errors.New("somebody else moves its directories"), err)
		}
	}
	unix.Close(left.fd)
	return unix.Unlinkat(d.fd, left.name, unix.AT_REMOVEDIR)
}

// chmodDirectory is fchmodat without following links for kernels before 6.6,
// which have no fchmodat2.
func chmodDirectory(dir int, name string) error {
	fd, err := openBelow(dir, name, pathOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700)
}

// namesIn lists the directory fd from its beginning.
func namesIn(fd int) ([]string, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	var names []string
	buffer := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}
