package main

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
)

// machine is this Mac, as sw_vers(1) names it.
func machine() (proof.Machine, error) {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return proof.Machine{}, err
	}
	build, err := unix.Sysctl("kern.osversion")
	return proof.Machine{Version: version, Build: build, Arch: runtime.GOARCH}, err
}
