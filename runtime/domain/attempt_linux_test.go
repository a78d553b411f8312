package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attemptWord makes the test's own binary restrict itself and attempt things
// instead of testing: a request as JSON ("null": none), then one attempt an
// argument. startedWord makes it what an attempt starts, and outsideWord somebody
// outside of every domain.
const (
	attemptWord = "obspc-domain-attempt"
	startedWord = "obspc-domain-started"
	outsideWord = "obspc-domain-outside"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == attemptWord:
		goruntime.LockOSThread()
		if err := restrict(os.Args[2]); err != nil {
			fmt.Println("restrict:", err)
			os.Exit(1)
		}
		for _, a := range os.Args[3:] {
			fmt.Println(outcome(attempt(strings.Fields(a))))
		}
	case len(os.Args) > 1 && os.Args[1] == startedWord:
	case len(os.Args) > 2 && os.Args[1] == outsideWord:
		os.Exit(outside(os.Args[2]))
	default:
		os.Exit(inLab(m))
	}
}

// probe is a copy of the test's own binary that every user may start. It stands
// outside /tmp, which a sandbox with a tmp slot does not show.
var probe string

func inLab(m *testing.M) int {
	dir, err := os.MkdirTemp("/var/tmp", "obspc-domain-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	probe = filepath.Join(dir, "probe")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(probe, text, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func restrict(text string) error {
	var r *Request
	if err := json.Unmarshal([]byte(text), &r); err != nil || r == nil {
		return err
	}
	s, err := r.Open()
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		err = s.Enforce()
	}
	return err
}

// outside listens at an abstract name and lives until its standard input ends.
func outside(name string) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}), unix.Listen(fd, 9))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func outcome(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// attempt is made with system calls of this thread alone: the others are in no
// domain.
func attempt(words []string) error {
	path := words[1]
	to := words[len(words)-1]
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0o644)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	switch words[0] {
	case "read":
		return open(path, unix.O_RDONLY)
	case "write":
		return open(path, unix.O_WRONLY)
	case "both":
		return open(path, unix.O_RDWR)
	case "create":
		return open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	case "overwrite":
		return open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	case "truncate":
		return unix.Truncate(path, 1)
	case "mkdir":
		return unix.Mkdir(path, 0o755)
	case "mkfifo":
		return unix.Mkfifo(path, 0o644)
	case "symlink":
		return unix.Symlink("/", path)
	case "bind":
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	case "connect":
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	case "serve": // a server and its client, both inside
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1)); err != nil {
			return err
		}
		return attempt([]string{"connect", path})
	case "signal":
		pid, err := strconv.Atoi(path)
		if err != nil {
			return err
		}
		return unix.Kill(pid, 0)
	case "remove":
		return unix.Unlink(path)
	case "rmdir":
		return unix.Rmdir(path)
	case "rename":
		return unix.Rename(path, to)
	case "link":
		return unix.Link(path, to)
	case "unnamed": // made without a name in path, then given the name to
		fd, err := unix.Open(path, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
	case "again": // opened for reading, and that descriptor again for writing
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY)
	case "memory": // has no path, and is subject to nothing
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return errors.Join(unix.Ftruncate(fd, 9), open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR))
	case "ioctl": // asks a terminal's other side for its number
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	case "start":
		return syscall.Exec(path, []string{path, startedWord}, nil)
	}
	return fmt.Errorf("no attempt %q", words[0])
}
