package release

import "golang.org/x/sys/unix"

// swap is renameatx_np(2) with RENAME_SWAP: macOS 10.12, APFS.
func swap(a, b string) error {
	return unix.RenameatxNp(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_SWAP)
}
