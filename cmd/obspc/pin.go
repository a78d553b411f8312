package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

func pinCommand() *cli.Command {
	return &cli.Command{
		Name:      "pin",
		Usage:     "accept a release: write what obspc verify and obsrun will hold others to",
		ArgsUsage: "RELEASE",
		Description: `Checks the release as verify does, writes or updates the pins file, which the
consumer commits and reviews, and prints what is trusted from now on. It refuses
a release without product and serial, and to lower a serial.

   obspc pin release
   obspc pin release --pins deploy/obspc.pins`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "pins", Value: release.PinsName, Usage: "the `FILE` to write or update"},
			&cli.BoolFlag{Name: "no-expiry", Usage: "accept releases that never expire"},
			&cli.BoolFlag{Name: "unsafe-lower-serial", Usage: "skip the rollback check: accept an older release than the one pinned"},
		},
		Action: pin,
	}
}

func pin(c *cli.Context) error {
	path, err := oneArgument(c, "RELEASE")
	if err != nil {
		return err
	}
	file := c.String("pins")
	before, err := readPins(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return wrongCall("%w", cleanPathError(err))
	}
	manifest, report := verify.Inspect(verify.Dir(path))
	if manifest == nil {
		return notPinned(c, path, report)
	}
	options := release.PinOptions{NoExpiry: c.Bool("no-expiry"), UnsafeLowerSerial: c.Bool("unsafe-lower-serial")}
	after, trusts, err := release.Update(before, manifest, release.Digest(report.Digest), options)
	if err != nil {
		return &exitError{exitNo, err}
	}
	// What is about to be trusted must be accepted by the very pins that say so.
	verified, report := verify.Open(verify.Dir(path), verify.Trust{Pins: after, Now: time.Now()})
	if verified == nil {
		return notPinned(c, path, report)
	}
	if err := replaceFile(file, after.Format()); err != nil {
		return &exitError{exitMachine, err}
	}
	for _, line := range trusts {
		fmt.Fprintln(c.App.Writer, line)
	}
	fmt.Fprintf(c.App.Writer, "%s: commit it where the release is used\n", file)
	return nil
}

// notPinned shows why, and ends the command.
func notPinned(c *cli.Context, path string, report *verify.Report) error {
	fmt.Fprint(c.App.ErrWriter, report)
	return &exitError{exitNo, fmt.Errorf("%s is not pinned: it does not pass verification", path)}
}

// replaceFile writes a whole file or leaves the old one: a temporary file beside
// it, then a rename.
func replaceFile(name string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".obspc-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
