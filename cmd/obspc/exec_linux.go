package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/verify/release"
)

// exec becomes obsrun: the release and the pins that accept exactly it go over
// sealed memory files, so that nothing can change between here and there and
// nothing is left behind. It returns only when that fails.
func (r runner) exec(c *cli.Context, files []release.File, policy string, trusted, command []string) error {
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
	kept, err := configFlags(trusted)
	if err != nil {
		return err
	}
	args = append(args, kept...)
	for _, name := range []string{"workspace", "bwrap", "evidence", "trace-format", "observe-format"} {
		if v := c.String(name); v != "" {
			args = append(args, "--"+name, v)
		}
	}
	for _, name := range []string{"stdin", "tty", "trace", "observe"} {
		if c.Bool(name) {
			args = append(args, "--"+name)
		}
	}
	args = append(append(args, "--"), command...)
	return &exitError{exitMachine, fmt.Errorf("starting %s: %w", r.path, unix.Exec(r.path, args, os.Environ()))}
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
