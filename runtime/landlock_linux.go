package runtime

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/targets/landlock"
)

// landlockVersion is the kernel's Landlock ABI. Without one it is 0 and the error
// says why (landlock_create_ruleset(2)): ENOSYS, the kernel has none; EOPNOTSUPP, it
// is switched off.
func landlockVersion() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// ruleset is a Landlock ruleset that handles what landlock.Rules speak of, and
// writeFile.
type ruleset struct{ fd int }

// writeFile is the right to open something for writing. Mounts keep it but for
// FIFOs: a read-only mount stops writing to files, directories and links only
// (sb_permission in fs/namei.c). So every write of the policy grants it, and
// outside of them a FIFO is not written either.
const writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE

func newRuleset() (ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlock.Execute | landlock.Refer | writeFile}
	// The first ABIs know the first member only; a longer struct is E2BIG there.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	return ruleset{int(fd)}, nil
}

// grantExecute lets what lies at or below each path start. A directory that only
// itself is named has nothing to start.
func (r ruleset) grantExecute(list []grant) error {
	return r.each(list, func(g grant, fd int, directory bool) error {
		if g.Only && directory {
			return nil
		}
		return r.allow(fd, landlock.Execute)
	})
}

// grantReparent lets entries move between directories at or below each path. The
// kernel takes that right for directories only.
func (r ruleset) grantReparent(list []grant) error {
	return r.each(list, func(g grant, fd int, directory bool) error {
		if !directory {
			return nil
		}
		return r.allow(fd, landlock.Refer)
	})
}

// grantWrite lets what lies at or below each path be opened for writing, as far as
// its mount lets it.
func (r ruleset) grantWrite(list []grant) error {
	return r.each(list, func(g grant, fd int, directory bool) error {
		if g.Only && directory {
			return nil
		}
		return r.allow(fd, writeFile)
	})
}

// each opens every path, none of them through a link at its end. What the sandbox
// does not show has nothing to grant: whether the machine has it was asked before.
func (r ruleset) each(list []grant, do func(g grant, fd int, directory bool) error) error {
	for _, g := range list {
		fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if wayEnds(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", g.Path, err)
		}
		var stat unix.Stat_t
		err = unix.Fstat(fd, &stat)
		if err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		if err == nil {
			err = do(g, fd, stat.Mode&unix.S_IFMT == unix.S_IFDIR)
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("landlock rule for %s: %w", g.Path, err)
		}
	}
	return nil
}

func (r ruleset) allow(fd int, access uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// enforce restricts the calling thread, for good.
func (r ruleset) enforce() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return unix.Close(r.fd)
}
