package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/verify/release"
)

func compileCommand() *cli.Command {
	return &cli.Command{
		Name:      "compile",
		Usage:     "compile policies into a release directory",
		ArgsUsage: "PATH",
		Description: `Writes, for each policy, its IR and every artifact of its targets, then
release.json and SHA256SUMS. The same sources give the same bytes on every
machine. Each artifact is read back from its own bytes and compared with the
policy's meaning before anything is written. The directory appears whole or not
at all; an earlier release there is replaced.

   obspc compile . -o release
   obspc compile . -o release --product acme-policies --serial 7 --expires 2027-06-30T00:00:00Z
   obspc compile . -o release --target bwrap --policy payment-batch
   (cd release && sha256sum -c --strict SHA256SUMS)

Without --product the release is product "local", serial 0, which pin refuses.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "the release `DIR`; its parent must exist"},
			&cli.StringFlag{Name: "product", Usage: "`NAME` under which consumers pin this release"},
			&cli.Int64Flag{Name: "serial", Usage: "`N`, raised by every release; guards against rollback"},
			&cli.StringFlag{Name: "created", Usage: "`TIME` of the release (RFC 3339); never taken from the clock"},
			&cli.StringFlag{Name: "expires", Usage: "`TIME` after which the release is refused (RFC 3339)"},
			&cli.StringSliceFlag{Name: "target", Usage: "only `TARGET`: bwrap or seatbelt; may be repeated"},
			&cli.StringSliceFlag{Name: "policy", Usage: "only the policy `NAME`; may be repeated"},
			varFlag(), formatFlag(),
		},
		Action: compileRelease,
	}
}

func compileRelease(c *cli.Context) error {
	path, err := oneArgument(c, "PATH")
	if err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	out := c.String("output")
	if out == "" {
		return wrongCall("compile wants -o DIR, the release directory to write")
	}
	input, err := releaseInput(c)
	if err != nil {
		return err
	}
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if err := conf.narrow(c.StringSlice("policy"), c.StringSlice("target")); err != nil {
		return err
	}
	files, err := conf.build(input)
	if reported := conf.report(c, asJSON); reported != nil || err != nil {
		return errors.Join(err, reported)
	}
	if err := release.Write(out, files); err != nil {
		return &exitError{exitMachine, err}
	}
	if !asJSON {
		if slices.ContainsFunc(conf.results, func(r compiler.Result) bool { return r.Policy.HasTarget(ir.Seatbelt) }) {
			fmt.Fprintf(c.App.ErrWriter, "obspc: %s; the operations of macOS %s to %s are known, those that later releases add are not\n",
				unprovenProfile, operations.Supported()[0], operations.Newest)
		}
		sums := files[slices.IndexFunc(files, func(f release.File) bool { return f.Name == release.SumsName })]
		fmt.Fprintf(c.App.Writer, "%s: %d files, SHA256SUMS %s\n", out, len(files), release.Sum(sums.Data))
	}
	return nil
}

// unprovenProfile is said with every profile until there is a docs/mac-proof.json.
const unprovenProfile = "the Seatbelt profile was never run on a Mac"

// releaseInput reads what the release is to say of itself.
func releaseInput(c *cli.Context) (release.Input, error) {
	in := release.Input{
		Product: c.String("product"), Serial: c.Int64("serial"), Compiler: release.Version,
		Targets: c.StringSlice("target"), Only: c.StringSlice("policy"),
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"created", &in.Created}, {"expires", &in.Expires}} {
		text := c.String(t.name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return in, wrongCall("--%s %q is no time; write it as in 2027-06-30T00:00:00Z", t.name, text)
		}
		*t.to = at.UTC()
	}
	return in, nil
}

// narrow keeps the policies and targets that were asked for.
func (conf *configuration) narrow(names, only []string) error {
	for _, t := range only {
		if t != string(ir.Bwrap) && t != string(ir.Seatbelt) {
			return wrongCall("there is no target %q; there are bwrap and seatbelt", t)
		}
	}
	for _, n := range names {
		if _, err := conf.choose(n); err != nil && !conf.diags.HasErrors() {
			return err
		}
	}
	var kept []compiler.Result
	for _, r := range conf.results {
		if len(names) > 0 && !slices.Contains(names, r.Policy.Name) {
			continue
		}
		if len(only) > 0 {
			r.Policy.Targets = slices.DeleteFunc(slices.Clone(r.Policy.Targets), func(t ir.Target) bool { return !slices.Contains(only, string(t)) })
			if len(r.Policy.Targets) == 0 {
				return wrongCall("policy %q names none of the targets asked for", r.Policy.Name)
			}
		}
		kept = append(kept, r)
	}
	conf.results = kept
	return nil
}

// build makes the files of the release. What the policies' authors must mend is
// added to the findings; an error is the machine's or obspc's.
func (conf *configuration) build(in release.Input) ([]release.File, error) {
	for _, r := range conf.results {
		conf.diags.Add(targets.Compare(r.Policy, conf.at(r))...)
	}
	if conf.diags.HasErrors() {
		return nil, nil
	}
	in.Sources = conf.sourceDigests()
	in.Variables = conf.vars
	for _, r := range conf.results {
		artifacts, err := targets.Compile(r.Policy)
		if err != nil {
			// Compare has asked the targets what they can write down, so this is no
			// fault of the policy: nothing is written, and obspc says that it is wrong.
			diag.Bug("%v%s", err, conf.stated(r, err))
		}
		in.Policies = append(in.Policies, releasePolicy(r, artifacts))
	}
	if len(in.Policies) == 0 {
		return nil, wrongCall("%s holds no policy to compile", conf.dir)
	}
	files, err := release.Build(in)
	if err != nil {
		return nil, &exitError{exitInput, err}
	}
	return files, nil
}

// sourceDigests are the digests of all texts that the policies were compiled from,
// those of embedded templates included.
func (conf *configuration) sourceDigests() map[string]release.Digest {
	digests := map[string]release.Digest{}
	for _, sources := range []map[string][]byte{conf.config.Sources, conf.library} {
		for name, text := range sources {
			digests[name] = release.Sum(text)
		}
	}
	return digests
}

// stated is where the statement stands that a failed validation is about; "" when
// it is about none.
func (conf *configuration) stated(r compiler.Result, err error) string {
	var fault *targets.ValidationError
	if !errors.As(err, &fault) {
		return ""
	}
	at, known := r.Ranges[fault.Origin]
	if !known {
		return ""
	}
	return fmt.Sprintf("; the statement is at %s:%d:%d", conf.display(at.File), at.Start.Line, at.Start.Column)
}

// releasePolicy is one policy's part of the release: its artifacts, and where its
// statements stand in the sources.
func releasePolicy(r compiler.Result, artifacts []targets.Artifact) release.Policy {
	out := release.Policy{Name: r.Policy.Name, Artifacts: []release.Made{{Name: "ir.map.json", Kind: "ir-map", Data: r.MapJSON()}}}
	for _, a := range artifacts {
		out.Artifacts = append(out.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
	}
	return out
}
