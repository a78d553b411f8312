package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/verify/release"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version of obspc and of the obsrun beside it",
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return wrongCall("version takes no arguments")
			}
			fmt.Fprintf(c.App.Writer, "obspc %s\n", release.Version)
			runner, err := runnerBeside()
			if err != nil {
				fmt.Fprintf(c.App.Writer, "obsrun: %v\n", err)
				return nil
			}
			version, err := runner.version()
			if err != nil {
				return &exitError{exitMachine, err}
			}
			fmt.Fprintf(c.App.Writer, "%s\n", version)
			return nil
		},
	}
}
