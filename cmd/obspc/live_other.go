//go:build !linux

package main

import (
	"runtime"

	"github.com/urfave/cli/v2"
)

// attempted is for Linux alone: nothing is tried elsewhere.
func attempted([]string) (int, bool) { return 0, false }

func newLab(*cli.Context, *configuration) (lab, error) { return nil, notHere(runtime.GOOS) }
