package verify

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBeneath opens name, a clean relative name, below the directory root. No
// component may be a link. openat2(2) is Linux 5.6; kernels without it answer
// ENOSYS, and some container filters EPERM.
func openBeneath(root int, name string, flags int) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(root, name, &unix.OpenHow{
			Flags:   uint64(unix.O_RDONLY | unix.O_CLOEXEC | flags),
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return stepwise(root, name, flags)
	}
	return fd, err
}
