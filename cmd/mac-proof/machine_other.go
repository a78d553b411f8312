//go:build !darwin

package main

import (
	"fmt"
	"runtime"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
)

// machine says that this is no Mac.
func machine() (proof.Machine, error) {
	return proof.Machine{}, fmt.Errorf("a Mac is needed, and this is %s", runtime.GOOS)
}
