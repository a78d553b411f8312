// Package seatbelt turns a policy's IR into a macOS sandbox profile in SBPL, the
// text that sandbox-exec(1) takes. Its one rule: every level becomes a fixed list
// of leaf operations, and allow and deny are always written on the same ones,
// because Seatbelt keeps rules for each operation apart. The whole profile is a
// function of the IR; paths that only the machine knows are parameters.
//
// What it knows of the language is from Apple's published profiles and library of
// macOS 10.9 to 10.15, operation tables of 10.15 to 14.4 and reports of others. It
// was never run on a Mac. macOS 15 and 26 have operations that no table shows.
//
// Strings become SBPL in escape.go and nowhere else. What a dynamic program needs
// to start is no matter of this package: it stands in the policy.
package seatbelt

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// Compile is the profile of p: the same policy has the same bytes. It is given
// parameters WORKSPACE, HOME and TMP for the slots that the policy names, CONFIG where
// there is something to protect, and PROXY, a port, where the policy has endpoints:
// what these allow is the proxy's to decide, by egress.json.
//
// The errors are *ConflictError, *StringError, *TooLargeError, and what
// (*ir.Policy).Check reports.
func Compile(p *ir.Policy) ([]byte, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("seatbelt: %w", err)
	}
	v, err := newView(p)
	if err != nil {
		return nil, fmt.Errorf("seatbelt: %w", err)
	}
	w := &printer{policy: p.Name, slots: map[ir.Root]bool{}}
	w.closeLibrary(len(p.System.Services) > 0)
	w.files(v)
	w.seen(v)
	w.held(v)
	w.execute(v)
	w.sockets(v)
	w.network(p)
	w.system(v)
	profile, err := w.finish("; policy " + p.Name + "\n(version 1)\n(deny default " + w.tag("") + ")\n")
	if err != nil {
		return nil, fmt.Errorf("seatbelt: %w", err)
	}
	return profile, nil
}
