package runtime

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// node is what a path names on this machine, found without following a link
// unseen.
type node struct {
	path ir.Path
	// kind is what path itself is: Link when its last component is one, Missing
	// when the way ends before it.
	kind bwrap.Kind
	// stat is the node that path leads to, through links; the zero value when
	// there is none.
	stat unix.Stat_t
	// real is path with every link resolved; path itself when there are none.
	real  ir.Path
	links []link // links on the way, path itself included, first met first
	// barred is the directory, if any, that this user may not search.
	barred *barrier
}

// link is one symbolic link on the way to a path.
type link struct {
	at     ir.Path
	target string
	// system: only root could have made it. The link and its directory are
	// root's, and nobody else may put an entry there.
	system bool
}

// barrier is a directory without search permission, and whose it is.
type barrier struct {
	at    ir.Path
	owner uint32
}

// exists reports whether path leads to something.
func (n *node) exists() bool { return n.stat.Ino != 0 }

// maxLinks is how many links the kernel follows in one path (path_resolution(7)).
const maxLinks = 40

// pathOnly opens a node without reading it and without following it.
const pathOnly = unix.O_PATH | unix.O_NOFOLLOW

// openBelow opens name below dir; no link is followed, not even a magic one of
// /proc.
func openBelow(dir int, name string, flags, mode uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{
			Flags: flags | unix.O_CLOEXEC, Mode: mode,
			Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// lookup finds what stands at p. Its errors are the machine's: a kernel without
// openat2, a disk that cannot be read.
func lookup(p ir.Path) (*node, error) {
	n := &node{path: p, real: p}
	fd, err := openBelow(unix.AT_FDCWD, p.String(), pathOnly, 0)
	switch {
	case err == nil:
		err = unix.Fstat(fd, &n.stat)
		unix.Close(fd)
		if err != nil {
			return nil, fmt.Errorf("stat %s: %w", p, err)
		}
		if n.kind = kindOf(n.stat.Mode); n.kind != bwrap.Link {
			return n, nil
		}
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return n, nil // a link before that would have been ELOOP
	case errors.Is(err, unix.ENOSYS):
		return nil, errNoOpenat2
	case !errors.Is(err, unix.ELOOP) && !wayEnds(err):
		return nil, fmt.Errorf("open %s: %w", p, err)
	}
	if err := n.walk(); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return n, nil
}

// errNoOpenat2 is a kernel before 5.6.
var errNoOpenat2 = errors.New("the kernel has no openat2 (Linux 5.6 and later have)")

// wayEnds reports whether err says that a path leads nowhere for this user.
func wayEnds(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)
}

// kindOf is the kind of a node with that mode.
func kindOf(mode uint32) bwrap.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return bwrap.Directory
	case unix.S_IFREG:
		return bwrap.File
	case unix.S_IFSOCK:
		return bwrap.Socket
	case unix.S_IFIFO:
		return bwrap.Fifo
	case unix.S_IFLNK:
		return bwrap.Link
	}
	return bwrap.Device
}

// walk resolves n.path component by component and notes each link it meets.
func (n *node) walk() error {
	w := walker{fd: -1}
	defer w.close()
	if err := w.restart(); err != nil {
		return err
	}
	n.kind, n.stat = bwrap.Missing, unix.Stat_t{}
	last := bwrap.Missing // what path itself is, if the way does not end before
	for rest := strings.Split(n.path.Rel(), "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		met, err := w.step(name)
		if wayEnds(err) {
			n.end(&w, err, append([]string{name}, rest...))
			if last == bwrap.Link {
				n.kind = last // a link to nowhere
			}
			return nil
		}
		if err != nil {
			return err
		}
		if met == nil {
			continue
		}
		if n.links = append(n.links, *met); len(n.links) > maxLinks {
			return errors.New("too many links on the way")
		}
		if len(rest) == 0 {
			last = bwrap.Link
		}
		if strings.HasPrefix(met.target, "/") {
			if err := w.restart(); err != nil {
				return err
			}
		}
		rest = append(strings.Split(met.target, "/"), rest...)
	}
	n.real, n.stat = w.at, w.here
	if n.kind = last; n.kind != bwrap.Link {
		n.kind = kindOf(n.stat.Mode)
	}
	return nil
}

// end notes where the way to n ended, and which names would have come next.
func (n *node) end(w *walker, err error, rest []string) {
	if errors.Is(err, unix.EACCES) {
		n.barred = &barrier{w.at, w.here.Uid}
	}
	n.real = w.at
	for _, name := range rest {
		switch name {
		case "", ".":
		case "..":
			n.real, _ = n.real.Parent()
		default:
			n.real = n.real.Join(name)
		}
	}
}

// walker stands on a node and steps down from it.
type walker struct {
	fd   int // O_PATH
	at   ir.Path
	here unix.Stat_t
}

func (w *walker) close() {
	if w.fd >= 0 {
		unix.Close(w.fd)
	}
}

// restart goes back to "/".
func (w *walker) restart() error {
	w.at = ir.Path{}
	return w.reopen()
}

// reopen stands on w.at, which has no link on the way.
func (w *walker) reopen() error {
	fd, err := openBelow(unix.AT_FDCWD, w.at.String(), pathOnly, 0)
	if err != nil {
		return err
	}
	return w.stand(fd)
}

func (w *walker) stand(fd int) error {
	w.close()
	w.fd = fd
	return unix.Fstat(fd, &w.here)
}

// step goes down to name, or up for ".."; a link it does not follow but returns.
func (w *walker) step(name string) (*link, error) {
	switch name {
	case "", ".":
		return nil, nil
	case "..":
		w.at, _ = w.at.Parent()
		return nil, w.reopen()
	}
	fd, err := openBelow(w.fd, name, pathOnly, 0)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if kindOf(stat.Mode) != bwrap.Link {
		w.at = w.at.Join(name)
		return nil, w.stand(fd)
	}
	defer unix.Close(fd)
	target, err := readLink(fd)
	if err != nil {
		return nil, err
	}
	return &link{at: w.at.Join(name), target: target, system: onlyRoot(&stat, &w.here)}, nil
}

// onlyRoot reports whether nobody but root could have put a link into its
// directory. In a sticky directory others may add entries, but not replace
// root's.
func onlyRoot(link, dir *unix.Stat_t) bool {
	const othersWrite = unix.S_IWGRP | unix.S_IWOTH
	return link.Uid == 0 && dir.Uid == 0 && (dir.Mode&othersWrite == 0 || dir.Mode&unix.S_ISVTX != 0)
}

// readLink is the target of the link that fd stands on.
func readLink(fd int) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buffer)
	if err != nil {
		return "", err
	}
	target := string(buffer[:n])
	if !utf8.ValidString(target) || strings.ContainsFunc(target, unicode.IsControl) {
		return "", fmt.Errorf("a link leads to %q, which no policy can name", target)
	}
	return target, nil
}
