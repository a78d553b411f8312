package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// ownSlots are the slots that are given to the bench: tmp is a memory file system
// of each run's own.
var ownSlots = []ir.Root{ir.Workspace}

// userHome is what the user database says of this user.
func userHome() (ir.Path, error) { return runtime.Home(os.Getuid()) }

// launch makes obsrun the launcher.
func launch(c *cli.Context, conf *configuration, o *live.Options) error {
	runner, err := runnerBeside()
	if err != nil {
		return err
	}
	if err := static(o.Self); err != nil {
		return err
	}
	l := &obsrun{program: runner.path}
	if bwrap := c.String("bwrap"); bwrap != "" {
		l.flags = append(l.flags, "--bwrap", bwrap)
	}
	for _, path := range conf.trusted() {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		l.flags = append(l.flags, "--config-dir", absolute)
	}
	o.Launcher, o.Binding = l, o.Binding.With(ir.Tmp, ir.MustPath("/tmp"))
	return nil
}

// static refuses a program that needs a loader: a policy need not let one start.
func static(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("--live wants an obspc that is linked statically, and %s is not; build it with CGO_ENABLED=0, as make build does", program)
	}
	return nil
}

// obsrun launches sandboxes through the obsrun beside this program.
type obsrun struct {
	program string
	flags   []string // of every call
}

// Traits: a sandbox has a /proc, /dev and tmp of its own.
func (*obsrun) Traits() live.Traits {
	return live.Traits{Target: ir.Bwrap, System: "Linux", Private: true}
}

// Additions: a static program needs nothing but itself. The policy's own limits
// could end it.
func (*obsrun) Additions() []live.Addition {
	return []live.Addition{{Name: "program", Limits: []ir.Limit{{Name: ir.Timeout, Value: live.AttemptTime.Milliseconds(), Origin: "live/timeout"}}}}
}

// Prepare seals a release of the policy, and pins that accept exactly it.
func (l *obsrun) Prepare(r compiler.Result, artifacts []targets.Artifact) (live.Sandbox, error) {
	files, err := release.Build(release.Input{Compiler: release.Version, Policies: []release.Policy{releasePolicy(r, artifacts)}})
	if err != nil {
		return nil, err
	}
	packed, err := release.Pack(files)
	if err != nil {
		return nil, err
	}
	pins, err := developmentPins(files)
	if err != nil {
		return nil, err
	}
	s := &sealed{launcher: l, policy: r.Policy}
	if s.linux, err = readBack(artifacts); err != nil {
		return nil, err
	}
	for _, in := range []struct {
		name string
		data []byte
	}{{"release", packed}, {"pins", pins.Format()}} {
		fd, err := sealedFile(in.name, in.data)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.files = append(s.files, os.NewFile(uintptr(fd), in.name))
	}
	return s, nil
}

// readBack is what the artifacts say, by their bytes.
func readBack(artifacts []targets.Artifact) (*targets.Linux, error) {
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	return targets.ReadLinux(files)
}

// sealed is a release and its pins in memory.
type sealed struct {
	launcher *obsrun
	policy   *ir.Policy
	linux    *targets.Linux
	files    []*os.File
}

// Refusals asks the model of the artifacts, with what stands on this machine.
func (s *sealed) Refusals(b ir.Binding, q ir.Request) ([]string, error) {
	facts, err := runtime.Facts(s.policy, s.linux.Set, b)
	if err != nil {
		return nil, err
	}
	model, err := s.linux.Model(b, facts)
	if err != nil {
		return nil, err
	}
	return model.Refusal(q), nil
}

// Call is obsrun's for obspc exec.
func (s *sealed) Call(b ir.Binding, command []string) (live.Call, error) {
	for _, file := range s.files {
		if _, err := file.Seek(0, 0); err != nil {
			return live.Call{}, err
		}
	}
	work, _ := b.At(ir.Workspace)
	args := []string{"exec", "--build", release.Version, "--policy", s.policy.Name, "--release-fd", "3", "--pins-fd", "4", "--workspace", work.String()}
	args = append(append(args, s.launcher.flags...), "--")
	return live.Call{Program: s.launcher.program, Args: append(args, command...), Files: s.files}, nil
}

// Fault is what obsrun says.
func (*sealed) Fault(said string, err error) error {
	if said == "" {
		return err
	}
	return errors.New(strings.TrimPrefix(said, "obsrun: "))
}

func (s *sealed) Close() {
	for _, file := range s.files {
		file.Close()
	}
}
