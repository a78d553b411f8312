package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/verify/release"
)

// exec becomes obsrun: the release and the pins that accept exactly it go over
// sealed memory files, so that nothing can change between here and there and
// nothing is left behind. It returns only when that fails.
func (r runner) exec(c *cli.Context, files []release.File, policy string, trusted, command []string) error {
	if err := singleNames(trusted[1:]); err != nil {
		return err
	}
	packed, err := release.Pack(files)
	if err != nil {
		return err
	}
	pins, err := developmentPins(files)
	if err != nil {
		return err
	}
	args := []string{r.path, "exec", "--build", release.Version, "--policy", policy}
	for _, in := range []struct {
		flag string
		data []byte
	}{{"--release-fd", packed}, {"--pins-fd", pins.Format()}} {
		fd, err := sealedFile(in.flag, in.data)
		if err != nil {
			return &exitError{exitMachine, err}
		}
		args = append(args, in.flag, strconv.Itoa(fd))
	}
	for i, path := range trusted {
		if info, err := os.Lstat(path); i > 0 && (err != nil || info.Mode().Type() != os.ModeSymlink) {
			continue // its directory, which stands first, is kept
		}
		if path, err = filepath.Abs(path); err != nil {
			return &exitError{exitMachine, err}
		}
		args = append(args, "--config-dir", path)
	}
	for _, name := range []string{"workspace", "bwrap", "evidence"} {
		if v := c.String(name); v != "" {
			args = append(args, "--"+name, v)
		}
	}
	for _, name := range []string{"stdin", "tty"} {
		if c.Bool(name) {
			args = append(args, "--"+name)
		}
	}
	args = append(append(args, "--"), command...)
	return &exitError{exitMachine, fmt.Errorf("starting %s: %w", r.path, unix.Exec(r.path, args, os.Environ()))}
}

// singleNames refuses policy files with a second name: the command could edit
// them under that one.
func singleNames(files []string) error {
	for _, file := range files {
		var s unix.Stat_t
		if err := unix.Stat(file, &s); err != nil {
			return wrongCall("%s: %w", file, err)
		}
		if s.Nlink > 1 {
			return wrongCall("%s has another name on this disk, under which it could be changed from inside; copy it: cp --remove-destination", file)
		}
	}
	return nil
}

// developmentPins accept the release made just now and no other.
func developmentPins(files []release.File) (*release.Pins, error) {
	for _, f := range files {
		if f.Name == release.SumsName {
			return &release.Pins{Product: release.LocalProduct, NoExpiry: true, Sums: []release.Digest{release.Sum(f.Data)}}, nil
		}
	}
	return nil, fmt.Errorf("the release has no %s", release.SumsName)
}

// sealedFile is a memory file that nobody can change any more, open across exec.
func sealedFile(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("memory file: %w", err)
	}
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			return 0, fmt.Errorf("memory file: %w", err)
		}
		rest = rest[n:]
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return 0, fmt.Errorf("memory file: %w", err)
	}
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return 0, fmt.Errorf("memory file: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
		return 0, fmt.Errorf("memory file: %w", err)
	}
	return fd, nil
}
