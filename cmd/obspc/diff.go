package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	textdiff "github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "say what changed in meaning between two configurations or releases",
		ArgsUsage: "OLD NEW",
		Description: `OLD and NEW are policies (a directory or a file) or release directories. Every
grant that only one of them gives is shown with a witness: a request that only
one allows. Text, order and names alone change nothing. Under the meaning stands
what changed in the artifacts' text. With --fail-on the exit code is 1 when
something widened (or changed) that --approve does not acknowledge.

   obspc diff old/ new/
   obspc diff release/ . --fail-on widened
   obspc diff old/ new/ --format markdown > comment.md
   obspc diff old/ new/ --fail-on widened --approve approvals.txt

A line of approvals: the digest that diff prints, the last day, the reason.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fail-on", Usage: "exit 1 when meaning `HOW`: widened or changed"},
			&cli.StringFlag{Name: "approve", Usage: "widenings that are acknowledged, in `FILE`"},
			&cli.StringFlag{Name: "at", Usage: "judge approvals at `TIME` (RFC 3339) instead of now"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write results as `FORMAT`: text, json or markdown"},
			varFlag(),
		},
		Action: diffPolicies,
	}
}

func diffPolicies(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	if c.NArg() != 2 {
		return wrongCall("diff wants OLD and NEW; see obspc diff --help")
	}
	how := diff.FailOn(c.String("fail-on"))
	if how != diff.FailOnNothing && how != diff.FailOnWidened && how != diff.FailOnChanged {
		return wrongCall("--fail-on %q: write widened or changed", string(how))
	}
	write, ok := map[string]func(diff.Report) string{
		"text": diff.Report.Text, "markdown": diff.Report.Markdown,
		"json": func(r diff.Report) string { return string(r.JSON()) + "\n" },
	}[c.String("format")]
	if !ok {
		return wrongCall("there is no format %q; write text, json or markdown", c.String("format"))
	}
	var sides [2]*side
	for i := range sides {
		var err error
		if sides[i], err = readSide(c, c.Args().Get(i)); err != nil {
			return err
		}
	}
	report := diff.Sets(sides[0].policies, sides[1].policies, targets.Keeps)
	report.Artifacts = changedArtifacts(sides[0].files, sides[1].files)
	if file := c.String("approve"); file != "" {
		if err := approve(c, &report, file); err != nil {
			return err
		}
	}
	fmt.Fprint(c.App.Writer, write(report))
	if report.Fails(how) {
		return &exitError{Code: exitNo}
	}
	return nil
}

// maxApprovals is how many bytes of acknowledged widenings are read.
const maxApprovals = 1 << 20

// approve reads the acknowledged widenings.
func approve(c *cli.Context, report *diff.Report, file string) error {
	text, err := readSmall(file, maxApprovals)
	if err != nil {
		return err
	}
	approvals, err := diff.ParseApprovals(text)
	if err != nil {
		return wrongCall("%s: %w", file, err)
	}
	now, err := at(c)
	if err != nil {
		return err
	}
	report.Approve(approvals, day(now))
	return nil
}

// side is one of the two things compared: what its policies mean, and the text of
// its artifacts by POLICY/FILE.
type side struct {
	policies []*ir.Policy
	files    map[string][]byte
}

func readSide(c *cli.Context, path string) (*side, error) {
	if _, err := os.Stat(filepath.Join(path, release.ManifestName)); err == nil {
		return releaseSide(c, path)
	}
	conf, err := load(c, path)
	if err != nil {
		return nil, err
	}
	if conf.diags.HasErrors() {
		return nil, conf.report(c, false)
	}
	s := &side{files: map[string][]byte{}}
	nowhere := func(ir.Origin) diag.Range { return diag.Range{} }
	for _, r := range conf.results {
		s.policies = append(s.policies, r.Policy)
		if targets.Compare(r.Policy, nowhere).HasErrors() {
			continue // its meaning can be compared, artifacts it has none
		}
		artifacts, err := targets.Compile(r.Policy)
		if err != nil {
			diag.Bug("%v", err)
		}
		for _, a := range artifacts {
			s.files[r.Policy.Name+"/"+a.Name] = a.Data
		}
	}
	return s, nil
}

// releaseSide reads a release that is whole: structure, checksums and artifacts
// pass. Whether anybody trusts it does not matter for what it means.
func releaseSide(c *cli.Context, dir string) (*side, error) {
	manifest, report := verify.Inspect(verify.Dir(dir))
	if manifest == nil {
		fmt.Fprint(c.App.ErrWriter, report)
		return nil, wrongCall("%s is no release that can be compared", dir)
	}
	s := &side{files: map[string][]byte{}}
	for _, a := range manifest.Artifacts {
		data, err := readSmall(filepath.Join(dir, filepath.FromSlash(a.Name)), release.MaxFile)
		if err != nil {
			return nil, err
		}
		if release.Sum(data) != a.SHA256 {
			return nil, wrongCall("%s changed while it was read", filepath.Join(dir, a.Name))
		}
		s.files[a.Name] = data
		if path.Base(a.Name) != "ir.json" {
			continue
		}
		p, err := ir.ParseJSON(data)
		if err != nil {
			return nil, wrongCall("%s: %w", filepath.Join(dir, a.Name), err)
		}
		s.policies = append(s.policies, p)
	}
	return s, nil
}

// changedArtifacts lists the artifacts whose bytes differ; those that people read
// come with the difference. Where statements stand in the sources is no artifact.
func changedArtifacts(old, new map[string][]byte) []diff.Artifact {
	names := maps.Clone(old)
	maps.Copy(names, new)
	var out []diff.Artifact
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if bytes.Equal(old[name], new[name]) || path.Base(name) == release.MapName {
			continue
		}
		a := diff.Artifact{Name: name}
		if strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".sb") {
			a.Diff = string(textdiff.Diff("old/"+name, old[name], "new/"+name, new[name]))
		}
		out = append(out, a)
	}
	return out
}
