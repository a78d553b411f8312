package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// artifactFlags name a file of anybody's that a system enforces, and what it is read
// under.
func artifactFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sbpl", Usage: "take the Seatbelt profile `FILE` instead of policies (- is standard input)"},
		&cli.StringFlag{Name: "bwrap", Usage: "take the command line of bwrap in `FILE` instead of policies (- is standard input)"},
		&cli.StringFlag{Name: "release", Usage: "read it for `VERSION`: of macOS for a profile (14.4 unless given), of bubblewrap for a command line (any)"},
		&cli.StringSliceFlag{Name: "param", Usage: "`KEY=VALUE`: a -D definition of the profile, or a shell variable; may be repeated"},
		&cli.StringFlag{Name: "import-dir", Usage: "where (import …) of a profile finds files: `DIR`"},
	}
}

// artifact is a file that was named instead of policies.
type artifact struct {
	name    string // as it is shown
	text    []byte
	params  map[string]string
	binding ir.Binding
	bwrap   cmdline.Options
	sbpl    sbpl.Options
}

// artifactNamed reads --sbpl or --bwrap; nil when neither is given.
func artifactNamed(c *cli.Context) (a *artifact, isProfile bool, err error) {
	profile, line := c.String("sbpl"), c.String("bwrap")
	switch {
	case profile == "" && line == "":
		for _, name := range []string{"release", "param", "import-dir"} {
			if c.IsSet(name) {
				return nil, false, wrongCall("--%s is for --sbpl and --bwrap", name)
			}
		}
		return nil, false, nil
	case profile != "" && line != "":
		return nil, false, wrongCall("--sbpl and --bwrap: one artifact at a time")
	case c.IsSet("policy") || c.IsSet("var"):
		return nil, false, wrongCall("--policy and --var are about policies, and %s is none", profile+line)
	}
	a = &artifact{name: profile + line}
	limit := int64(maxProfile)
	if line != "" {
		limit = cmdline.MaxText
	}
	if a.text, err = readArtifact(c, a.name, limit); err != nil {
		return nil, false, err
	}
	if a.name == "-" {
		a.name = "<stdin>"
	}
	if a.params, err = parameters(c.StringSlice("param")); err != nil {
		return nil, false, err
	}
	if a.binding, err = parseBinding(c.StringSlice("bind")); err != nil {
		return nil, false, err
	}
	if profile != "" {
		return a, true, a.profileOptions(c)
	}
	return a, false, a.commandLineOptions(c)
}

// Bounds of what is read, in bytes: of profiles as much as their reader takes, of logs
// far more than anybody looks at.
const (
	maxProfile = 1 << 20
	maxLog     = 64 << 20
)

// readArtifact reads a file, or standard input for "-", of at most limit bytes.
func readArtifact(c *cli.Context, name string, limit int64) ([]byte, error) {
	if name == "-" {
		return readUpTo("standard input", c.App.Reader, limit)
	}
	return readSmall(name, limit)
}

func parameters(words []string) (map[string]string, error) {
	params := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, wrongCall("--param %q wants KEY=VALUE", w)
		}
		params[name] = value
	}
	return params, nil
}

func (a *artifact) profileOptions(c *cli.Context) error {
	a.sbpl = sbpl.Options{Release: operations.Newest, Params: a.params, UnknownImports: true}
	if v := c.String("release"); v != "" {
		release, ok := operations.ReleaseNamed(v)
		if !ok {
			return wrongCall("there is no table of operations for macOS %s; there is one for %s", v, releaseList())
		}
		a.sbpl.Release = release
	}
	for _, slot := range ir.Slots() {
		name := strings.ToUpper(slot.String())
		if at, bound := a.binding.At(slot); bound {
			a.params[name] = at.String()
		}
	}
	if dir := c.String("import-dir"); dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return wrongCall("--import-dir %s is no directory", dir)
		}
		a.sbpl.Imports = importFolder(dir)
	}
	return nil
}

func releaseList() string {
	var names []string
	for _, r := range operations.Releases() {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

func (a *artifact) commandLineOptions(c *cli.Context) error {
	if c.IsSet("import-dir") {
		return wrongCall("--import-dir is for --sbpl")
	}
	a.bwrap = cmdline.Options{Values: a.params}
	for _, slot := range ir.Slots() {
		if at, bound := a.binding.At(slot); bound {
			a.params[slot.String()] = at.String()
		}
	}
	if v := c.String("release"); v != "" {
		release, ok := cmdline.ParseVersion(v)
		if !ok {
			return wrongCall("--release %s is no version of bubblewrap, such as 0.8.0", v)
		}
		a.bwrap.Release = release
	}
	return nil
}

// importFolder stands for the directories of macOS that hold profiles; a file that a
// profile names with its whole path is found by that path below it.
type importFolder string

func (dir importFolder) Open(name string) (fs.File, error) {
	for _, system := range []string{"System/Library/Sandbox/Profiles/", "usr/share/sandbox/", "Library/Sandbox/Profiles/"} {
		if rest, ok := strings.CutPrefix(name, system); ok {
			name = rest
			break
		}
	}
	return os.DirFS(string(dir)).Open(filepath.ToSlash(name))
}

// show writes findings, as every command does, and reports whether one is an error.
func (a *artifact) show(c *cli.Context, list diag.List, asJSON bool) (bool, error) {
	if asJSON {
		_, err := fmt.Fprintf(c.App.Writer, "%s", diag.JSON(list))
		return list.HasErrors(), err
	}
	err := diag.Render(c.App.ErrWriter, list, map[string][]byte{a.name: a.text}, diag.RenderOptions{Colour: colour(c)})
	return list.HasErrors(), err
}

// refused shows the findings that keep an artifact from being read.
func (a *artifact) refused(c *cli.Context, list diag.List, asJSON bool) error {
	var errs diag.List
	for _, d := range list {
		if d.Severity == diag.Error {
			errs.Add(d)
		}
	}
	if _, err := a.show(c, errs, asJSON); err != nil {
		return err
	}
	return &exitError{Code: exitInput}
}
