package runtime

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// start becomes the command: every descriptor but the first three closes, the
// file is held to be the one that was hashed, and it is executed by this thread.
func start(do *instructions) error {
	// Marked and not closed: should execve fail, the socket is still there to say so.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range (Linux 5.11 and later have it): %w", err)
	}
	path := string(do.Path)
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &execError{fmt.Errorf("%s: %w", path, err)}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &execError{fmt.Errorf("%s: %w", path, err)}
	}
	if identityOf(&stat) != do.Command {
		return fmt.Errorf("%s is not the file that was checked", path)
	}
	// Descriptors that are open already stay open below a lower limit, and threads
	// of this program end when it becomes the command.
	if err := setLimits(do.Last); err != nil {
		return err
	}
	if err := resetSignals(); err != nil {
		return fmt.Errorf("reset signals: %w", err)
	}
	if err := resetPersonality(); err != nil {
		return fmt.Errorf("reset the personality: %w", err)
	}
	if do.ByFile {
		err = execve(fd, "", do.Argv, do.Env, do.Filter)
	} else {
		err = execve(unix.AT_FDCWD, path, do.Argv, do.Env, do.Filter)
	}
	var unloaded *filterError
	if errors.As(err, &unloaded) {
		return err
	}
	return &execError{fmt.Errorf("%s: %w", path, err)}
}

// filterError is a filter that the kernel did not take.
type filterError struct{ err error }

func (e *filterError) Error() string { return e.err.Error() }
func (e *filterError) Unwrap() error { return e.err }

// execve is execveat(2): of path, or of the file dir itself when path is empty,
// with the filter loaded right before it. It returns only if something fails.
func execve(dir int, path string, argv, env [][]byte, last filter) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	args, err := pointers(argv)
	if err != nil {
		return err
	}
	vars, err := pointers(env)
	if err != nil {
		return err
	}
	flags := 0
	if path == "" {
		flags = unix.AT_EMPTY_PATH
	}
	if err := last.load(); err != nil {
		return &filterError{err}
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&vars[0])), uintptr(flags), 0)
	runtime.KeepAlive(args)
	runtime.KeepAlive(vars)
	return errno
}

// pointers is the strings as execve takes them, a null pointer last.
func pointers(list [][]byte) ([]*byte, error) {
	out := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		p, err := unix.BytePtrFromString(string(s))
		if err != nil {
			return nil, errors.New("an argument holds NUL")
		}
		out = append(out, p)
	}
	return append(out, nil), nil
}
