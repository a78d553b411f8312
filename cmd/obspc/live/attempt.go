package live

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// attemptWord makes this program the one that tries a request: once outside the
// sandbox, the control, and once inside. It is no command of the command line.
const attemptWord = "live-attempt"

// Words that only attempts have.
const (
	startedWord = "started" // what a copy of this program does once it was started
	checkWord   = "check"   // would the kernel start a program of the host?
)

// Attempted makes an attempt, and says with which code to exit, if that is what the
// process was started for. Programs that a bench may use ask it first.
func Attempted(args []string) (code int, is bool) {
	if len(args) < 3 || args[1] != attemptWord {
		return 0, false
	}
	to := ""
	if len(args) > 4 {
		to = args[4]
	}
	path := ""
	if len(args) > 3 {
		path = args[3]
	}
	return report(attempt(args[2], path, to)), true
}

// report prints the number of the error, 0 when the attempt succeeded.
func report(err error) int {
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(int(errno))
	return 0
}

// attempt is one system call that the word is about. What it changes lies in a
// directory made for it.
func attempt(word, path, to string) error {
	switch word {
	case string(ir.ReadRequest):
		return read(path)
	case string(ir.ListRequest):
		return list(path, unix.O_DIRECTORY)
	case string(ir.StatRequest):
		var s unix.Stat_t
		return unix.Lstat(path, &s)
	case string(ir.WriteRequest):
		return write(path)
	case string(ir.CreateRequest):
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		return closed(fd, err)
	case string(ir.RemoveRequest):
		return remove(path)
	case string(ir.RenameRequest):
		return unix.Rename(path, to)
	case string(ir.LinkRequest):
		return unix.Link(path, to)
	case string(ir.ExecuteRequest):
		return unix.Exec(path, []string{path, attemptWord, startedWord}, os.Environ())
	case string(ir.SyscallRequest):
		return makeCall(path)
	case checkWord:
		return wouldStart(path)
	case startedWord:
		return nil
	}
	return fmt.Errorf("nothing is known to try for %q", word)
}

// remove takes a name away. For a directory, unlink(2) answers EISDIR on Linux and
// EPERM on macOS, where that is what a sandbox answers too.
func remove(path string) error {
	err := unix.Unlink(path)
	if err != unix.EISDIR && err != unix.EPERM {
		return err
	}
	if again := unix.Rmdir(path); again != unix.ENOTDIR {
		return again
	}
	return err
}

func closed(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func read(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	switch _, err = unix.Read(fd, make([]byte, 1)); err {
	case unix.EISDIR:
		return list(path, 0)
	case unix.EAGAIN:
		return nil // a fifo or a terminal that has nothing to say
	}
	return err
}

func list(path string, flags int) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.ReadDirent(fd, make([]byte, 4096))
	return err
}

// write changes the contents of a file, or the mode of a directory to what it is.
func write(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
		_, err = unix.Write(fd, []byte("x"))
		return errors.Join(err, unix.Close(fd))
	case unix.EISDIR:
		return unix.Chmod(path, 0o755)
	}
	return err
}
