//go:build !linux

package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/verify/release"
)

// exec is refused: obsrun starts sandboxes on Linux only in this version.
func (r runner) exec(*cli.Context, []release.File, string, []string, []string) error {
	return &exitError{exitMachine, errors.New("exec needs Linux; on macOS obspc compiles and verifies, and starts nothing yet")}
}
