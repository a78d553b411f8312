package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/obspc/obspc/verify/release"
	"golang.org/x/sys/unix"
)

// Dir is a release directory. The path itself may lead over links; inside, no
// link is followed and nothing but regular files is opened. The directory is
// opened once, so replacing it under its name meanwhile changes nothing.
func Dir(path string) Source { return dir{path: path} }

type dir struct {
	path string
	// paused, when set, is called after the names were listed and before any file
	// is opened; tests change the directory there.
	paused func()
}

func (d dir) String() string { return display(d.path) }

func (d dir) open() (tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: d.path, Err: err}
	}
	return &dirTree{root: fd, euid: uint32(os.Geteuid()), paused: d.paused}, nil
}

type dirTree struct {
	root   int
	euid   uint32
	paused func()
}

func (t *dirTree) close() { unix.Close(t.root) }

func (t *dirTree) list() ([]entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(t.root, &st); err != nil {
		return nil, err
	}
	var out []entry
	if f := t.unsafe(".", &st); f != nil {
		out = append(out, entry{name: ".", directory: true, fault: f})
	}
	out, err := t.listInto(out, t.root, "")
	if t.paused != nil {
		t.paused()
	}
	return out, err
}

// listInto appends what lies in the open directory fd, whose name is prefix.
// Only folders of the first level are entered: a release has no others.
func (t *dirTree) listInto(out []entry, fd int, prefix string) ([]entry, error) {
	names, err := namesIn(fd)
	if err != nil {
		return out, err
	}
	for _, base := range names {
		if len(out) >= maxEntries {
			return out, fmt.Errorf("more than %d entries", maxEntries)
		}
		name := prefix + base
		var st unix.Stat_t
		if err := unix.Fstatat(fd, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			out = append(out, entry{name: name, fault: unreadable(name, err)})
			continue
		}
		e := entry{name: name, directory: st.Mode&unix.S_IFMT == unix.S_IFDIR, fault: t.unsafe(name, &st)}
		out = append(out, e)
		if e.directory && prefix == "" && release.CheckName(base) == nil {
			if out, err = t.enter(out, base); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func (t *dirTree) enter(out []entry, folder string) ([]entry, error) {
	fd, err := openBeneath(t.root, folder, unix.O_DIRECTORY)
	if err != nil {
		return append(out, entry{name: folder, directory: true, fault: unopened(folder, err)}), nil
	}
	defer unix.Close(fd)
	return t.listInto(out, fd, folder+"/")
}

// namesIn reads the names in an open directory, no more than can matter.
func namesIn(fd int) ([]string, error) {
	again, err := retry(func() (int, error) {
		return unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), ".")
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

func (t *dirTree) read(name string, limit int64, hold bool) (content, *Failure) {
	fd, err := openBeneath(t.root, name, unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return content{}, unopened(name, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return content{}, unreadable(name, err)
	}
	if f := t.unsafe(name, &st); f != nil {
		return content{}, f
	}
	if st.Size > limit {
		return content{}, oversize(name, limit, st.Size)
	}
	return readOpen(name, fd, st.Size, hold)
}

// chunk is how much is read and hashed at a time: it stays in the cache between.
const chunk = 256 << 10

// readOpen reads exactly size bytes and then expects the end.
func readOpen(name string, fd int, size int64, hold bool) (content, *Failure) {
	changed := &Failure{File: name, Reason: UnsafeFile, Message: "the file changed while it was read"}
	h := sha256.New()
	c := content{held: hold, size: size}
	room := min(size+1, chunk)
	if hold {
		room = size + 1
	}
	buffer := make([]byte, room)
	for at := int64(0); ; {
		n := min(chunk, size+1-at) // never more than one byte past the end
		to := buffer[:n]
		if hold {
			to = buffer[at : at+n]
		}
		got, err := retry(func() (int, error) { return unix.Read(fd, to) })
		if err != nil {
			return content{}, unreadable(name, err)
		}
		if at += int64(got); at > size || got == 0 && at < size {
			return content{}, changed
		}
		if got == 0 {
			break
		}
		h.Write(to[:got])
	}
	if hold {
		c.data = buffer[:size:size]
	}
	c.digest = release.Digest(hex.EncodeToString(h.Sum(nil)))
	return c, nil
}

// unsafe reports a file or directory that somebody else could change, or that is
// neither.
func (t *dirTree) unsafe(name string, st *unix.Stat_t) *Failure {
	fault := func(message, wanted, found string) *Failure {
		return &Failure{File: name, Reason: UnsafeFile, Message: message, Wanted: wanted, Found: found}
	}
	directory := false
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		directory = true
	default:
		return fault("it is neither a file nor a directory", "a regular file", kindOf(uint32(st.Mode)))
	}
	switch {
	case st.Uid != 0 && st.Uid != t.euid:
		return fault(foreignOwner(st.Uid, t.euid))
	case st.Mode&0o022 != 0:
		return fault("others may write to it (chmod -R go-w)", "no write bit for group and others", fmt.Sprintf("mode %04o", st.Mode&0o7777))
	case !directory && st.Nlink != 1:
		return fault("the file has a second name (a hard link)", "1 link", fmt.Sprint(st.Nlink))
	}
	return nil
}

// foreignOwner says what to do about a file of somebody else. That root asks changes
// nothing: the owner decides what the file holds, before, while and after it is read.
// A checkout that a container's root finds is often the runner's user's.
func foreignOwner(owner, euid uint32) (message, wanted, found string) {
	if wanted = "owner 0"; euid != 0 {
		wanted += fmt.Sprintf(" or %d", euid)
	}
	return fmt.Sprintf("another user can change it (do this as user %d, or chown it to user %d)", owner, euid), wanted, fmt.Sprint(owner)
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "a link"
	case unix.S_IFIFO:
		return "a fifo"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "a device"
	}
	return "something else"
}

// unopened tells why a file could not be opened.
func unopened(name string, err error) *Failure {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOTDIR):
		return &Failure{File: name, Reason: UnsafeFile, Message: "a link leads to it", Wanted: "a regular file", Found: "a link"}
	case errors.Is(err, unix.ENOENT):
		return &Failure{File: name, Reason: Missing, Message: "there is no such file"}
	case errors.Is(err, unix.ENXIO):
		return &Failure{File: name, Reason: UnsafeFile, Message: "it is neither a file nor a directory", Wanted: "a regular file", Found: "a socket or device"}
	}
	return unreadable(name, err)
}

func unreadable(name string, err error) *Failure {
	return &Failure{File: name, Reason: Unreadable, Message: err.Error()}
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
