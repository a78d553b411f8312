package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
)

func validateCommand() *cli.Command {
	return &cli.Command{
		Name:      "validate",
		Usage:     "parse and check policies; asks no target and writes nothing",
		ArgsUsage: "PATH",
		Description: `PATH is a directory (all its *.policy.hcl files are one configuration) or one
file. Prints one line for each policy. Exit code 0: every policy means
something; 2: findings, each with its place and what to write instead.

   obspc validate .
   obspc validate payment.policy.hcl --var bank_host=bank.example.com
   obspc validate . --format json`,
		Flags:  []cli.Flag{varFlag(), formatFlag()},
		Action: validate,
	}
}

func validate(c *cli.Context) error {
	path, err := oneArgument(c, "PATH")
	if err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if err := conf.report(c, asJSON); err != nil || asJSON {
		return err
	}
	for _, r := range conf.results {
		fmt.Fprintf(c.App.Writer, "%s: version %d, for %s%s\n", r.Policy.Name, r.Policy.Version, targetList(r.Policy.Targets), commandList(r.Policy.Commands))
	}
	return nil
}

func targetList(targets []ir.Target) string {
	words := make([]string, len(targets))
	for i, t := range targets {
		words[i] = string(t)
	}
	return strings.Join(words, " and ")
}

func commandList(commands []ir.Command) string {
	var words []string
	for _, c := range commands {
		words = append(words, c.Name)
	}
	if len(words) == 0 {
		return ""
	}
	return "; commands " + strings.Join(words, ", ")
}
