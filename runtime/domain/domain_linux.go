package domain

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/targets/landlock"
)

// Version is the kernel's Landlock ABI. Without one it is 0 and the error says why
// (landlock_create_ruleset(2)): ENOSYS, the kernel has none; EOPNOTSUPP, it is
// switched off.
func Version() (int, error) { return system{}.version() }

// kernel is the system calls that there are for domains.
type kernel interface {
	version() (int, error)
	create(attr *unix.LandlockRulesetAttr, size int) (fd int, err error)
	add(ruleset, parent int, access uint64) error
	restrict(ruleset int, flags uint32) error
}

// Ruleset is a domain that is not in force yet. Its paths are opened.
type Ruleset struct {
	kernel  kernel
	fd      int
	logging uint32
}

// Open makes the request's ruleset. Paths are opened as this thread sees them,
// none of them through a link at its end.
func (r *Request) Open() (*Ruleset, error) { return r.open(system{}) }

func (r *Request) open(k kernel) (*Ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: r.Files, Scoped: r.Scopes}
	fd, err := k.create(&attr, r.Size)
	if err != nil {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	for _, g := range r.Grants {
		if err := g.add(k, fd); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("landlock rule for %s: %w", g.Path, err)
		}
	}
	if err := standardInput(k, fd, r.Files); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("landlock rule for standard input: %w", err)
	}
	return &Ruleset{k, fd, r.Logging}, nil
}

// standardInput lets standard input be opened again, as /dev/stdin and
// /proc/self/fd/0, when it is the machine's /dev/null, which no rule may name. A
// pipe has no place that a rule could speak of, and needs none.
func standardInput(k kernel, ruleset int, handled uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(unix.Stdin, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR || handled&landlock.ReadFile == 0 {
		return err
	}
	return k.add(ruleset, unix.Stdin, landlock.ReadFile)
}

func (g Grant) add(k kernel, ruleset int) error {
	fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		// What this thread cannot reach, what it starts cannot either: there is nothing
		// to grant. Whether the machine has it was asked before.
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	access := g.File
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return unix.ELOOP
	case unix.S_IFDIR:
		access = g.Directory
	}
	if access == 0 {
		return nil
	}
	return k.add(ruleset, fd, access)
}

// Enforce restricts the calling thread, for good. It must not gain privileges any
// more (PR_SET_NO_NEW_PRIVS).
func (s *Ruleset) Enforce() error {
	if err := s.kernel.restrict(s.fd, s.logging); err != nil {
		return fmt.Errorf("landlock_restrict_self: %w", err)
	}
	return unix.Close(s.fd)
}

// system is the machine's own kernel.
type system struct{}

func (system) version() (int, error) {
	return result(unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION))
}

func (system) create(attr *unix.LandlockRulesetAttr, size int) (int, error) {
	return result(unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), uintptr(size), 0))
}

func (system) add(ruleset, parent int, access uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(parent)}
	_, err := result(unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0))
	return err
}

func (system) restrict(ruleset int, flags uint32) error {
	_, err := result(unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), uintptr(flags), 0))
	return err
}

func result(n, _ uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
