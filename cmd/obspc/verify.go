package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/verdict"
	"github.com/obspc/obspc/compiler/ir/diff"
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
   obspc verify release --pins obspc.pins --state /var/lib/obspc --format json
   obspc verify --base ../before --format github --report markdown=comment.md --report junit=verify.xml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Usage: "these policies give exactly this release: `PATH` of a directory or file that you vouch for"},
			&cli.StringSliceFlag{Name: "var", Usage: "the sources' variable has this value, as `NAME=VALUE`; may be repeated"},
			&cli.StringFlag{Name: "golden", Usage: "reviewers have seen these artifacts: `DIR` of committed golden files"},
			rulesFlag(), baseFlag(),
			&cli.StringFlag{Name: "pins", Usage: "what this consumer accepts: `FILE` made by obspc pin"},
			keyFlag("this key signed it: `FILE` in PEM; may be repeated: one of them"),
			&cli.BoolFlag{Name: "statements", Usage: "how it was made and which checks it passed is there, signed by that key"},
			&cli.StringFlag{Name: "identity", Usage: "the certificate of the bundle names `SUBJECT`, whole; needs --issuer and --trusted-root"},
			&cli.StringFlag{Name: "issuer", Usage: "the `URL` of who vouched for the identity"},
			&cli.StringFlag{Name: "trusted-root", Usage: "the authorities and logs that are trusted: `FILE` of a Sigstore trusted root"},
			&cli.StringFlag{Name: "bundle", Usage: "the Sigstore bundle, where it is not the release's own: `FILE`"},
			&cli.StringFlag{Name: "state", Usage: "remember the highest serial in `DIR`; without it nothing is written"},
			&cli.StringFlag{Name: "at", Usage: "judge expiry at `TIME` (RFC 3339) instead of now"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write the verdict as `FORMAT`: text, json, sarif, junit, github or markdown"},
			&cli.StringSliceFlag{Name: "report", Usage: "write it to a file as well, as `FORMAT=FILE`; may be repeated"},
		},
		Action: verifyRelease,
	}
}

func verifyRelease(c *cli.Context) error {
	write, err := verdictForm(c, c.String("format"))
	if err != nil {
		return err
	}
	reports, err := reportsTo(c)
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
		return told(c, write, reports, &findings{Subject: verdict.Subject{Report: report, Release: asked.release}})
	}
	if err != nil {
		return err
	}
	var checks []verify.Check
	vars, err := variables(asked.variables)
	if err != nil {
		return err
	}
	recompiled := &recompilation{path: asked.source, vars: vars}
	if asked.source != "" {
		checks = append(checks, recompiled)
	}
	seen := &goldenCheck{dir: asked.golden, source: asked.source}
	if asked.golden != "" {
		checks = append(checks, seen)
	}
	base, err := readBase(c, asked.base)
	if err != nil {
		return err
	}
	held, err := houseChecks(asked.rules, base.byName())
	if err != nil {
		return err
	}
	signed, err := asked.signatures(c, trust)
	if err != nil {
		return err
	}
	checks = append(append(checks, held...), signed...)
	_, report := verify.Open(verify.Dir(asked.release), trust, checks...)
	report.Warnings = append(report.Warnings, base.asksOther(asked)...)
	change, err := base.change(c, asked.release, report)
	if err != nil {
		return err
	}
	found := &findings{verdict.Subject{Report: report, Release: asked.release, Sources: sourceDir(asked.source)}, seen.report, change}
	ended := told(c, write, reports, found)
	if err := recompiled.shown(func(conf *configuration) error { return conf.report(c, false) }); err != nil {
		return err
	}
	return ended
}

// told writes the verdict, and ends the command by it: a no is one line on
// standard error as well, whatever reads the rest.
func told(c *cli.Context, write verdictWriter, reports []reportFile, found *findings) error {
	if _, err := c.App.Writer.Write(write(found)); err != nil {
		return &exitError{exitMachine, err}
	}
	for _, r := range reports {
		if err := replaceFile(r.file, r.write(found)); err != nil {
			return &exitError{exitMachine, err}
		}
	}
	if found.Report.Verified() {
		return nil
	}
	return &exitError{found.Report.ExitCode(), fmt.Errorf("%s: %s", verify.Plain(found.Release), found.Report.Verdict())}
}

// verdictWriter writes a verdict in one of the formats.
type verdictWriter func(*findings) []byte

// sourceDir is the directory that the names of policy files are relative to.
func sourceDir(source string) string {
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		return filepath.Dir(source)
	}
	return source
}

// findings are what a verdict is written from.
type findings struct {
	verdict.Subject
	seen   *goldenReport // nil when no golden files were compared
	change *diff.Report  // against the base; nil without one
}

// golden reports whether the golden files are not as committed.
func (f *findings) golden() bool { return f.seen != nil && len(f.seen.States) > 0 }

// text is for people at a terminal.
func (f *findings) text(c *cli.Context) []byte {
	var b bytes.Buffer
	if f.change != nil {
		fmt.Fprintf(&b, "%s\n", coloured(c, f.change.Text()))
	}
	if f.golden() {
		fmt.Fprintf(&b, "%s\n", coloured(c, f.seen.Text()))
	}
	fmt.Fprint(&b, f.Report)
	return b.Bytes()
}

// markdown is for a pull request: the command that accepts new golden files, then
// what changed, against the base if there is one.
func (f *findings) markdown() []byte {
	s := f.Subject
	if f.golden() {
		s.More = f.seen.accept() + "\n"
	}
	switch {
	case f.change != nil:
		s.More += f.change.Markdown()
	case f.golden():
		s.More += f.seen.Diff.Markdown()
	}
	return s.Markdown()
}

// verdictForm is how a verdict is written in the form of that name.
func verdictForm(c *cli.Context, name string) (verdictWriter, error) {
	forms := map[string]verdictWriter{
		"text": func(f *findings) []byte { return f.text(c) }, "json": func(f *findings) []byte { return append(f.Report.JSON(), '\n') },
		"sarif": func(f *findings) []byte { return f.SARIF() }, "junit": func(f *findings) []byte { return f.JUnit() },
		"github": func(f *findings) []byte { return f.GitHub() }, "markdown": (*findings).markdown,
	}
	if write, ok := forms[name]; ok {
		return write, nil
	}
	return nil, wrongCall("there is no format %q; write text, json, sarif, junit, github or markdown", name)
}

// reportFile is one --report.
type reportFile struct {
	file  string
	write verdictWriter
}

// reportsTo reads --report. Files that were there are removed first: what lies
// there after the call is of this call.
func reportsTo(c *cli.Context) (out []reportFile, err error) {
	for _, word := range c.StringSlice("report") {
		form, file, ok := strings.Cut(word, "=")
		if !ok || file == "" {
			return nil, wrongCall("--report %q wants FORMAT=FILE", word)
		}
		write, err := verdictForm(c, form)
		if err != nil {
			return nil, err
		}
		out = append(out, reportFile{file, write})
	}
	for _, r := range out {
		if err := os.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, wrongCall("--report %w", cleanPathError(err))
		}
	}
	return out, nil
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
	return readUpTo(file, f, limit)
}

// readUpTo reads what has at most limit bytes.
func readUpTo(name string, r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, wrongCall("%w", cleanPathError(err))
	case int64(len(text)) > limit:
		return nil, wrongCall("%s has more than %d bytes, which is the most that is read", name, limit)
	}
	return text, nil
}
