package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

func lintCommand() *cli.Command {
	return &cli.Command{
		Name:      "lint",
		Usage:     "say what in an artifact of anybody's is wrong or probably not meant",
		ArgsUsage: " ",
		Description: `Reads a Seatbelt profile, or a command line of bwrap: a shell command, its
options in lines of their own, or NUL-separated arguments as in
/proc/PID/cmdline. Exit code 0: nothing, or warnings alone; 1: the system would
refuse it; 2: it cannot be opened.

   obspc lint --sbpl agent.sb
   obspc lint --sbpl agent.sb --release 13.0 --param HOME=/Users/u --import-dir profiles
   obspc lint --bwrap sandbox.sh --param HOME=/home/u
   obspc lint --bwrap /proc/4242/cmdline --release 0.8.0 --format json`,
		Flags:  append(artifactFlags(), &cli.StringSliceFlag{Name: "bind", Usage: "`SLOT=PATH`: workspace, home or tmp; may be repeated"}, formatFlag()),
		Action: lint,
	}
}

func lint(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	a, isProfile, err := artifactNamed(c)
	if err != nil {
		return err
	}
	if a == nil || c.NArg() > 0 {
		return wrongCall("lint wants --sbpl FILE or --bwrap FILE; see obspc lint --help")
	}
	return a.lint(c, isProfile, asJSON)
}

// lint shows all findings. A warning refuses nothing.
func (a *artifact) lint(c *cli.Context, isProfile, asJSON bool) error {
	var list diag.List
	if isProfile {
		list = sbpl.Lint(a.name, a.text, a.sbpl)
	} else {
		list = cmdline.Lint(a.name, a.text, a.bwrap)
	}
	refused, err := a.show(c, list, asJSON)
	if err != nil {
		return err
	}
	if !asJSON {
		note := ""
		if isProfile {
			note = ", " + neverOnMac
		}
		fmt.Fprintf(c.App.Writer, "%s: %s%s\n", a.name, counted(list), note)
	}
	if refused {
		return &exitError{Code: exitNo}
	}
	return nil
}

// counted says how many findings there are.
func counted(list diag.List) string {
	errs, warnings := 0, 0
	for _, d := range list {
		if d.Severity == diag.Error {
			errs++
		} else {
			warnings++
		}
	}
	return fmt.Sprintf("%s, %s", count(errs, "error"), count(warnings, "warning"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
