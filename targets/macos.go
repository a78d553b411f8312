package targets

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
	"github.com/obspc/obspc/targets/seatbelt/proof"
)

// macos proves the Seatbelt profile (design 5.7: O1 to O5).
func (v *validator) macos() error {
	if err := v.programs(); err != nil {
		return err
	}
	if err := v.calls(); err != nil {
		return err
	}
	profile, ok := v.files[seatbeltFile]
	if !ok {
		return v.differs(seatbeltFile, "it is missing")
	}
	err := proof.Check(v.policy, profile)
	var outside *fragment.Error
	var fault *proof.Fault
	switch {
	case errors.As(err, &outside):
		place := fmt.Sprintf("%s:%d:%d", seatbeltFile, outside.Line, outside.Column)
		return v.differsAt(seatbeltFile, place, "it is no profile that obspc writes: %s", outside.Message)
	case errors.As(err, &fault):
		return v.profileFault(profile, fault)
	}
	return err
}

// programs: nobody sees the program behind a connection, so an endpoint that lists some
// lets none through, which the policy has to have accepted by a waiver.
func (v *validator) programs() error {
	if v.waived(ir.Seatbelt, ir.FeatureEndpointProgram) {
		return nil
	}
	for i := range v.policy.Endpoints {
		if e := &v.policy.Endpoints[i]; len(e.Executables) > 0 {
			r := ir.Request{Kind: ir.ConnectRequest, Host: e.Host.Name, Addr: e.Host.Addr, Port: e.Ports[0], By: e.Executables[0], HasBy: true}
			return v.mismatch(seatbeltFile, r, ir.Decision{Allow: true, Rule: e}, "any machine")
		}
	}
	return nil
}

// calls: a profile keeps no denial of a system call, which the policy has to have
// accepted by a waiver.
func (v *validator) calls() error {
	if v.waived(ir.Seatbelt, ir.FeatureSyscallsDeny) {
		return nil
	}
	for i := range v.policy.Syscalls {
		if rule := &v.policy.Syscalls[i]; !rule.Allow {
			r := ir.Request{Kind: ir.SyscallRequest, Syscall: rule.Name}
			return v.mismatch(seatbeltFile, r, ir.Decision{Rule: rule}, "any machine")
		}
	}
	return nil
}

// profileFault adds the line of the profile and the statement of the policy.
func (v *validator) profileFault(profile []byte, f *proof.Fault) error {
	place := ""
	if f.Rule != nil && f.Rule.Line > 0 {
		line := bytes.Split(profile, []byte("\n"))[f.Rule.Line-1]
		place = fmt.Sprintf("%s:%d: %s", seatbeltFile, f.Rule.Line, line)
	}
	if f.Request == nil {
		return v.differsAt(seatbeltFile, place, "%s", f.Detail)
	}
	e := v.mismatch(seatbeltFile, *f.Request, f.Decision, f.Where())
	e.Place = place
	if rule := f.Statement(v.policy); rule != nil {
		e.Statement, e.Origin = rule.String(), rule.From()
	}
	return e
}
