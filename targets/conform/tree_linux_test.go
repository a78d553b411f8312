package conform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// layout is where the slots lie below the tree's top.
type layout struct{ home, work string }

// tree is what the policies are about, on disk.
type tree struct {
	top       string
	at        layout
	entries   []Entry
	listeners []int
}

// branch is what lies below each of the tree's directories: a kind and a path, and
// for a link what it holds.
var branch = []struct {
	kind Kind
	path string
	link string
}{
	{Directory, "a", ""}, {Directory, "a/b", ""}, {Directory, "a/b/c", ""}, {Empty, "a/b/e", ""}, {Directory, "b", ""}, {Directory, "b/a", ""}, {Empty, "c", ""},
	{File, "f", ""}, {File, "a/f", ""}, {File, "a/b/f", ""}, {File, "a/b/c/f", ""}, {File, "b/f", ""}, {File, "b/a/f", ""},
	{Tool, "a/x", ""}, {Tool, "b/x", ""}, {Socket, "a/s", ""}, {Socket, "b/s", ""}, {Fifo, "b/p", ""},
	{Link, "a/l", "../f"}, {Link, "b/l", "../../else/f"},
	{Absent, "gone", ""}, {Absent, "a/gone", ""}, {Absent, "c/gone", ""},
}

// linkToDirectory is one more link of each branch, and what is reached over it.
const linkToDirectory, overLink = "c.l", "c.l/f"

// build makes the tree anew, as the layout says.
func (t *tree) build(at layout) error {
	if t.at == at && t.entries != nil {
		return nil
	}
	t.close()
	if err := t.empty(); err != nil {
		return err
	}
	t.at, t.entries = at, nil
	t.add(Directory, t.top, "", true)
	for _, dir := range []string{"home", "data", "else", at.home, at.work} {
		if err := t.grow(filepath.Join(t.top, dir)); err != nil {
			return err
		}
	}
	t.machine()
	return nil
}

func (t *tree) empty() error {
	names, err := os.ReadDir(t.top)
	for _, n := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(t.top, n.Name())))
	}
	return err
}

// grow makes one branch; directories above it are there or are made.
func (t *tree) grow(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "f")); err == nil {
		return nil // a slot that lies at a branch of its own
	}
	if err := os.MkdirAll(dir, directoryMode); err != nil {
		return err
	}
	t.add(Directory, dir, "", true)
	for _, b := range branch {
		if err := t.make(b.kind, filepath.Join(dir, b.path), b.link); err != nil {
			return err
		}
	}
	if err := t.make(Link, filepath.Join(dir, linkToDirectory), "b"); err != nil {
		return err
	}
	t.add(File, filepath.Join(dir, overLink), filepath.Join(dir, "b/f"), true)
	return nil
}

func (t *tree) make(kind Kind, path, link string) error {
	target := ""
	var err error
	switch kind {
	case Absent:
	case Directory:
		err = unix.Mkdir(path, directoryMode)
	case Socket:
		err = t.listen(path)
	case Link:
		if target = filepath.Join(filepath.Dir(path), link); link == "b" {
			target = ""
		}
		if link == "../../else/f" {
			link = filepath.Join(t.top, "else/f")
			target = link
		}
		fallthrough
	default:
		err = task{Kind: kind, Link: link}.remake(path)
	}
	t.add(kind, path, target, true)
	return err
}

func (t *tree) add(kind Kind, path, target string, ours bool) {
	e := Entry{Path: ir.MustPath(path), Kind: kind, Ours: ours}
	if target != "" {
		e.Target = ir.MustPath(target)
	}
	t.entries = append(t.entries, e)
}

// listen makes a socket that takes connections without anybody accepting them.
func (t *tree) listen(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	t.listeners = append(t.listeners, fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return errors.Join(unix.Listen(fd, 4096), os.Chmod(path, fileMode))
}

func (t *tree) close() {
	for _, fd := range t.listeners {
		unix.Close(fd)
	}
	t.listeners = nil
}

// machine adds what every machine has. A fresh name in /tmp and /dev/shm is ours.
func (t *tree) machine() {
	for _, path := range []string{"/", "/etc", "/usr", "/proc", "/dev", "/tmp", "/var/tmp", filepath.Dir(t.top)} {
		t.add(Directory, path, "", false)
	}
	for _, path := range []string{"/etc/passwd", "/proc/version", "/bin/sh", filepath.Join(filepath.Dir(t.top), "victim")} {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && real == path {
			real = ""
		}
		if err == nil {
			t.add(File, path, real, false)
		}
	}
	t.add(Device, "/dev/null", "", false)
	t.add(Device, "/dev/zero", "", false)
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		t.add(Absent, filepath.Join(dir, "obspc-conform-"+strconv.Itoa(os.Getpid())), "", true)
	}
}

// snapshot is the tree's names, kinds, modes and sizes.
func (t *tree) snapshot() (string, error) {
	var out []string
	err := filepath.WalkDir(t.top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		out = append(out, fmt.Sprintf("%s %s %d", path, info.Mode(), size))
		return nil
	})
	sort.Strings(out)
	return strings.Join(out, "\n"), err
}

// facts is what stands at the paths, as bwrap.Facts describes it; foreign is a link
// on the way that not only root could have made.
func facts(paths []ir.Path) (f bwrap.Facts, foreign string) {
	f = bwrap.Facts{}
	for _, p := range paths {
		if link := look(f, p); link != "" {
			foreign = link
		}
	}
	return f, foreign
}

func look(f bwrap.Facts, p ir.Path) (foreign string) {
	parts := strings.Split(p.String(), "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		if at == "" {
			continue
		}
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			if !onlyRoot(at) {
				return at
			}
			target, err := filepath.EvalSymlinks(at)
			if err != nil {
				target, _ = os.Readlink(at)
			}
			f[ir.MustPath(at)] = bwrap.Fact{Kind: bwrap.Link, Target: ir.MustPath(target)}
			return look(f, ir.MustPath(target+"/"+strings.Join(parts[i+1:], "/")))
		}
		if i == len(parts)-1 || err != nil {
			f[p] = bwrap.Fact{Kind: kindOf(info, err)}
			return ""
		}
	}
	f[p] = bwrap.Fact{Kind: bwrap.Directory}
	return ""
}

// onlyRoot reports whether only root could have made the link.
func onlyRoot(path string) bool {
	var link, dir unix.Stat_t
	if unix.Lstat(path, &link) != nil || unix.Stat(filepath.Dir(path), &dir) != nil {
		return false
	}
	return link.Uid == 0 && dir.Uid == 0 && dir.Mode&0o022 == 0
}

func kindOf(info os.FileInfo, err error) bwrap.Kind {
	switch {
	case err != nil:
		return bwrap.Missing
	case info.IsDir():
		return bwrap.Directory
	case info.Mode()&os.ModeDevice != 0:
		return bwrap.Device
	case info.Mode()&os.ModeSocket != 0:
		return bwrap.Socket
	case info.Mode()&os.ModeNamedPipe != 0:
		return bwrap.Fifo
	}
	return bwrap.File
}
