package attribute

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// version is a file and what changes whenever its bytes do.
type version struct {
	File
	size              int64
	modified, changed int64 // nanoseconds since 1970: of the bytes, and of the inode
}

func versionOf(stat *unix.Stat_t) version {
	return version{File{stat.Dev, stat.Ino}, stat.Size, stat.Mtim.Nano(), stat.Ctim.Nano()}
}

// executable is what a process of the sandbox runs.
func (s *Sandbox) executable(pid string) (version, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(s.processes, pid+"/exe", &stat, 0); err != nil {
		return version{}, err
	}
	return versionOf(&stat), nil
}

// maxPath is longer than any path that the kernel gives (PATH_MAX).
const maxPath = 4096 + len(removed)

// link is what the kernel calls the executable of a process: its path from the root
// of the sandbox's mounts, whoever asks.
func (s *Sandbox) link(pid string) (string, error) {
	text := make([]byte, maxPath)
	n, err := unix.Readlinkat(s.processes, pid+"/exe", text)
	if err != nil {
		return "", err
	}
	return string(text[:n]), nil
}

// shownName is the same for people.
func (s *Sandbox) shownName(h holder) string {
	name, err := s.link(h.pid)
	if err != nil {
		return "process " + h.pid
	}
	return shown(name)
}

// named is the name of what a holder runs, if the sandbox sees that very file under
// it; else why there is none.
func (s *Sandbox) named(h holder, of version) (name, unnamed string) {
	name, err := s.link(h.pid)
	if err != nil {
		return "", fmt.Sprintf("its name cannot be read: %v", err)
	}
	if !strings.HasPrefix(name, "/") {
		return "", fmt.Sprintf("the sandbox does not see it (%s)", shown(name))
	}
	root, err := s.open(h.pid+"/root", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return "", fmt.Sprintf("its root cannot be opened: %v", err)
	}
	defer unix.Close(root)
	found, err := stand(root, name)
	switch {
	case err == nil && found == of.File:
		return name, ""
	case strings.HasSuffix(name, removed):
		return "", fmt.Sprintf("it was removed (%s)", shown(strings.TrimSuffix(name, removed)))
	case err != nil:
		return "", fmt.Sprintf("%s cannot be looked at: %v", shown(name), err)
	}
	return "", fmt.Sprintf("%s is another file by now", shown(name))
}

// stand is the file at a path below root, as processes with that root find it.
func stand(root int, at string) (File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	var fd int
	var err error
	for range 100 { // EAGAIN: something moved on the way (openat2(2))
		if fd, err = unix.Openat2(root, at, &how); err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	if err != nil {
		return File{}, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return File{}, err
	}
	return File{stat.Dev, stat.Ino}, nil
}

// maxHashed bounds the executables whose digest is taken, in bytes: a connection
// waits for it.
const maxHashed = 1 << 30

// digests remembers the digest of every version of an executable, so that it is
// taken once.
type digests struct {
	lock sync.Mutex
	all  map[version]*digest
}

// digest is being taken, or has been.
type digest struct {
	once          sync.Once
	hex, unhashed string
}

// of is the digest of a version that open opens, or why there is none.
func (d *digests) of(v version, open func() (int, error)) (hex, unhashed string) {
	d.lock.Lock()
	one := d.all[v]
	if one == nil {
		one = &digest{}
		if d.all == nil {
			d.all = map[version]*digest{}
		}
		d.all[v] = one
	}
	d.lock.Unlock()
	one.once.Do(func() { one.hex, one.unhashed = take(v, open) })
	if one.hex == "" {
		d.lock.Lock()
		delete(d.all, v) // what failed is tried again
		d.lock.Unlock()
	}
	return one.hex, one.unhashed
}

func take(v version, open func() (int, error)) (digest, unhashed string) {
	if v.size > maxHashed {
		return "", fmt.Sprintf("it is longer than %d bytes", maxHashed)
	}
	fd, err := open()
	if err != nil {
		return "", err.Error()
	}
	file := os.NewFile(uintptr(fd), "executable")
	defer file.Close()
	h := sha256.New()
	for range 2 {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return "", err.Error()
		}
		if versionOf(&stat) != v {
			return "", "it was changed while it was read"
		}
		if _, err := io.Copy(h, io.LimitReader(file, maxHashed)); err != nil {
			return "", err.Error()
		}
	}
	return hex.EncodeToString(h.Sum(nil)), ""
}
