package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadTrusted reads what a consumer trusts, pins or a public key, from a file of at
// most limit bytes. The path may lead over links, as that of a release may; the
// file itself has to be what the files of a release are: a plain one that nobody
// else can change, for whoever changes it decides what is verified, in directories
// where nobody else can put another in its place. absent says that there is no such
// file.
func ReadTrusted(path string, limit int64) (data []byte, fault *Failure, absent bool) {
	// Without O_NONBLOCK a fifo would hold the caller until somebody writes.
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, unopened(path, err), errors.Is(err, fs.ErrNotExist)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, unreadable(path, err), false
	}
	tree := dirTree{root: fd, euid: uint32(os.Geteuid())}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil, &Failure{File: path, Reason: UnsafeFile, Message: "it is no file", Wanted: "a regular file", Found: "a directory"}, false
	}
	if f := tree.unsafe(path, &st); f != nil {
		return nil, f, false
	}
	if f := tree.replaceable(path, &st); f != nil {
		return nil, f, false
	}
	if st.Size > limit {
		return nil, oversize(path, limit, st.Size), false
	}
	c, f := readOpen(path, fd, st.Size, true)
	return c.data, f, false
}

// replaceable reports a directory on the way to the file at path, links followed, in
// which somebody else can put another file or directory in the place of what is there:
// one of another user's, or that others may write and that is not sticky (chmod(2):
// S_ISVTX).
func (t *dirTree) replaceable(path string, st *unix.Stat_t) *Failure {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return unopened(path, err)
	}
	var found unix.Stat_t
	if err := unix.Stat(real, &found); err != nil {
		return unopened(path, err)
	}
	if found.Dev != st.Dev || found.Ino != st.Ino {
		return &Failure{File: path, Reason: UnsafeFile, Message: "it was replaced while it was read"}
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if err := unix.Stat(dir, &found); err != nil {
			return unopened(path, err)
		}
		fault := func(message, wanted, have string) *Failure {
			return &Failure{File: path, Reason: UnsafeFile, Message: fmt.Sprintf("in the directory %s: %s", dir, message), Wanted: wanted, Found: have}
		}
		switch {
		case found.Uid != 0 && found.Uid != t.euid:
			return fault(foreignOwner(found.Uid, t.euid))
		case found.Mode&0o022 != 0 && found.Mode&unix.S_ISVTX == 0:
			return fault("others may put another file in its place (chmod go-w)", "no write bit for group and others", fmt.Sprintf("mode %04o", found.Mode&0o7777))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Refused is the report on a release that was not looked at, because what should
// vouch for it, in the check of that name, is itself not to be trusted.
func Refused(src Source, check string, f Failure) *Report {
	r := &Report{Source: src.String()}
	for _, stage := range pipeline {
		result := Result{Check: stage.name}
		if stage.name == check {
			result.fail(f)
		}
		r.Checks = append(r.Checks, result)
	}
	return r
}
