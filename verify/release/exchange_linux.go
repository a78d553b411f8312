package release

import "golang.org/x/sys/unix"

// swap is renameat2(2) with RENAME_EXCHANGE: Linux 3.15, most file systems.
func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
