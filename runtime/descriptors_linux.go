package runtime

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Descriptors as bwrap gets them. They are fixed, so that one binding gives one
// option stream on every machine.
const (
	argsFD    = 3 // the option stream
	statusFD  = 4 // --json-status-fd
	seccompFD = 5 // --seccomp
	selfFD    = 6 // our own executable
	socketFD  = 7 // the first process's end of the socket pair
	maskFD    = 8 // the first of one empty file for each masked file
)

// sealed puts data into a memory file that nobody can change any more, and
// stands at its beginning.
func sealed(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("fill a memory file: %w", err)
		}
		rest = rest[n:]
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("fill a memory file: %w", err)
	}
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, all); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("seal a memory file: %w", err)
	}
	return fd, nil
}

// descriptors are numbers to close together.
type descriptors []int

func (d *descriptors) add(fds ...int) { *d = append(*d, fds...) }

func (d *descriptors) close() {
	for _, fd := range *d {
		unix.Close(fd)
	}
	*d = nil
}

// pipe is a pipe whose ends close on exec.
func pipe() (read, write int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, fmt.Errorf("make a pipe: %w", err)
	}
	return p[0], p[1], nil
}
