package runtime

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// workspaceWatch sums up what lies in the workspace.
type workspaceWatch struct {
	dir     *os.File
	sandbox *os.File // its /proc: files without a name are found through it
	dev     uint64
	size    int64
}

// openWorkspace opens what is needed to sum up the workspace.
func (r *execution) openWorkspace(root string, size int64) (*workspaceWatch, error) {
	at, _ := r.binding.At(ir.Workspace)
	fd, err := openBelow(unix.AT_FDCWD, at.String(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	w := &workspaceWatch{dir: os.NewFile(uintptr(fd), at.String()), size: size}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err == nil {
		w.dev = stat.Dev
		w.sandbox, err = openProcesses(root)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *workspaceWatch) close() {
	w.dir.Close()
	if w.sandbox != nil {
		w.sandbox.Close()
	}
}

func (w *workspaceWatch) look(stop func() bool) *breach {
	s := summation{stop: stop, most: w.size, seen: map[inode]bool{}}
	err := s.directory(int(w.dir.Fd()), ".", 0)
	if err == nil {
		err = w.nameless(&s)
	}
	return w.judge(&s, err)
}

// lookAtLast is look once all processes are gone, and the files without a name with
// them.
func (w *workspaceWatch) lookAtLast() *breach {
	s := summation{stop: func() bool { return false }, most: w.size, seen: map[inode]bool{}}
	return w.judge(&s, s.directory(int(w.dir.Fd()), ".", 0))
}

func (w *workspaceWatch) judge(s *summation, err error) *breach {
	switch {
	case errors.Is(err, errInterrupted):
		return nil
	case s.bytes > w.size:
		return &breach{limit: ir.WorkspaceSize, how: fmt.Sprintf("it held more than %d MiB, each name counting %d bytes beside the file", s.bytes>>20, nameCost)}
	case err != nil:
		return &breach{limit: ir.WorkspaceSize, how: err.Error(), lost: true}
	}
	return nil
}

// nameless adds the files that some process has open and that have no name any
// more. Which directory they were in cannot be told: those on the workspace's file
// system count.
func (w *workspaceWatch) nameless(s *summation) error {
	t := treeWatch{sandbox: w.sandbox}
	pids, err := t.pids()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		err := t.openFiles(pid, func(f openFile) {
			if f.dev == w.dev && !s.seen[f.inode] {
				s.seen[f.inode] = true
				s.bytes += f.bytes
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// summation adds up what a tree takes on its file system: the blocks of each file
// once, and nameCost for each name. It goes on until that is more than most.
type summation struct {
	stop  func() bool
	most  int64
	bytes int64
	seen  map[inode]bool // files with several names
}

// deepest is how many directories may lie in each other: each is held open while
// what is below it is summed up.
const deepest = 512

// directory adds what lies in the directory name of dir. What goes away meanwhile
// is passed over; no link is followed.
func (s *summation) directory(dir int, name string, depth int) error {
	if depth > deepest {
		return fmt.Errorf("its directories lie in each other deeper than %d", deepest)
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("a directory of it (%q) cannot be read: %w", name, err)
	}
	defer unix.Close(fd)
	buffer := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if errors.Is(err, unix.ENOENT) {
			return nil // removed meanwhile
		}
		if err != nil {
			return fmt.Errorf("a directory of it (%q) cannot be read: %w", name, err)
		}
		if n <= 0 {
			return nil
		}
		_, _, names := unix.ParseDirent(buffer[:n], -1, nil)
		for _, n := range names {
			if err := s.entry(fd, n, depth); err != nil {
				return err
			}
		}
	}
}

// errEnough is a sum that is past the limit: there is no need to go on.
var errEnough = errors.New("enough")

func (s *summation) entry(dir int, name string, depth int) error {
	if s.stop() {
		return errInterrupted
	}
	var stat unix.Stat_t
	err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%q in it cannot be seen: %w", name, err)
	}
	s.bytes += nameCost
	at := inode{stat.Dev, stat.Ino}
	directory := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	if directory || stat.Nlink < 2 || !s.seen[at] {
		s.bytes += stat.Blocks * blockSize
	}
	if !directory && stat.Nlink > 1 {
		s.seen[at] = true
	}
	switch {
	case s.bytes > s.most:
		return errEnough
	case directory:
		return s.directory(dir, name, depth+1)
	}
	return nil
}

// checkWorkspace refuses a workspace that is past its limit before the command
// starts.
func (r *execution) checkWorkspace() *Refusal {
	size, ok := r.linux.Plan.Limit(ir.WorkspaceSize)
	at, bound := r.binding.At(ir.Workspace)
	if !ok || !bound || r.fresh == at {
		return nil
	}
	fd, err := openBelow(unix.AT_FDCWD, at.String(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return refuse(Machine, "", "the workspace cannot be summed up: %v", err)
	}
	defer unix.Close(fd)
	s := summation{stop: func() bool { return false }, most: size, seen: map[inode]bool{}}
	err = s.directory(fd, ".", 0)
	l := r.limitOf(ir.WorkspaceSize)
	switch {
	case s.bytes > size:
		return refuse(No, "take something away, or raise limits.workspace_size", "the workspace %s holds more than its limit of %s already", at, l.Amount())
	case err != nil:
		return refuse(Machine, "", "the workspace's size cannot be watched: %v", err)
	}
	return nil
}
