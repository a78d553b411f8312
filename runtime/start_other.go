//go:build !linux

package runtime

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/obspc/obspc/verify"
)

// Start refuses: this version runs sandboxes on Linux only.
func Start(context.Context, *verify.Verified, Job) (*Outcome, error) {
	r := notHere()
	e := NewEvidence(false)
	e.refusedBy(r)
	return &Outcome{Exit: r.Exit, Evidence: e}, r
}

func notHere() *Refusal {
	return refuse(Machine, "compile and verify here, run on Linux", "running on %s is not supported in this version", runtime.GOOS)
}

// First has no sandbox to be in.
func First([]string) {
	fmt.Fprintln(os.Stderr, "obsrun: there is no first process on "+runtime.GOOS)
	os.Exit(ExitRefused)
}

// describeHost adds nothing here.
func describeHost(*HostEvidence) {}
