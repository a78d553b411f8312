//go:build !linux

package runtime

import "os"

// Terminal is the caller's terminal, for a command that gets one of its own.
type Terminal struct{}

// OpenTerminal refuses: nothing can run here that would have a terminal.
func OpenTerminal(*os.File, string) (*Terminal, error) {
	return nil, refuse(Machine, "", "terminals are not supported here")
}

// Restore has nothing to give back.
func (*Terminal) Restore() {}
