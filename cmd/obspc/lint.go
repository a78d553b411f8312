package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	policylint "github.com/obspc/obspc/compiler/lint"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

func lintCommand() *cli.Command {
	return &cli.Command{
		Name:      "lint",
		Usage:     "say what in policies, or in an artifact of anybody's, is probably not meant",
		ArgsUsage: "PATH, or --sbpl FILE or --bwrap FILE",
		Description: `PATH is a directory of policies or one file: loaders and interpreters that an
execute list admits, wide reads, sockets of services, wildcards over anybody's
names, denied system calls of which another does the same. --sbpl reads a Seatbelt profile; --bwrap a command line of bwrap: a shell
command, its options in lines of their own, or NUL-separated arguments as in
/proc/PID/cmdline. Exit code 0: nothing, or warnings alone; 1: the system would
refuse the artifact; 2: it cannot be opened, or a policy has errors.

   obspc lint .
   obspc lint --sbpl agent.sb
   obspc lint --sbpl agent.sb --release 13.0 --param HOME=/Users/u --import-dir profiles
   obspc lint --bwrap sandbox.sh --param HOME=/home/u
   obspc lint --bwrap /proc/4242/cmdline --release 0.8.0 --format json`,
		Flags: append(artifactFlags(), &cli.StringSliceFlag{Name: "bind", Usage: "`SLOT=PATH`, of an artifact: workspace, home or tmp; may be repeated"},
			varFlag(), formatFlag()),
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
	switch {
	case a != nil && c.NArg() > 0:
		return wrongCall("lint takes policies or an artifact, not both")
	case a != nil:
		return a.lint(c, isProfile, asJSON)
	}
	path, err := oneArgument(c, "PATH, --sbpl FILE or --bwrap FILE")
	if err != nil {
		return err
	}
	return lintPolicies(c, path, asJSON)
}

// lintPolicies adds to the findings of policies what they mean too much of.
func lintPolicies(c *cli.Context, path string, asJSON bool) error {
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if !conf.diags.HasErrors() {
		for _, r := range conf.results {
			conf.diags.Add(policylint.Policy(r.Policy, conf.at(r))...)
		}
	}
	if err := conf.report(c, asJSON); err != nil || asJSON {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s: %s\n", path, counted(conf.diags))
	return nil
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
