package runtime

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// freshParent is where fresh workspaces are made. A reboot empties it, should a
// run be cut off before it cleans up.
const freshParent = "/tmp"

// freshWorkspace makes a new directory that only this user may enter.
func freshWorkspace() (ir.Path, error) {
	dir, err := os.MkdirTemp(freshParent, "obspc-workspace-")
	if err != nil {
		return ir.Path{}, fmt.Errorf("make a workspace: %w", err)
	}
	return ir.NewPath(ir.Host, dir)
}

// removeTree removes the directory at and everything in it. No link is followed,
// a directory without permissions is opened up first, and depth costs memory for
// names only: a command may have left a tree that is deeper than a process has
// descriptors. Nobody else may be changing the tree.
func removeTree(at ir.Path) error {
	parent, ok := at.Parent()
	if !ok {
		return errors.New("remove /: refused")
	}
	dir, err := openBelow(unix.AT_FDCWD, parent.String(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("remove %s: %w", at, err)
	}
	r := remover{fd: dir}
	err = r.remove(at.Base())
	unix.Close(r.fd)
	if err != nil {
		return fmt.Errorf("remove %s: %w", at, err)
	}
	return nil
}

// remover stands in a directory and empties what lies below it.
type remover struct {
	fd    int
	names []string // the directories from where it began down to fd
}

// remove empties and removes the directory name of r.fd, depth first.
func (r *remover) remove(name string) error {
	if err := r.enter(name); err != nil {
		return err
	}
	for len(r.names) > 0 {
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

// empty removes what it can of the current directory and names a subdirectory
// that is not empty, if there is one.
func (r *remover) empty() (deeper string, err error) {
	names, err := namesIn(r.fd)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		err := unix.Unlinkat(r.fd, name, 0)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
			err = unix.Unlinkat(r.fd, name, unix.AT_REMOVEDIR)
		}
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
		case errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST):
			return name, nil
		default:
			return "", err
		}
	}
	return "", nil
}

// enter steps into the directory name.
func (r *remover) enter(name string) error {
	// The command may have taken its own directories' permissions away.
	if err := unix.Fchmodat(r.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		if err := chmodDirectory(r.fd, name); err != nil {
			return err
		}
	}
	fd, err := openBelow(r.fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	unix.Close(r.fd)
	r.fd = fd
	r.names = append(r.names, name)
	return nil
}

// leave steps out of the current, empty directory and removes it.
func (r *remover) leave() error {
	fd, err := unix.Openat(r.fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(r.fd)
	r.fd = fd
	name := r.names[len(r.names)-1]
	r.names = r.names[:len(r.names)-1]
	return unix.Unlinkat(r.fd, name, unix.AT_REMOVEDIR)
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
