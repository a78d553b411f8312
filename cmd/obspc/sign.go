package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/rego"
	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

func signCommand() *cli.Command {
	return &cli.Command{
		Name:      "sign",
		Usage:     "sign a release, after checking it",
		ArgsUsage: "RELEASE",
		Description: `Checks the release, then writes beside SHA256SUMS: its detached signature (.sig), a
Sigstore bundle (.sigstore.json) with the same signature, and two signed in-toto
statements: how the release was made, and which checks it passed. With --source,
--rules and --golden these are among the checks. A release that fails one is not
signed.

   obspc sign release --key release.key
   obspc sign release --key release.key --source . --rules std`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "sign with this private `FILE`, made by obspc keygen or cosign"},
			&cli.StringFlag{Name: "source", Usage: "these policies give exactly this release: `PATH`"},
			&cli.StringSliceFlag{Name: "var", Usage: "the sources' variable has this value, as `NAME=VALUE`; may be repeated"},
			&cli.StringFlag{Name: "golden", Usage: "reviewers have seen these artifacts: `DIR`"},
			rulesFlag(), baseFlag(),
		},
		Action: signRelease,
	}
}

func signRelease(c *cli.Context) error {
	path, err := oneArgument(c, "RELEASE")
	if err != nil {
		return err
	}
	file := c.String("key")
	if file == "" {
		return wrongCall("sign wants --key FILE, a private key; obspc keygen makes one")
	}
	now := time.Now()
	m, sums, result, err := signable(c, path, now)
	if err != nil {
		return err
	}
	private, err := readSmall(file, sign.MaxPrivateKey)
	if err != nil {
		return err
	}
	signer, err := sign.Load(private, func() ([]byte, error) { return password(c, false) })
	if err != nil {
		return wrongCall("%s: %w", file, err)
	}
	made := map[string][]byte{}
	if made[release.SignatureName], made[release.BundleName], err = signer.Sums(sums); err != nil {
		return err
	}
	if made[sign.ProvenanceName], err = signer.Provenance(m, sums); err != nil {
		return err
	}
	if made[sign.ResultName], err = signer.Result(m, sums, result.checks, result.rules, now); err != nil {
		return err
	}
	// The signature comes last: with it the release is signed, statements and all.
	for _, name := range []string{sign.ProvenanceName, sign.ResultName, release.BundleName, release.SignatureName} {
		if err := replaceFile(filepath.Join(path, name), made[name]); err != nil {
			return &exitError{exitMachine, err}
		}
	}
	fmt.Fprintf(c.App.Writer, "%s: %s serial %d signed by %s %s\n", path, m.Product, m.Serial, signer.Key().Type, signer.Key().ID())
	return nil
}

// checked is what a release was found to hold before it was signed.
type checked struct {
	checks []string
	rules  release.Digest
}

// signable checks the release in path and returns its manifest and the very bytes
// of SHA256SUMS that were checked.
func signable(c *cli.Context, path string, now time.Time) (*release.Manifest, []byte, checked, error) {
	none := checked{}
	sets, err := readRules(c.StringSlice("rules"))
	if err != nil {
		return nil, nil, none, err
	}
	base, err := basePolicies(c, c.String("base"))
	if err != nil {
		return nil, nil, none, err
	}
	held, err := houseChecks(c.StringSlice("rules"), base)
	if err != nil {
		return nil, nil, none, err
	}
	vars, err := variables(c.StringSlice("var"))
	if err != nil {
		return nil, nil, none, err
	}
	recompiled := &recompilation{path: c.String("source"), vars: vars}
	if recompiled.path != "" {
		held = append(held, recompiled)
	}
	if dir := c.String("golden"); dir != "" {
		held = append(held, &goldenCheck{dir: dir, source: recompiled.path})
	}
	m, _ := verify.Inspect(verify.Dir(path))
	_, report := verify.Open(verify.Dir(path), verify.Trust{Now: now}, held...)
	if m == nil || !report.Verified() && !report.Unanchored {
		fmt.Fprint(c.App.ErrWriter, report)
		if err := recompiled.shown(func(conf *configuration) error { return conf.report(c, false) }); err != nil {
			return nil, nil, none, err
		}
		return nil, nil, none, &exitError{exitNo, fmt.Errorf("%s is not signed: it does not pass verification", path)}
	}
	if m.Product == release.LocalProduct {
		return nil, nil, none, &exitError{exitNo, fmt.Errorf("product %q is for the machine that compiled it; compile with --product and --serial to sign", m.Product)}
	}
	sums, err := readSmall(filepath.Join(path, release.SumsName), release.MaxSums)
	if err != nil {
		return nil, nil, none, err
	}
	if string(release.Sum(sums)) != report.Digest {
		return nil, nil, none, &exitError{exitNo, fmt.Errorf("%s changed while it was checked", path)}
	}
	out := checked{rules: rego.DigestOf(sets)}
	for _, r := range report.Checks {
		if r.Outcome == verify.Passed {
			out.checks = append(out.checks, r.Check)
		}
	}
	return m, sums, out, nil
}
