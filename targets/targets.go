// Package targets turns a policy into artifacts for every system it is compiled
// for, says what each system can keep of it, and proves of an artifact's own bytes
// that they mean what the policy means, or less. Its one rule: targets are
// compared with the policy and never with each other; each lives in a folder of
// its own, and this package alone knows them all.
package targets

import (
	"errors"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/run"
	"github.com/obspc/obspc/targets/seatbelt"
	"github.com/obspc/obspc/targets/seccomp"
)

// Artifact is one file that a policy becomes: its name within the policy's folder,
// what kind it is, and the target it is for ("" for all).
type Artifact struct {
	Name   string
	Kind   string
	Target ir.Target
	Data   []byte
}

// Names of artifacts within a policy's folder.
const (
	irFile       = "ir.json"
	runFile      = "run.json"
	bwrapFile    = "bwrap.json"
	argsFile     = "bwrap.args.txt"
	landlockFile = "landlock.json"
	seatbeltFile = "seatbelt.sb"
	egressFile   = "egress.json" // there is one where the policy has endpoints
)

func seccompFile(a seccomp.Arch) string { return "seccomp-" + string(a) + ".bpf" }
func seccompText(a seccomp.Arch) string { return "seccomp-" + string(a) + ".txt" }

// What a policy's syscalls.deny adds; there is none where it denies nothing.
func deniedFile(a seccomp.Arch) string { return "seccomp-" + string(a) + "-policy.bpf" }
func deniedText(a seccomp.Arch) string { return "seccomp-" + string(a) + "-policy.txt" }

// Compile makes every artifact of the policy, in a fixed order, and validates
// them before it hands them out. Errors are those of the targets, or a
// *ValidationError, which is a fault of obspc and not of the policy.
func Compile(p *ir.Policy) ([]Artifact, error) {
	out := []Artifact{
		{irFile, "ir", "", p.JSON()},
		{runFile, "run", "", run.Compile(p).JSON()},
	}
	if egress.Wanted(p) {
		out = append(out, Artifact{egressFile, "egress", "", egress.Compile(p).JSON()})
	}
	var faults []error
	if p.HasTarget(ir.Bwrap) {
		linux, err := compileLinux(p)
		faults = append(faults, err)
		out = append(out, linux...)
	}
	if p.HasTarget(ir.Seatbelt) {
		profile, err := seatbelt.Compile(p)
		faults = append(faults, err)
		out = append(out, Artifact{seatbeltFile, "seatbelt", ir.Seatbelt, profile})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Name, err)
	}
	files := make(map[string][]byte, len(out))
	for _, a := range out {
		files[a.Name] = a.Data
	}
	if err := Validate(p, files); err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Name, err)
	}
	return out, nil
}

func compileLinux(p *ir.Policy) ([]Artifact, error) {
	set, err := bwrap.Compile(p)
	if err != nil {
		return nil, err
	}
	out := []Artifact{
		{bwrapFile, "bwrap", ir.Bwrap, set.JSON()},
		{argsFile, "bwrap-text", ir.Bwrap, set.Text()},
		{landlockFile, "landlock", ir.Bwrap, landlock.Compile(p).JSON()},
	}
	for _, arch := range seccomp.Arches() {
		program := seccomp.Compile(p, arch)
		out = append(out,
			Artifact{seccompFile(arch), "seccomp", ir.Bwrap, program.Bytes()},
			Artifact{seccompText(arch), "seccomp-text", ir.Bwrap, program.Text()})
		if p.DeniesSyscalls() {
			program = seccomp.CompilePolicy(p, arch)
			out = append(out,
				Artifact{deniedFile(arch), "seccomp-policy", ir.Bwrap, program.Bytes()},
				Artifact{deniedText(arch), "seccomp-policy-text", ir.Bwrap, program.Text()})
		}
	}
	return out, nil
}

// Alone is what Compile makes of p for one of its targets, whatever the others can
// keep; or why t cannot keep p.
func Alone(p *ir.Policy, t ir.Target) (artifacts []Artifact, why string) {
	alone := *p
	alone.Targets = []ir.Target{t}
	for _, d := range Compare(&alone, func(ir.Origin) diag.Range { return diag.Range{} }) {
		if d.Severity == diag.Error {
			return nil, d.Message
		}
	}
	artifacts, err := Compile(&alone)
	if err != nil {
		diag.Bug("%v", err) // Compare has asked the target what it can write down
	}
	return artifacts, ""
}
