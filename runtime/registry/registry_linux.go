package registry

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// Registry is the directory that the live runs of one user are registered in. An
// entry is a file named by a number; its run is alive while a lock on the byte of
// that number in the file "lock" is held, which the kernel drops with the process.
// The lock file cannot be opened for reading, by its mode, nor for writing through
// a read-only mount: so no command that is shown the registry can hold a lock
// there. The first byte is held by whoever compares entries and admits a run.
type Registry struct {
	path      string
	dir, lock int
	// aside are the entries of runs of ours, whose locks this opening does not see,
	// and those of the dead that were left.
	aside map[int64]bool
}

// Place is where the registry of a user is: below /run for root, below /tmp for
// everybody else. A reboot empties both.
func Place(uid int) string {
	if uid == 0 {
		return "/run/obspc"
	}
	return fmt.Sprintf("/tmp/obspc-%d", uid)
}

const (
	lockName  = "lock"
	directory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// Open opens the registry at path, and makes it where there is none. What is there
// has to be the caller's alone, in a directory where nobody else can replace it.
func Open(path string) (*Registry, error) {
	at := strings.LastIndexByte(path, '/')
	above, name := path[:at+1], path[at+1:]
	parent, err := unix.Open(above, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: above, Err: err}
	}
	defer unix.Close(parent)
	if err := safeParent(parent, above); err != nil {
		return nil, err
	}
	r := &Registry{path: path, dir: -1, lock: -1, aside: map[int64]bool{}}
	if r.dir, err = openOrMake(parent, name); err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	// systemd-tmpfiles, which takes away what is old in /tmp, passes over a directory
	// that is locked so (systemd.io, Using /tmp/ and /var/tmp/ Safely). Whoever has it
	// locked already does the same for us.
	unix.Flock(r.dir, unix.LOCK_SH|unix.LOCK_NB)
	if err = r.own(); err == nil {
		r.lock, err = openLock(r.dir)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// safeParent holds a directory to be one in which nobody but root and the caller
// can replace what the caller makes.
func safeParent(fd int, path string) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	const othersWrite = unix.S_IWGRP | unix.S_IWOTH
	if stat.Uid != 0 && int(stat.Uid) != os.Geteuid() || stat.Mode&othersWrite != 0 && stat.Mode&unix.S_ISVTX == 0 {
		return &UnsafeError{path, "others may replace what is in it"}
	}
	return nil
}

// UnsafeError is a place that is not the caller's alone.
type UnsafeError struct{ Path, Reason string }

func (e *UnsafeError) Error() string { return e.Path + ": " + e.Reason }

func openOrMake(parent int, name string) (int, error) {
	fd, err := unix.Openat(parent, name, directory, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if err := unix.Mkdirat(parent, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return unix.Openat(parent, name, directory, 0)
}

// own holds the directory to be the caller's alone.
func (r *Registry) own() error {
	var stat unix.Stat_t
	if err := unix.Fstat(r.dir, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: r.path, Err: err}
	}
	switch {
	case int(stat.Uid) != os.Geteuid():
		return &UnsafeError{r.path, fmt.Sprintf("it belongs to user %d", stat.Uid)}
	case stat.Mode&0o7777 != 0o700:
		return &UnsafeError{r.path, fmt.Sprintf("its mode is %04o and has to be 0700", stat.Mode&0o7777)}
	}
	return nil
}

// openLock opens the lock file, which can only be written, and makes it.
func openLock(dir int) (int, error) {
	const flags, mode = unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC, 0o200
	fd, err := unix.Openat(dir, lockName, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		fd, err = unix.Openat(dir, lockName, flags|unix.O_CREAT, mode)
		if err == nil {
			err = unix.Fchmod(fd, mode)
		}
	}
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: lockName, Err: err}
	}
	return fd, nil
}

// Path is where the registry is.
func (r *Registry) Path() string { return r.path }

// Close gives the registry up. Runs that began in it and did not end count as dead.
func (r *Registry) Close() {
	for _, fd := range []*int{&r.lock, &r.dir} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// hold locks byte n for this opening of the registry (F_OFD_SETLK, fcntl(2)); false
// when somebody else holds it.
func (r *Registry) hold(n int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: n, Len: 1}
	err := unix.FcntlFlock(uintptr(r.lock), unix.F_OFD_SETLK, &l)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("fcntl", err)
}

func (r *Registry) free(n int64) {
	l := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Start: n, Len: 1}
	unix.FcntlFlock(uintptr(r.lock), unix.F_OFD_SETLK, &l)
}

// held reports whether another opening holds byte n.
func (r *Registry) held(n int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: n, Len: 1}
	err := unix.FcntlFlock(uintptr(r.lock), unix.F_OFD_GETLK, &l)
	return err == nil && l.Type != unix.F_UNLCK, os.NewSyscallError("fcntl", err)
}

// name is the file of entry n.
func name(n int64) string { return fmt.Sprintf("%016x", n) }

// entries lists the numbers of all entries.
func (r *Registry) entries() ([]int64, error) {
	if _, err := unix.Seek(r.dir, 0, io.SeekStart); err != nil {
		return nil, &os.PathError{Op: "read", Path: r.path, Err: err}
	}
	var out []int64
	buffer := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(r.dir, buffer)
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: r.path, Err: err}
		}
		if n <= 0 {
			return out, nil
		}
		_, _, names := unix.ParseDirent(buffer[:n], -1, nil)
		for _, text := range names {
			if n, err := strconv.ParseInt(text, 16, 64); err == nil && n > 0 && name(n) == text {
				out = append(out, n)
			}
		}
	}
}

// read is the text of entry n; false when there is none any more.
func (r *Registry) read(n int64) (string, bool, error) {
	fd, err := unix.Openat(r.dir, name(n), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return "", false, nil
	}
	if err != nil {
		return "", false, &os.PathError{Op: "open", Path: r.path + "/" + name(n), Err: err}
	}
	file := os.NewFile(uintptr(fd), name(n))
	defer file.Close()
	text, err := io.ReadAll(file)
	return string(text), err == nil, err
}

// Dead is the entry of a run that is gone. Nobody else takes care of it until it
// is left or removed.
type Dead struct {
	*Entry
	// Fault is why the entry cannot be read, Path its file.
	Fault error
	Path  string

	registry *Registry
	number   int64
}

// Remove takes the entry away: nothing of the run is left.
func (d *Dead) Remove() error {
	err := unix.Unlinkat(d.registry.dir, name(d.number), 0)
	d.registry.free(d.number)
	if err != nil {
		return &os.PathError{Op: "remove", Path: d.Path, Err: err}
	}
	return nil
}

// Leave leaves the entry to a later run. It is in nobody's way: nothing of the dead
// run may be alive.
func (d *Dead) Leave() {
	d.registry.aside[d.number] = true
	d.registry.free(d.number)
}

// Dead takes the entries of all runs that are gone, but for those it has left
// before.
func (r *Registry) Dead() ([]*Dead, error) {
	all, err := r.entries()
	var out []*Dead
	for _, n := range all {
		if err != nil {
			break
		}
		if r.aside[n] {
			continue
		}
		var d *Dead
		if d, err = r.take(n); d != nil {
			out = append(out, d)
		}
	}
	if err != nil {
		for _, d := range out {
			d.Leave()
		}
		return nil, err
	}
	return out, nil
}

// take takes entry n if its run is gone, and nobody else has taken it.
func (r *Registry) take(n int64) (*Dead, error) {
	if held, err := r.held(n); held || err != nil {
		return nil, err
	}
	if mine, err := r.hold(n); !mine || err != nil {
		return nil, err
	}
	text, there, err := r.read(n)
	if !there {
		r.free(n)
		return nil, err
	}
	d := &Dead{Path: r.path + "/" + name(n), registry: r, number: n}
	d.Entry, d.Fault = ParseEntry(text)
	return d, nil
}

// Run is the entry of a run of ours.
type Run struct {
	registry *Registry
	number   int64
	file     int
	held     []Placeholder // of the runs that were alive when it was admitted
}

// Begin makes an entry. The run can note from then on what it makes, and may not
// yet start anything.
func (r *Registry) Begin(policy string) (*Run, error) {
	for {
		var b [8]byte
		rand.Read(b[:])
		n := int64(binary.LittleEndian.Uint64(b[:]) >> 2)
		if n == 0 {
			continue // the first byte is for admitting runs
		}
		// Locked before it can be found, so nobody takes it for a dead one.
		if mine, err := r.hold(n); err != nil {
			return nil, err
		} else if !mine {
			continue
		}
		fd, err := unix.Openat(r.dir, name(n), unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			r.free(n)
			return nil, &os.PathError{Op: "make", Path: r.path + "/" + name(n), Err: err}
		}
		r.aside[n] = true
		run := &Run{registry: r, number: n, file: fd}
		if err := run.note(opening(policy, os.Getpid(), time.Now())); err != nil {
			return nil, errors.Join(err, run.End())
		}
		return run, nil
	}
}

// note adds lines to the entry. They are not forced to a disk: they have to outlive
// this process, not the machine, whose start empties the registry.
func (run *Run) note(lines string) error {
	n, err := unix.Write(run.file, []byte(lines))
	if err == nil && n < len(lines) {
		err = unix.ENOSPC
	}
	if err != nil {
		return fmt.Errorf("write down what the run makes: %w", err)
	}
	return nil
}

// NoteFresh says that a workspace is about to be made, or which node it is.
func (run *Run) NoteFresh(n Node) error { return run.note(n.freshLine()) }

// NotePlaceholders says that they are about to be made, or which nodes they are.
func (run *Run) NotePlaceholders(list []Placeholder) error {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.line())
	}
	return run.note(b.String())
}

// NoteLaunch says which process bubblewrap is, and when it was about to be started.
func (run *Run) NoteLaunch(bwrap int, at int64) error {
	return run.note(fmt.Sprintf("launch %d %d\n", bwrap, at))
}

// NoteInit says which process PID 1 of the sandbox is.
func (run *Run) NoteInit(pid int, start uint64) error {
	return run.note(fmt.Sprintf("init %d %d\n", pid, start))
}

// End takes the entry away: the run has left nothing.
func (run *Run) End() error {
	err := unix.Unlinkat(run.registry.dir, name(run.number), 0)
	run.Leave()
	return err
}

// Leave leaves the entry to a later run, for what could not be taken away.
func (run *Run) Leave() {
	unix.Close(run.file)
	run.registry.free(run.number)
}

// Other is a conflict with a run that is alive.
type Other struct {
	Conflict
	Entry *Entry
}

// The errors of Admit. ErrDead: a run has died since Dead was asked. ErrBusy:
// whoever admits another run does not end. ErrStopped: stop said so.
var (
	ErrDead    = errors.New("a run has died meanwhile")
	ErrBusy    = errors.New("another obsrun holds the registry and does not go on")
	ErrStopped = errors.New("stopped")
)

// admitTime is how long Admit waits for others; they take microseconds.
const admitTime = 10 * time.Second

// Admit compares a claim with those of all live runs, and registers it if it is in
// nobody's way. A run is admitted once, before it makes anything but a workspace.
func (run *Run) Admit(c *Claim, below func(ir.Path) []Node, stop func() bool) (*Other, error) {
	r := run.registry
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		mine, err := r.hold(0)
		if err != nil {
			return nil, err
		}
		if mine {
			break
		}
		switch {
		case stop():
			return nil, ErrStopped
		case time.Since(began) > admitTime:
			return nil, ErrBusy
		}
	}
	defer r.free(0)
	other, err := run.compare(c, below)
	if other != nil || err != nil {
		return other, err
	}
	return nil, run.note(c.text())
}

func (run *Run) compare(c *Claim, below func(ir.Path) []Node) (*Other, error) {
	all, err := run.registry.entries()
	if err != nil {
		return nil, err
	}
	run.held = nil
	for _, n := range all {
		if run.registry.aside[n] {
			continue
		}
		held, err := run.registry.held(n)
		if err != nil {
			return nil, err
		}
		text, there, err := run.registry.read(n)
		switch {
		case err != nil:
			return nil, err
		case !there:
			continue
		case !held:
			return nil, ErrDead
		}
		e, err := ParseEntry(text)
		if err != nil {
			return nil, &ForeignError{run.registry.path + "/" + name(n), err}
		}
		if e.Claim == nil {
			continue // it will be compared with us
		}
		if conflict := Between(c, e.Claim, below); conflict != nil {
			return &Other{*conflict, e}, nil
		}
		run.held = append(run.held, e.Made.Placeholders...)
	}
	return nil, nil
}

// Held are the placeholders of the runs that were alive when this one was admitted,
// made or about to be. What another run makes later it makes where nothing was.
func (run *Run) Held() []Placeholder { return run.held }

// ForeignError is a live run whose entry cannot be read: another obsrun's.
type ForeignError struct {
	Path string
	Err  error
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is the entry of a live run of another obsrun: %v", e.Path, e.Err)
}
