package verify

import (
	"strings"

	"golang.org/x/sys/unix"
)

// stepwise opens name below the directory root without following a link in any
// component: each directory is opened by itself, and the next component in it.
// It serves systems without openat2(2).
func stepwise(root int, name string, flags int) (int, error) {
	at := root
	for {
		component, rest, more := strings.Cut(name, "/")
		how := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW
		if more {
			how |= unix.O_DIRECTORY
		} else {
			how |= flags
		}
		fd, err := retry(func() (int, error) { return unix.Openat(at, component, how, 0) })
		if at != root {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, name = fd, rest
	}
}
