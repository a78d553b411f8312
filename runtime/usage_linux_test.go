package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMapped: of a process's mappings, those of files that are counted by
// themselves.
func TestMapped(t *testing.T) {
	const text = `55d0c000-55d0e000 r--p 00000000 fe:00 2054                       /usr/bin/true
Size:                  8 kB
Pss:                   3 kB
VmFlags: rd mr mw me
7f000000-7f400000 rw-s 00000000 00:01 7                          /memfd:a (deleted)
Pss:                 100 kB
Pss_Dirty:           100 kB
7f500000-7f600000 rw-s 00000000 00:01 8                          /dev/zero (deleted)
Pss:                  10 kB
7f700000-7f800000 rw-s 00000000 00:2f 2                          /tmp/x
Pss:                1000 kB
7ffd0000-7ffd1000 rw-p 00000000 00:00 0                          [stack]
Pss:                  40 kB
`
	w := treeWatch{memories: []memoryMount{{dev: unix.Mkdev(0, 0x2f)}}}
	got, err := w.mapped([]byte(text), map[inode]int64{{unix.Mkdev(0, 1), 7}: 1})
	if want := int64(1100 << 10); got != want || err != nil {
		t.Errorf("mapped = %d, %v; want %d: the memory file that is counted, and what lies in /tmp", got, err, want)
	}
}

// TestOwnMemory: what the kernel says of this process, as it says it.
func TestOwnMemory(t *testing.T) {
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	w := treeWatch{sandbox: proc}
	held := make([]byte, 32<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	p, err := w.status(fmt.Sprint(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	exact, err := w.exact(p, nil)
	if err != nil || exact < int64(len(held)) || p.resident < exact/2 || p.threads < 1 || p.ended || p.tables == 0 {
		t.Errorf("status %+v, exactly %d bytes, %v; %d are held", p, exact, err, len(held))
	}
	held[0]++
	if _, err := w.status("999999999"); !gone(err) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestAtLeast(t *testing.T) {
	for _, tt := range []struct {
		release string
		want    bool
	}{
		{"5.14.0", true}, {"5.13.19-generic", false}, {"6.1.0-57-cloud-amd64", true}, {"5.14-rc1", true}, {"4.18.0-553.el8", false}, {"10.0", true}, {"", false}, {"linux", false},
	} {
		if got := atLeast(tt.release, 5, 14); got != tt.want {
			t.Errorf("atLeast(%q, 5, 14) = %v", tt.release, got)
		}
	}
}

// TestSummation: blocks once, names each, no link is followed, and what is too
// deep or too much is said.
func TestSummation(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write := func(path string, n int) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "big"), 1<<20)
	sum := func(most int64, stop bool) (int64, error) {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		s := summation{stop: func() bool { return stop }, most: most, seen: map[inode]bool{}}
		err = s.directory(fd, ".", 0)
		return s.bytes, err
	}
	const plenty = 1 << 40
	if got, err := sum(plenty, false); got != 0 || err != nil {
		t.Errorf("an empty directory is %d, %v", got, err)
	}
	write(filepath.Join(dir, "a"), 64<<10)
	one, err := sum(plenty, false)
	if err != nil || one < 64<<10+nameCost || one > 128<<10 {
		t.Errorf("a file of 64 KiB is %d, %v", one, err)
	}
	for name, make := range map[string]func(string) error{
		"a second name":      func(at string) error { return os.Link(filepath.Join(dir, "a"), at) },
		"a link out of it":   func(at string) error { return os.Symlink(outside, at) },
		"a file with a hole": func(at string) error { write(at, 0); return os.Truncate(at, 1<<30) },
		"a pipe":             func(at string) error { return unix.Mkfifo(at, 0o600) },
		"an empty directory": func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		at := filepath.Join(dir, "b")
		if err := make(at); err != nil {
			t.Fatal(err)
		}
		if got, err := sum(plenty, false); err != nil || got < one+nameCost || got > one+nameCost+8<<10 {
			t.Errorf("%s adds %d, %v; want little more than %d", name, got-one, err, nameCost)
		}
		os.Remove(at)
	}
	if got, err := sum(nameCost, false); !errors.Is(err, errEnough) || got <= nameCost {
		t.Errorf("past the limit it is %d, %v", got, err)
	}
	if _, err := sum(plenty, true); !errors.Is(err, errInterrupted) {
		t.Errorf("broken off: %v", err)
	}
	deep := dir
	for range 40 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sum(plenty, false); err != nil {
		t.Errorf("40 directories deep: %v", err)
	}
	at, err := unix.Open(deep, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range deepest {
		if err == nil {
			err = unix.Mkdirat(at, "d", 0o700)
		}
		next := -1
		if err == nil {
			next, err = unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sum(plenty, false); err == nil || !strings.Contains(err.Error(), "deeper than") {
		t.Errorf("%d directories deep: %v", deepest+40, err)
	}
}
