package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/cgroup"
	"github.com/obspc/obspc/targets/bwrap"
)

// treeWatch sums up what the processes of a sandbox use together.
type treeWatch struct {
	sandbox           *os.File      // its /proc; nil when processes are not looked at
	memory, processes int64         // limits; 0: not watched
	group             *cgroup.Group // must keep its limits; nil: there is none
	grouped           ir.LimitName  // one that it keeps
	memories          []memoryMount
}

// memoryMount is a memory file system of the sandbox.
type memoryMount struct {
	dir   *os.File
	at    ir.Path
	limit ir.LimitName // what states its size
	size  int64
	dev   uint64
}

// nameCost is the kernel's memory for one name in a memory file system, in bytes.
// The kernel counts as much where it counts names and attributes together
// (BOGO_INODE_SIZE, mm/shmem.c).
const nameCost = 1 << 10

// freeNames is how many names every memory file system may have.
const freeNames = 1 << 10

func (t *treeWatch) addMemory(root string, e bwrap.Entry) error {
	dir, err := openInside(root, e.Path.String(), unix.TMPFS_MAGIC)
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		dir.Close()
		return err
	}
	t.memories = append(t.memories, memoryMount{dir, e.Path, sizedBy(e.Path), e.Size, stat.Dev})
	return nil
}

// sizedBy is the limit that says how large the memory file system at a path is.
func sizedBy(at ir.Path) ir.LimitName {
	if at == tmpInside {
		return ir.TmpSize
	}
	return shmLimit
}

// idle reports whether there is nothing to look at.
func (t *treeWatch) idle() bool { return t.sandbox == nil && t.group == nil && len(t.memories) == 0 }

func (t *treeWatch) close() {
	for _, m := range t.memories {
		m.dir.Close()
	}
	if t.sandbox != nil {
		t.sandbox.Close()
	}
}

func (t *treeWatch) look(stop func() bool) *breach {
	if t.group != nil {
		if err := t.group.Keeps(); err != nil {
			return &breach{limit: t.grouped, how: "its cgroup lost it: " + err.Error(), lost: true}
		}
	}
	var files int64
	for _, m := range t.memories {
		used, names, err := m.used()
		if err != nil {
			return &breach{limit: m.limit, how: err.Error(), lost: true}
		}
		if most := m.size/nameCost + freeNames; names > most {
			return &breach{limit: m.limit, how: fmt.Sprintf("%s had %d names, and each counts %d bytes", m.at, names, nameCost)}
		}
		files += used + names*nameCost
	}
	if t.sandbox == nil {
		return nil
	}
	return t.lookAtProcesses(files, stop)
}

// used is what a memory file system holds, in bytes, and under how many names.
func (m memoryMount) used() (bytes, names int64, err error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(m.dir.Fd()), &stat); err != nil {
		return 0, 0, err
	}
	return int64(stat.Blocks-stat.Bfree) * stat.Bsize, int64(stat.Files - stat.Ffree), nil
}

// full reports whether nothing more can be written.
func (m memoryMount) full() bool {
	var stat unix.Statfs_t
	return unix.Fstatfs(int(m.dir.Fd()), &stat) == nil && stat.Bfree == 0
}

// lookAtProcesses compares what the processes use with the limits. Files is what
// the memory file systems hold.
func (t *treeWatch) lookAtProcesses(files int64, stop func() bool) *breach {
	pids, err := t.pids()
	if err != nil {
		return &breach{limit: ir.Memory, how: err.Error(), lost: true}
	}
	var tasks int64
	var all []process
	for _, pid := range pids {
		if stop() {
			return nil
		}
		p, err := t.status(pid)
		if gone(err) {
			continue
		}
		if err != nil {
			return &breach{limit: ir.Memory, how: err.Error(), lost: true}
		}
		tasks += p.threads
		all = append(all, p)
	}
	tasks-- // PID 1 is bubblewrap
	if t.processes > 0 && tasks > t.processes {
		return &breach{limit: ir.Processes, how: fmt.Sprintf("there were %d", tasks)}
	}
	if t.memory == 0 {
		return nil
	}
	used, err := t.used(all, files)
	switch {
	case err != nil:
		return &breach{limit: ir.Memory, how: err.Error(), lost: true}
	case used > t.memory:
		return &breach{limit: ir.Memory, how: fmt.Sprintf("%d MiB were in use", used>>20)}
	}
	return nil
}

// used is the memory in use, in bytes: what processes have for themselves, each
// page of it once, what is swapped out of it, their page tables, and what lies in
// memory file systems and memory files. Nothing is counted exactly while an upper
// bound is below the limit.
func (t *treeWatch) used(all []process, files int64) (int64, error) {
	unlinked, err := t.memoryFiles(all)
	if err != nil {
		return 0, err
	}
	for _, bytes := range unlinked {
		files += bytes
	}
	most := files
	for _, p := range all {
		most += p.resident + p.tables
	}
	if most <= t.memory {
		return most, nil
	}
	total := files
	for _, p := range all {
		n, err := t.exact(p, unlinked)
		if err != nil && !gone(err) {
			return 0, err
		}
		total += n + p.tables
	}
	return total, nil
}

// pids are the processes of the sandbox, by their numbers inside.
func (t *treeWatch) pids() ([]string, error) {
	names, err := namesIn(int(t.sandbox.Fd()))
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("list the sandbox's processes: %w", err)
	}
	pids := names[:0]
	for _, n := range names {
		if n[0] >= '1' && n[0] <= '9' {
			pids = append(pids, n)
		}
	}
	return pids, nil
}

// file reads a file of a process of the sandbox.
func (t *treeWatch) file(pid, name string) ([]byte, error) {
	fd, err := unix.Openat(int(t.sandbox.Fd()), path.Join(pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(f)
}

// gone reports whether an error is that of a process that has ended meanwhile.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// memoryDevice is the device number of memory files (memfd_create(2)), of shared
// anonymous memory and of System V segments: one file system that nobody mounts.
func memoryDevice() (uint64, error) {
	fd, err := unix.MemfdCreate("device", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	return stat.Dev, err
}

// memoryFiles are the memory files that some process has open, and their sizes.
func (t *treeWatch) memoryFiles(all []process) (map[inode]int64, error) {
	dev, err := memoryDevice()
	if err != nil {
		return nil, err
	}
	out := map[inode]int64{}
	for _, p := range all {
		err := t.openFiles(p.pid, func(f openFile) {
			if f.dev == dev {
				out[f.inode] = f.bytes
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inode is a file on this machine.
type inode struct{ dev, ino uint64 }

// openFile is a regular file without a name that a process has open.
type openFile struct {
	inode
	bytes int64
}

// openFiles visits the files of a process that have no name any more: those that
// no walk through directories finds. Files that were handed over and are in no
// process at the moment are not found.
func (t *treeWatch) openFiles(pid string, visit func(openFile)) error {
	fd, err := unix.Openat(int(t.sandbox.Fd()), path.Join(pid, "fd"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t.unlessGone(pid, err)
	}
	defer unix.Close(fd)
	names, err := namesIn(fd)
	if err != nil {
		return t.unlessGone(pid, err)
	}
	for _, n := range names {
		if _, err := strconv.Atoi(n); err != nil {
			continue
		}
		var stat unix.Statx_t
		// A server of files that does not answer is not waited for.
		err := unix.Statx(fd, n, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO|unix.STATX_BLOCKS, &stat)
		if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 0 {
			continue // closed meanwhile, or found by its name
		}
		visit(openFile{inode{unix.Mkdev(stat.Dev_major, stat.Dev_minor), stat.Ino}, int64(stat.Blocks) * blockSize})
	}
	return nil
}

// blockSize is the unit of st_blocks, in bytes (stat(2)).
const blockSize = 512

// unlessGone is the error with which a process's open files could not be seen, nil
// when it has none any more: a process that ends belongs to root by then.
func (t *treeWatch) unlessGone(pid string, err error) error {
	if gone(err) {
		return nil
	}
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	switch p, err := t.status(pid); {
	case gone(err) || err == nil && p.ended:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("process %s of the sandbox hides what it has open (PR_SET_DUMPABLE, or a program that may be executed and not read)", pid)
}
