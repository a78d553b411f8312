package verify

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ReadTrusted reads what a consumer trusts, pins or a public key, from a file of at
// most limit bytes. The path may lead over links, as that of a release may; the
// file itself has to be what the files of a release are: a plain one that nobody
// else can change, for whoever changes it decides what is verified. absent says
// that there is no such file.
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
	if st.Size > limit {
		return nil, oversize(path, limit, st.Size), false
	}
	c, f := readOpen(path, fd, st.Size, true)
	return c.data, f, false
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
