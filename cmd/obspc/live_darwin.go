package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/compiler/ir"
)

// ownSlots are the slots that are given to the bench: on macOS tmp is a directory
// as well.
var ownSlots = []ir.Root{ir.Tmp, ir.Workspace}

// userHome is what the user database says of this user.
func userHome() (ir.Path, error) { return live.Home() }

// launch makes sandbox-exec the launcher.
func launch(c *cli.Context, _ *configuration, o *live.Options) error {
	if c.String("bwrap") != "" {
		return wrongCall("--bwrap is for Linux; on macOS --live uses %s", live.SandboxExec)
	}
	if _, err := os.Stat(live.SandboxExec); err != nil {
		return fmt.Errorf("--live needs sandbox-exec: %w", err)
	}
	o.Launcher = live.NewSeatbelt(live.SandboxExec)
	return nil
}
