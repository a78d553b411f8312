//go:build !linux

package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"
)

// attempted is for Linux alone: nothing is tried elsewhere.
func attempted([]string) (int, bool) { return 0, false }

// newLab says why this system cannot try expectations.
func newLab(*cli.Context, *configuration) (lab, error) {
	err := fmt.Errorf("--live runs on Linux, not on %s", runtime.GOOS)
	if runtime.GOOS == "darwin" {
		err = errors.New("--live has never been run on a Mac, so it refuses there; without it, test asks the models")
	}
	return nil, &exitError{exitMachine, err}
}
