package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/verdict"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "say whether a release may be used: yes (0) or no (1)",
		ArgsUsage: "[RELEASE]",
		Description: `Reads every file of the release once and checks structure, checksums, pins,
serial and expiry, and that each artifact, read back from its own bytes, allows
nothing that its policy denies. All failures are shown at once. A verdict names
what it rests on; with nothing asked for the answer is no. Without RELEASE the
verify block of ./obspc.hcl says what to ask for, and flags add to it.

   obspc verify release --pins obspc.pins
   obspc verify release --key obspc.pub
   obspc verify release --identity https://github.com/acme/policies/.github/workflows/release.yml@refs/tags/v7 \
     --issuer https://token.actions.githubusercontent.com --trusted-root trusted_root.json
   obspc verify release --source . --golden golden --rules std --rules house
   obspc verify release --pins obspc.pins --state /var/lib/obspc --format json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Usage: "these policies give exactly this release: `PATH` of a directory or file that you vouch for"},
			&cli.StringFlag{Name: "golden", Usage: "reviewers have seen these artifacts: `DIR` of committed golden files"},
			rulesFlag(), baseFlag(),
			&cli.StringFlag{Name: "pins", Usage: "what this consumer accepts: `FILE` made by obspc pin"},
			keyFlag("this key signed it: `FILE` in PEM; may be repeated: one of them"),
			&cli.StringFlag{Name: "identity", Usage: "the certificate of the bundle names `SUBJECT`, whole; needs --issuer and --trusted-root"},
			&cli.StringFlag{Name: "issuer", Usage: "the `URL` of who vouched for the identity"},
			&cli.StringFlag{Name: "trusted-root", Usage: "the authorities and logs that are trusted: `FILE` of a Sigstore trusted root"},
			&cli.StringFlag{Name: "bundle", Usage: "the Sigstore bundle, where it is not the release's own: `FILE`"},
			&cli.StringFlag{Name: "state", Usage: "remember the highest serial in `DIR`; without it nothing is written"},
			&cli.StringFlag{Name: "at", Usage: "judge expiry at `TIME` (RFC 3339) instead of now"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write the verdict as `FORMAT`: text, json, sarif, junit, github or markdown"},
		},
		Action: verifyRelease,
	}
}

func verifyRelease(c *cli.Context) error {
	write, err := verdictFormat(c)
	if err != nil {
		return err
	}
	asked, err := askedFor(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(asked.release); err != nil {
		return wrongCall("%v", cleanPathError(err))
	}
	trust, err := asked.trust(c)
	var unsafe *unsafeTrust
	if errors.As(err, &unsafe) {
		report := verify.Refused(verify.Dir(asked.release), unsafe.check, unsafe.fault)
		return told(c, write, verdict.Subject{Report: report, Release: asked.release}, nil)
	}
	if err != nil {
		return err
	}
	var checks []verify.Check
	recompiled := &recompilation{path: asked.source}
	if asked.source != "" {
		checks = append(checks, recompiled)
	}
	seen := &goldenCheck{dir: asked.golden, source: asked.source}
	if asked.golden != "" {
		checks = append(checks, seen)
	}
	held, err := houseChecks(c, asked.rules, asked.base)
	if err != nil {
		return err
	}
	signed, err := asked.signatures(c, trust)
	if err != nil {
		return err
	}
	checks = append(append(checks, held...), signed...)
	_, report := verify.Open(verify.Dir(asked.release), trust, checks...)
	subject := verdict.Subject{Report: report, Release: asked.release, Sources: sourceDir(asked.source)}
	ended := told(c, write, subject, seen.report)
	if err := recompiled.shown(func(conf *configuration) error { return conf.report(c, false) }); err != nil {
		return err
	}
	return ended
}

// told writes the verdict, and ends the command by it: a no is one line on
// standard error as well, whatever reads the rest.
func told(c *cli.Context, write verdictWriter, subject verdict.Subject, seen *goldenReport) error {
	report := subject.Report
	if _, err := c.App.Writer.Write(write(subject, seen)); err != nil {
		return &exitError{exitMachine, err}
	}
	if report.Verified() {
		return nil
	}
	return &exitError{report.ExitCode(), fmt.Errorf("%s: %s", verify.Plain(subject.Release), report.Verdict())}
}

// verdictWriter writes a verdict in one of the formats.
type verdictWriter func(verdict.Subject, *goldenReport) []byte

// sourceDir is the directory that the names of policy files are relative to.
func sourceDir(source string) string {
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		return filepath.Dir(source)
	}
	return source
}

// verdictFormat is how --format wants the verdict written.
func verdictFormat(c *cli.Context) (verdictWriter, error) {
	switch f := c.String("format"); f {
	case "text":
		return func(s verdict.Subject, seen *goldenReport) []byte {
			var b bytes.Buffer
			if seen != nil && len(seen.States) > 0 {
				fmt.Fprintf(&b, "%s\n", coloured(c, seen.Text()))
			}
			fmt.Fprint(&b, s.Report)
			return b.Bytes()
		}, nil
	case "json":
		return func(s verdict.Subject, _ *goldenReport) []byte { return append(s.Report.JSON(), '\n') }, nil
	case "sarif":
		return func(s verdict.Subject, _ *goldenReport) []byte { return s.SARIF() }, nil
	case "junit":
		return func(s verdict.Subject, _ *goldenReport) []byte { return s.JUnit() }, nil
	case "github":
		return func(s verdict.Subject, _ *goldenReport) []byte { return s.GitHub() }, nil
	case "markdown":
		return func(s verdict.Subject, seen *goldenReport) []byte {
			if seen != nil && len(seen.States) > 0 {
				s.More = seen.Markdown()
			}
			return s.Markdown()
		}, nil
	default:
		return nil, wrongCall("there is no format %q; write text, json, sarif, junit, github or markdown", f)
	}
}

// unsafeTrust is pins or a key that somebody else could change: the answer is no.
type unsafeTrust struct {
	check string
	fault verify.Failure
}

func (e *unsafeTrust) Error() string { return e.fault.String() }

// readTrusted reads pins or a public key, for the check of that name.
func readTrusted(check, file string, limit int64) ([]byte, error) {
	text, fault, absent := verify.ReadTrusted(file, limit)
	switch {
	case absent:
		return nil, wrongCall("%w", cleanPathError(&fs.PathError{Op: "open", Path: file, Err: syscall.ENOENT}))
	case fault == nil:
		return text, nil
	case fault.Reason == verify.UnsafeFile:
		return nil, &exitError{exitNo, &unsafeTrust{check, *fault}}
	}
	return nil, wrongCall("%s", fault)
}

func readPins(file string) (*release.Pins, error) {
	text, err := readTrusted(verify.Pins, file, release.MaxPins)
	if err != nil {
		return nil, err
	}
	pins, err := release.ParsePins(text)
	if err != nil {
		return nil, wrongCall("%s: %w", file, err)
	}
	return pins, nil
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
