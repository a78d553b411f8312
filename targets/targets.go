// Package targets turns a policy into artifacts for every system it is compiled
// for, says what each system can keep of it, and proves of an artifact's own bytes
// that they mean what the policy means, or less. Its one rule: targets are
// compared with the policy and never with each other; each lives in a folder of
// its own, and this package alone knows them all.
package targets

import (
	"errors"
	"fmt"
	"sync"

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

// Linux is what the Linux artifacts of one policy say, read back from their bytes.
type Linux struct {
	Set      *bwrap.Set
	Landlock *landlock.Rules
	Seccomp  map[seccomp.Arch]seccomp.Program
	Denied   map[seccomp.Arch]seccomp.Program // what the policy adds; empty where it denies no call
	Plan     *run.Plan
	Egress   *egress.Rules // nil where the policy has no endpoint
}

// ReadLinux reads the Linux artifacts strictly. files are by name within the
// policy's folder; other files are left alone. That they mean what the policy
// means is Validate's to say.
func ReadLinux(files map[string][]byte) (*Linux, error) {
	l := &Linux{}
	runtime := []reading{{runFile, func(data []byte) (err error) { l.Plan, err = run.Parse(data); return err }}}
	if _, ok := files[egressFile]; ok {
		runtime = append(runtime, reading{egressFile, func(data []byte) (err error) { l.Egress, err = egress.Parse(data); return err }})
	}
	if err := l.read(files, runtime...); err != nil {
		return nil, err
	}
	return l, nil
}

// reading is one file and what reads it.
type reading struct {
	file  string
	parse func([]byte) error
}

// read reads what the kernel keeps, and more, all at once. The error tells of every
// file that is not read.
func (l *Linux) read(files map[string][]byte, more ...reading) error {
	list := append([]reading{
		{bwrapFile, func(data []byte) (err error) { l.Set, err = bwrap.Parse(data); return err }},
		{landlockFile, func(data []byte) (err error) { l.Landlock, err = landlock.Parse(data); return err }},
	}, more...)
	l.Seccomp, l.Denied = map[seccomp.Arch]seccomp.Program{}, map[seccomp.Arch]seccomp.Program{}
	var programs sync.Mutex
	program := func(file string, arch seccomp.Arch, into map[seccomp.Arch]seccomp.Program) {
		list = append(list, reading{file, func(data []byte) error {
			p, err := seccomp.Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			programs.Lock()
			defer programs.Unlock()
			into[arch] = p
			return nil
		}})
	}
	for _, arch := range seccomp.Arches() {
		program(seccompFile(arch), arch, l.Seccomp)
		if _, ok := files[deniedFile(arch)]; ok {
			program(deniedFile(arch), arch, l.Denied)
		}
	}
	work := make([]func() error, len(list))
	for i, r := range list {
		work[i] = func() error {
			data, ok := files[r.file]
			if !ok {
				return fmt.Errorf("%s is missing", r.file)
			}
			return r.parse(data)
		}
	}
	return errors.Join(atOnce(work...)...)
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
