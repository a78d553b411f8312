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
a release without product and serial, and to lower a serial. With a key, releases
are accepted for their signature and serial from then on, not one by one.

   obspc pin release
   obspc pin release --pins deploy/obspc.pins
   obspc pin release --key obspc.pub`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "pins", Value: release.PinsName, Usage: "the `FILE` to write or update"},
			keyFlag("trust releases that this key signed, from now on: `FILE` in PEM; may be repeated"),
			&cli.BoolFlag{Name: "exact", Usage: "with a key: accept this very release alone all the same"},
			&cli.BoolFlag{Name: "no-expiry", Usage: "accept releases that never expire"},
			&cli.BoolFlag{Name: "unsafe-lower-serial", Usage: "skip the rollback check: accept an older release than the one pinned"},
			&cli.StringSliceFlag{Name: "unsafe-drop-key", Usage: "no longer trust the key with this `SHA256`; may be repeated"},
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
	options, err := pinOptions(c)
	if err != nil {
		return err
	}
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

// pinOptions reads what the call says beyond the release.
func pinOptions(c *cli.Context) (o release.PinOptions, err error) {
	o = release.PinOptions{NoExpiry: c.Bool("no-expiry"), UnsafeLowerSerial: c.Bool("unsafe-lower-serial"), Exact: c.Bool("exact")}
	for _, word := range c.StringSlice("unsafe-drop-key") {
		id, err := release.ParseDigest(word)
		if err != nil {
			return o, wrongCall("--unsafe-drop-key %q: %w; obspc pin prints the digest of each key", word, err)
		}
		o.UnsafeDropKeys = append(o.UnsafeDropKeys, id)
	}
	o.Keys, err = readKeys(c.StringSlice("key"))
	return o, err
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
