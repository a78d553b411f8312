package main

import (
	"errors"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

// askedVerify is what one call of verify asks for: its flags, or the verify block
// of the project file in the working directory and what flags add to it.
type askedVerify struct {
	release, source, golden, pins, base string
	keys, rules, variables              []string
	asks                                *lang.Verify // the project file's own words; nil when it was not read
}

// maxProject is how many bytes of a project file are read.
const maxProject = 1 << 20

func askedFor(c *cli.Context) (*askedVerify, error) {
	a := &askedVerify{}
	if err := noRest(c); err != nil {
		return nil, err
	}
	switch c.NArg() {
	case 0:
		if err := a.project(c); err != nil {
			return nil, err
		}
	case 1:
		a.release = c.Args().First()
	default:
		return nil, wrongCall("verify wants one RELEASE; there are %d arguments", c.NArg())
	}
	for name, to := range map[string]*string{"source": &a.source, "golden": &a.golden, "pins": &a.pins, "base": &a.base} {
		if given := c.String(name); given != "" {
			*to = given
		}
	}
	a.keys = append(a.keys, c.StringSlice("key")...)
	a.rules = append(a.rules, c.StringSlice("rules")...)
	a.variables = append(a.variables, c.StringSlice("var")...)
	if len(a.variables) > 0 && a.source == "" {
		return nil, wrongCall("--var is about sources that are compiled again; add --source PATH")
	}
	return a, nil
}

// project reads ./obspc.hcl. Its paths are those of the working directory.
func (a *askedVerify) project(c *cli.Context) error {
	text, err := readSmall(lang.ProjectFile, maxProject)
	if errors.Is(err, fs.ErrNotExist) {
		return wrongCall("verify wants RELEASE, or an %s here whose verify block names it", lang.ProjectFile)
	}
	if err != nil {
		return err
	}
	v, err := parseProject(c, lang.ProjectFile, text)
	if err != nil {
		return err
	}
	a.asks = v
	if v.Release.Value == "" {
		return wrongCall("%s does not say what to verify; write release = \"DIR\" into its verify block", lang.ProjectFile)
	}
	a.release, a.source, a.golden, a.pins, a.base = v.Release.Value, v.Source.Value, v.Golden.Value, v.Pins.Value, v.Base.Value
	for _, s := range v.Keys {
		a.keys = append(a.keys, s.Value)
	}
	for _, s := range v.Rules {
		a.rules = append(a.rules, s.Value)
	}
	for _, s := range v.Variables {
		a.variables = append(a.variables, s.Value)
	}
	return nil
}

// trust reads pins and keys.
func (a *askedVerify) trust(c *cli.Context) (verify.Trust, error) {
	trust := verify.Trust{StateDir: c.String("state")}
	var err error
	if trust.Now, err = at(c); err != nil {
		return trust, err
	}
	if a.pins != "" {
		if trust.Pins, err = readPins(a.pins); err != nil {
			return trust, err
		}
	}
	trust.Keys, err = readKeys(a.keys)
	return trust, err
}

// signatures are the checks beyond a key's signature: an identity's bundle, and
// a key's bundle and the statements that lie in a release whose signer is asked
// about.
func (a *askedVerify) signatures(c *cli.Context, trust verify.Trust) ([]verify.Check, error) {
	var checks []verify.Check
	keys := trust.Keys
	if len(keys) == 0 && trust.Pins != nil {
		keys = trust.Pins.Keys
	}
	var required []string
	if c.Bool("statements") {
		required = []string{sign.ProvenanceName, sign.ResultName}
		if len(keys) == 0 {
			return nil, wrongCall("--statements asks who signed them; add --key FILE, or --pins with keys")
		}
	}
	if len(keys) > 0 {
		checks = append(checks, &sign.Bundle{Keys: keys}, &sign.Statements{Keys: keys, Required: required})
	}
	subject, issuer, root := c.String("identity"), c.String("issuer"), c.String("trusted-root")
	if subject == "" && issuer == "" && root == "" && c.String("bundle") == "" {
		return checks, nil
	}
	if subject == "" || issuer == "" || root == "" {
		return nil, wrongCall("--identity, --issuer and --trusted-root belong together: who signed, who vouched for that, and whom to believe")
	}
	trusted, err := readSmall(root, sign.MaxTrustedRoot)
	if err != nil {
		return nil, err
	}
	var bundle []byte
	if file := c.String("bundle"); file != "" {
		if bundle, err = readSmall(file, release.MaxSignature); err != nil {
			return nil, err
		}
	}
	identity, err := sign.NewIdentity(subject, issuer, trusted, bundle)
	if err != nil {
		return nil, wrongCall("%w", err)
	}
	return append(checks, identity), nil
}

func keyFlag(usage string) cli.Flag { return &cli.StringSliceFlag{Name: "key", Usage: usage} }

// readKeys reads public keys.
func readKeys(files []string) ([]release.Key, error) {
	var keys []release.Key
	for _, file := range files {
		text, err := readTrusted(verify.Signature, file, release.MaxKeyFile)
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
