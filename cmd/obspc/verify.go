package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "say whether a release may be used: yes (0) or no (1)",
		ArgsUsage: "RELEASE",
		Description: `Reads every file of the release once and checks structure, checksums, pins,
serial and expiry, and that each artifact, read back from its own bytes, allows
nothing that its policy denies. All failures are shown at once. A verdict names
what it rests on; with nothing asked for the answer is no.

   obspc verify release --pins obspc.pins
   obspc verify release --key obspc.pub
   obspc verify release --source . --golden golden
   obspc verify release --pins obspc.pins --state /var/lib/obspc --format json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Usage: "these policies give exactly this release: `PATH` of a directory or file that you vouch for"},
			&cli.StringFlag{Name: "golden", Usage: "reviewers have seen these artifacts: `DIR` of committed golden files"},
			&cli.StringFlag{Name: "pins", Usage: "what this consumer accepts: `FILE` made by obspc pin"},
			keyFlag("this key signed it: `FILE` in PEM; may be repeated: one of them"),
			&cli.StringFlag{Name: "state", Usage: "remember the highest serial in `DIR`; without it nothing is written"},
			&cli.StringFlag{Name: "at", Usage: "judge expiry at `TIME` (RFC 3339) instead of now"},
			formatFlag(),
		},
		Action: verifyRelease,
	}
}

func verifyRelease(c *cli.Context) error {
	path, err := oneArgument(c, "RELEASE")
	if err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	trust := verify.Trust{Now: time.Now(), StateDir: c.String("state")}
	if text := c.String("at"); text != "" {
		if trust.Now, err = time.Parse(time.RFC3339, text); err != nil {
			return wrongCall("--at %q is no time; write it as in 2027-06-30T00:00:00Z", text)
		}
	}
	if file := c.String("pins"); file != "" {
		if trust.Pins, err = readPins(file); err != nil {
			return err
		}
	}
	if trust.Keys, err = readKeys(c); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return wrongCall("%v", cleanPathError(err))
	}
	var checks []verify.Check
	recompiled := &recompilation{path: c.String("source")}
	if recompiled.path != "" {
		checks = append(checks, recompiled)
	}
	seen := &goldenCheck{dir: c.String("golden"), source: recompiled.path}
	if seen.dir != "" {
		checks = append(checks, seen)
	}
	verified, report := verify.Open(verify.Dir(path), trust, checks...)
	if asJSON {
		fmt.Fprintf(c.App.Writer, "%s\n", report.JSON())
	} else {
		if seen.report != nil && len(seen.report.States) > 0 {
			fmt.Fprintf(c.App.Writer, "%s\n", coloured(c, seen.report.Text()))
		}
		fmt.Fprint(c.App.Writer, report)
	}
	if err := recompiled.shown(func(conf *configuration) error { return conf.report(c, false) }); err != nil {
		return err
	}
	if verified == nil {
		return &exitError{Code: report.ExitCode()}
	}
	return nil
}

func readPins(file string) (*release.Pins, error) {
	text, err := readSmall(file, release.MaxPins)
	if err != nil {
		return nil, err
	}
	pins, err := release.ParsePins(text)
	if err != nil {
		return nil, wrongCall("%s: %w", file, err)
	}
	return pins, nil
}

func keyFlag(usage string) cli.Flag { return &cli.StringSliceFlag{Name: "key", Usage: usage} }

// readKeys reads the public keys that --key names.
func readKeys(c *cli.Context) ([]release.Key, error) {
	var keys []release.Key
	for _, file := range c.StringSlice("key") {
		text, err := readSmall(file, release.MaxKeyFile)
		if err != nil {
			return nil, err
		}
		key, err := release.ParseKey(text)
		if err != nil {
			return nil, wrongCall("%s: %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// readSmall reads a file of at most limit bytes; a device or a pipe without end
// is not read to its end.
func readSmall(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, wrongCall("%w", cleanPathError(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, wrongCall("%w", cleanPathError(err))
	case int64(len(text)) > limit:
		return nil, wrongCall("%s has more than %d bytes", file, limit)
	}
	return text, nil
}
