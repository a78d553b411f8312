package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify"
)

// before is what was in use before, as --base names it.
type before struct {
	*side
	path string
	asks *lang.Verify // what the base's own project file asks for; nil when it has none
}

func baseFlag() cli.Flag {
	return &cli.StringFlag{Name: "base", Usage: "what was in use before: `OLD`, policies, a release, or a directory with an obspc.hcl that names them"}
}

// readBase reads policies, a release, or what a project file names: its release
// where that is committed, which holds the values of variables, else its sources.
// It is nil for "".
func readBase(c *cli.Context, path string) (*before, error) {
	if path == "" {
		return nil, nil
	}
	b := &before{path: path}
	if _, err := os.Stat(path); err != nil {
		return nil, wrongCall("--base %w", cleanPathError(err))
	}
	text, err := readSmall(filepath.Join(path, lang.ProjectFile), maxProject)
	switch {
	case err == nil:
		if b.asks, err = parseProject(c, filepath.Join(path, lang.ProjectFile), text); err != nil {
			return nil, err
		}
		if b.path, err = b.named(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return nil, err
	}
	if b.side, err = readSide(c, b.path); err != nil {
		return nil, err
	}
	return b, nil
}

// named is where the base's project file says that its policies are.
func (b *before) named(dir string) (string, error) {
	for _, name := range []string{b.asks.Release.Value, b.asks.Source.Value} {
		if name == "" {
			continue
		}
		if !filepath.IsLocal(name) {
			return "", wrongCall("--base %s: its %s leads out of it, to %s", dir, lang.ProjectFile, name)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name), nil
		}
	}
	return "", wrongCall("--base %s: neither the release nor the source that its %s names is there", dir, lang.ProjectFile)
}

// byName are the policies of the base; nil when there is none.
func (b *before) byName() map[string]*ir.Policy {
	if b == nil {
		return nil
	}
	byName := map[string]*ir.Policy{}
	for _, p := range b.policies {
		byName[p.Name] = p
	}
	return byName
}

// change is the difference between the base and the release that was verified;
// nil when there is no base. It is told of the very bytes that the report is about.
func (b *before) change(c *cli.Context, path string, report *verify.Report) (*diff.Report, error) {
	if b == nil {
		return nil, nil
	}
	m, again := verify.Inspect(verify.Dir(path))
	if m == nil {
		return nil, nil // the report says what is wrong with it
	}
	if again.Digest != report.Digest {
		return nil, &exitError{exitNo, fmt.Errorf("%s changed while it was read", path)}
	}
	now, err := releaseSide(c, path)
	if err != nil {
		return nil, err
	}
	d := diff.Sets(b.policies, now.policies, targets.Keeps)
	d.Artifacts = changedArtifacts(b.files, now.files)
	return &d, nil
}

// asksOther tells where the base's project file asked for something else than the
// one here: a check that a change switches off does not fail.
func (b *before) asksOther(a *askedVerify) (warnings []string) {
	if b == nil || b.asks == nil || a.asks == nil {
		return nil
	}
	old, now := asked(b.asks), asked(a.asks)
	for i, member := range old {
		if was, is := member.values, now[i].values; !slices.Equal(was, is) {
			warnings = append(warnings, fmt.Sprintf("%s: %s was %s and is %s", lang.ProjectFile, member.name, listed(was), listed(is)))
		}
	}
	return warnings
}

type askedMember struct {
	name   string
	values []string
}

// asked are the members of a verify block that are checks.
func asked(v *lang.Verify) []askedMember {
	words := func(list ...lang.String) (out []string) {
		for _, s := range list {
			if s.Value != "" {
				out = append(out, s.Value)
			}
		}
		return out
	}
	return []askedMember{
		{"release", words(v.Release)}, {"source", words(v.Source)}, {"golden", words(v.Golden)}, {"pins", words(v.Pins)},
		{"keys", words(v.Keys...)}, {"rules", words(v.Rules...)}, {"base", words(v.Base)},
	}
}

func listed(values []string) string {
	if len(values) == 0 {
		return "not asked for"
	}
	return strings.Join(values, ", ")
}

// parseProject reads a project file and shows what is wrong with it.
func parseProject(c *cli.Context, name string, text []byte) (*lang.Verify, error) {
	v, diags := lang.ParseProject(name, text)
	if err := diag.Render(c.App.ErrWriter, diags, map[string][]byte{name: text}, diag.RenderOptions{Colour: colour(c)}); err != nil {
		return nil, err
	}
	if diags.HasErrors() {
		return nil, &exitError{Code: exitInput}
	}
	return v, nil
}

// basePolicies are the policies of the base by name, for commands that need no more.
func basePolicies(c *cli.Context, path string) (map[string]*ir.Policy, error) {
	b, err := readBase(c, path)
	return b.byName(), err
}
