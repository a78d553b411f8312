package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/replay"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
)

// replayFlags are those of test --replay.
func replayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "replay", Usage: "instead of tests, decide again what the evidence in `FILE` recorded; more files may follow"},
		&cli.StringFlag{Name: "fail-on", Usage: "with --replay, exit 1 when `WHAT`: changed"},
	}
}

// replayed decides again what runs recorded, by the policies as they are now.
func replayed(c *cli.Context) error {
	for _, other := range []string{"run", "cover", "verbose", "live", "bwrap"} {
		if c.IsSet(other) {
			return wrongCall("--%s does not go with --replay, which runs no test", other)
		}
	}
	if on := c.String("fail-on"); on != "" && on != "changed" {
		return wrongCall("--fail-on is changed, not %q", on)
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	conf, err := load(c, c.Args().First())
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	report := &replay.Report{Place: conf.statement}
	for _, file := range append(c.StringSlice("replay"), c.Args().Tail()...) {
		f, err := conf.replay(file, c.String("policy"))
		if err != nil {
			return err
		}
		report.Files = append(report.Files, f)
	}
	if report.Recorded() == 0 {
		return wrongCall("no evidence here holds a connection or a request, so there is nothing to replay")
	}
	write := report.WriteText
	if asJSON {
		write = report.WriteJSON
	}
	if err := write(c.App.Writer); err != nil {
		return err
	}
	if c.String("fail-on") != "" && report.Changed() {
		return &exitError{Code: exitNo}
	}
	return nil
}

// replay decides one file again, by the policy that it is evidence of.
func (conf *configuration) replay(file, policy string) (*replay.File, error) {
	e, _, err := readEvidence(file)
	if err != nil {
		return nil, err
	}
	if policy == "" {
		policy = e.Policy
	}
	for _, r := range conf.results {
		if r.Policy.Name == policy {
			f, err := replay.Run(file, e, r.Policy)
			if err != nil {
				return nil, wrongCall("%s: %w", file, err)
			}
			return f, nil
		}
	}
	if e.Policy == "" {
		return nil, wrongCall("%s: it is evidence of a run that came to no policy", file)
	}
	_, err = conf.choose(policy)
	return nil, wrongCall("%s: %v", file, err)
}

// readEvidence reads an evidence file, and its SHA-256; one that is too large is not
// read.
func readEvidence(file string) (e *runtime.Evidence, digest string, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, "", wrongCall("%w", cleanPathError(err))
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, "", wrongCall("%s is no file", file)
	case info.Size() > runtime.MaxEvidence:
		return nil, "", wrongCall("%s has %d bytes; evidence of more than %d is not read", file, info.Size(), runtime.MaxEvidence)
	}
	data, err := readSmall(file, runtime.MaxEvidence)
	if err != nil {
		return nil, "", err
	}
	if e, err = runtime.ParseEvidence(data); err != nil {
		return nil, "", wrongCall("%s: %w", file, err)
	}
	return e, sha256Hex(data), nil
}

// statement is where a statement of a policy stands.
func (conf *configuration) statement(policy string, o ir.Origin) (file string, line int, ok bool) {
	for _, r := range conf.results {
		if r.Policy.Name == policy {
			return conf.standsAt(r, o)
		}
	}
	return "", 0, false
}

func (conf *configuration) standsAt(r compiler.Result, o ir.Origin) (file string, line int, ok bool) {
	at, ok := r.Ranges[o]
	return conf.display(at.File), at.Start.Line, ok && at.Start.Line > 0
}
