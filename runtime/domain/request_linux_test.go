package domain

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/landlock"
)

// numbers are the constants of linux/landlock.h, from a source of their own.
var numbers = map[string]uint64{
	"execute": unix.LANDLOCK_ACCESS_FS_EXECUTE, "write_file": unix.LANDLOCK_ACCESS_FS_WRITE_FILE,
	"read_file": unix.LANDLOCK_ACCESS_FS_READ_FILE, "read_dir": unix.LANDLOCK_ACCESS_FS_READ_DIR,
	"remove_dir": unix.LANDLOCK_ACCESS_FS_REMOVE_DIR, "remove_file": unix.LANDLOCK_ACCESS_FS_REMOVE_FILE,
	"make_char": unix.LANDLOCK_ACCESS_FS_MAKE_CHAR, "make_dir": unix.LANDLOCK_ACCESS_FS_MAKE_DIR,
	"make_reg": unix.LANDLOCK_ACCESS_FS_MAKE_REG, "make_sock": unix.LANDLOCK_ACCESS_FS_MAKE_SOCK,
	"make_fifo": unix.LANDLOCK_ACCESS_FS_MAKE_FIFO, "make_block": unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	"make_sym": unix.LANDLOCK_ACCESS_FS_MAKE_SYM, "refer": unix.LANDLOCK_ACCESS_FS_REFER,
	"truncate": unix.LANDLOCK_ACCESS_FS_TRUNCATE, "ioctl_dev": unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	"bind_tcp": unix.LANDLOCK_ACCESS_NET_BIND_TCP, "connect_tcp": unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
	"abstract_unix_socket": unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "signal": unix.LANDLOCK_SCOPE_SIGNAL,
	"log_same_exec_off":  unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF,
	"log_new_exec_on":    unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON,
	"log_subdomains_off": unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF,
}

func TestNumbers(t *testing.T) {
	seen := 0
	for _, rev := range landlock.Revisions() {
		for _, r := range rev.Rights {
			seen++
			if numbers[r.Name] != r.Bit {
				t.Errorf("%s is %#x, want %#x", r.Name, r.Bit, numbers[r.Name])
			}
		}
	}
	if seen != len(numbers) {
		t.Errorf("the table has %d rights, want %d", seen, len(numbers))
	}
}

// standIn is a kernel of one ABI: it takes what that ABI knows and refuses the
// rest, as security/landlock/syscalls.c does.
type standIn struct {
	abi      int
	handled  uint64
	granted  map[int]uint64
	scoped   uint64
	flags    uint32
	enforced bool
}

// known are the bits of those kinds that the ABI has.
func (k *standIn) known(kinds ...landlock.Kind) uint64 {
	var bits uint64
	for _, rev := range landlock.Revisions() {
		if rev.ABI <= k.abi {
			bits |= landlock.Level{Rights: rev.Rights}.Bits(kinds...)
		}
	}
	return bits
}

func (k *standIn) version() (int, error) { return k.abi, nil }

func (k *standIn) create(attr *unix.LandlockRulesetAttr, size int) (int, error) {
	members := 8
	if k.abi >= 4 {
		members = 16
	}
	if k.abi >= 6 {
		members = 24
	}
	switch {
	case size > members:
		return 0, unix.E2BIG
	case size >= 8 && attr.Handled_access_fs&^k.known(landlock.File, landlock.Directory) != 0,
		size >= 16 && attr.Handled_access_net&^k.known(landlock.Network) != 0,
		size >= 24 && attr.Scoped&^k.known(landlock.Scope) != 0:
		return 0, unix.EINVAL
	}
	k.handled, k.granted = attr.Handled_access_fs, map[int]uint64{}
	if size >= 24 {
		k.scoped = attr.Scoped
	}
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (k *standIn) add(_, parent int, access uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(parent, &stat); err != nil {
		return err
	}
	if access == 0 {
		return unix.ENOMSG
	}
	if access&^k.handled != 0 || stat.Mode&unix.S_IFMT != unix.S_IFDIR && access&^k.known(landlock.File) != 0 {
		return unix.EINVAL
	}
	k.granted[int(stat.Ino)] |= access
	return nil
}

func (k *standIn) restrict(_ int, flags uint32) error {
	if k.abi < 7 && flags != 0 || uint64(flags)&^k.known(landlock.Logging) != 0 {
		return unix.EINVAL
	}
	k.flags, k.enforced = flags, true
	return nil
}

func bits(names string) uint64 {
	var all uint64
	for _, name := range strings.Fields(names) {
		all |= numbers[name]
	}
	return all
}

func inode(t *testing.T, path string) int {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return int(stat.Ino)
}

// TestEachABI: what kernels of each ABI are asked for, and that none of them
// refuses it; of a later one than is known, the same as of the last.
func TestEachABI(t *testing.T) {
	const (
		reading = "read_file read_dir"
		names   = "remove_dir remove_file make_char make_dir make_reg make_sock make_fifo make_block make_sym refer"
		writing = reading + " write_file " + names
	)
	dir := t.TempDir()
	for _, name := range []string{"read", "write", "bin", "listed"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tool", "log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("read", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	rule := func(name string, only bool) landlock.Rule {
		return landlock.Rule{Path: ir.MustPath(filepath.Join(dir, name)), Only: only}
	}
	rules := &landlock.Rules{
		Programs: true,
		Execute:  []landlock.Rule{rule("bin", false), rule("listed", true), rule("tool", true)},
		Read:     []landlock.Rule{rule("bin", false), rule("gone", false), rule("link", false), rule("listed", true), rule("read", false), rule("tool", true)},
		Write:    []landlock.Rule{rule("log", true), rule("write", false)},
	}
	link := func(path string) bool { return path == filepath.Join(dir, "link") }
	for abi := range 12 {
		later := func(first int, names string) string {
			if abi >= first {
				return " " + names
			}
			return ""
		}
		k := &standIn{abi: min(abi, 7)}
		r := For(rules, abi, ir.Binding{}, link)
		if abi < 2 {
			if r != nil {
				t.Errorf("ABI %d: a domain is made: %+v", abi, r)
			}
			continue
		}
		s, err := r.open(k)
		if err == nil {
			err = s.Enforce()
		}
		if err != nil || !k.enforced {
			t.Errorf("ABI %d: %v, in force: %v", abi, err, k.enforced)
			continue
		}
		more := later(3, "truncate") + later(5, "ioctl_dev")
		want := &standIn{
			abi: k.abi, handled: bits("execute " + writing + more), enforced: true,
			scoped: bits(later(6, "abstract_unix_socket signal")), flags: uint32(bits(later(7, "log_subdomains_off"))),
			granted: map[int]uint64{
				inode(t, filepath.Join(dir, "bin")): bits("execute " + reading), inode(t, filepath.Join(dir, "read")): bits(reading),
				inode(t, filepath.Join(dir, "listed")): bits("read_dir"), inode(t, filepath.Join(dir, "tool")): bits("execute read_file"),
				inode(t, filepath.Join(dir, "log")): bits("read_file write_file" + more), inode(t, filepath.Join(dir, "write")): bits(writing + more),
			},
		}
		var input unix.Stat_t
		if err := unix.Fstat(unix.Stdin, &input); err == nil && input.Mode&unix.S_IFMT == unix.S_IFCHR {
			want.granted[int(input.Ino)] |= bits("read_file")
		}
		if !reflect.DeepEqual(k, want) {
			t.Errorf("ABI %d: the kernel has\n%+v, want\n%+v", abi, k, want)
		}
	}
}

// TestNothingIsTriedAgain: a kernel that does not keep what its ABI says ends the
// run, and a link in a rule's place is refused.
func TestNothingIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/usr", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	everywhere := landlock.Compile(&ir.Policy{Name: "p", Files: []ir.FileRule{{Path: ir.MustPath(dir), Level: ir.Read}}})
	for _, abi := range []int{2, 3, 4, 5, 6} {
		s, err := For(everywhere, 7, ir.Binding{}, func(string) bool { return false }).open(&standIn{abi: abi})
		if err == nil {
			err = s.Enforce()
		}
		if err == nil {
			t.Errorf("a kernel of ABI %d takes what ABI 7 is asked for", abi)
		}
	}
	linked := &landlock.Rules{Read: []landlock.Rule{{Path: ir.MustPath(filepath.Join(dir, "link"))}}}
	if _, err := For(linked, 7, ir.Binding{}, func(string) bool { return false }).open(&standIn{abi: 7}); err == nil || !strings.Contains(err.Error(), "too many levels") {
		t.Errorf("open with a rule for a link = %v, want ELOOP", err)
	}
}
