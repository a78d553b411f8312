package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// TestMoves: what inotify tells beside what is seen in a mount table.
func TestMoves(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(dir string) error
		want string // "": nothing that counts
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"moved away and back", func(dir string) error {
			return errors.Join(os.Rename(dir+"/file", dir+"/else"), os.Rename(dir+"/else", dir+"/file"))
		}, "away and back"},
		{"another name of it is moved", func(dir string) error { return os.Rename(dir+"/two", dir+"/else") }, ""},
		{"written", func(dir string) error { return os.WriteFile(dir+"/file", []byte("x"), 0o600) }, ""},
		{"something beside it", func(dir string) error { return os.WriteFile(dir+"/beside", nil, 0o600) }, ""},
		{"part of the way", func(dir string) error { return os.Mkdir(dir+"/a", 0o700) }, ""},
		{"all of the way", func(dir string) error { return os.MkdirAll(dir+"/a/b/c", 0o700) }, "a/b/c"},
		{"moved there", func(dir string) error {
			return errors.Join(os.MkdirAll(dir+"/x/b/c", 0o700), os.Rename(dir+"/x", dir+"/a"))
		}, "a/b/c"},
		{"a link that leads nowhere", func(dir string) error {
			return errors.Join(os.MkdirAll(dir+"/a/b", 0o700), os.Symlink("nowhere", dir+"/a/b/c"))
		}, "a/b/c"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"file", "one"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(dir+"/one", dir+"/two"); err != nil {
			t.Fatal(err)
		}
		m, err := watchMoves([]ir.Path{ir.MustPath(dir + "/file"), ir.MustPath(dir + "/one")}, []ir.Path{ir.MustPath(dir + "/a/b/c")})
		if err != nil || m.timer {
			t.Fatalf("%s: watchMoves = %+v, %v", tt.name, m, err)
		}
		if err := tt.do(dir); err != nil {
			t.Fatal(err)
		}
		if got := m.look(); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: look = %q, want %q", tt.name, got, tt.want)
		}
		m.close()
	}
}

// TestMovesLater: a path is followed while it comes to be step by step.
func TestMovesLater(t *testing.T) {
	dir := t.TempDir()
	m, err := watchMoves(nil, []ir.Path{ir.MustPath(dir + "/a/b/c")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for _, step := range []struct {
		name string
		want bool
	}{{"/a", false}, {"/a/x", false}, {"/a/b", false}, {"/a/b/c", true}} {
		if err := os.Mkdir(dir+step.name, 0o700); err != nil {
			t.Fatal(err)
		}
		p := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, 0); n != 1 || err != nil {
			t.Errorf("%s: poll = %d, %v, want an event", step.name, n, err)
		}
		if got := m.look(); (got != "") != step.want {
			t.Errorf("%s: look = %q, want something: %v", step.name, got, step.want)
		}
	}
}

// TestMountChange: every way in which two readings can differ.
func TestMountChange(t *testing.T) {
	before := []mountPoint{{1, 0, "/", "ro", "tmpfs"}, {2, 1, "/w", "rw", "ext4"}, {3, 2, "/w/x", "ro", "tmpfs"}}
	for _, tt := range []struct {
		name  string
		after []mountPoint
		want  string
	}{
		{"the same", before, ""},
		{"gone", before[:2], "/w/x is gone"},
		{"more", append(before[:3:3], mountPoint{4, 2, "/w/y", "ro", "tmpfs"}), "something was mounted at /w/y from outside"},
		{"elsewhere", []mountPoint{before[0], before[1], {3, 2, "/w/z", "ro", "tmpfs"}}, "/w/x was moved away by something outside: what was mounted there is now at /w/z"},
		{"writable", []mountPoint{before[0], before[1], {3, 2, "/w/x", "rw", "tmpfs"}}, "/w/x was mounted anew (rw)"},
		{"another one", []mountPoint{before[0], before[1], {4, 2, "/w/x", "ro", "tmpfs"}}, "/w/x is gone"},
	} {
		if got := mountChange(before, tt.after); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: mountChange = %q, want %q", tt.name, got, tt.want)
		}
	}
}
