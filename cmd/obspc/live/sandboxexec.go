package live

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/seatbelt"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// SandboxExec is where macOS has sandbox-exec(1).
const SandboxExec = "/usr/bin/sandbox-exec"

// Seatbelt starts sandboxes by a program that takes what sandbox-exec(1) takes.
type Seatbelt struct{ program string }

// NewSeatbelt is the launcher that uses program: SandboxExec but in tests, which
// bring a stand-in of their own. Nothing is ever looked up in PATH.
func NewSeatbelt(program string) Seatbelt { return Seatbelt{program} }

// Traits: the sandbox is a profile over the host's own files, whose paths the kernel
// resolves.
func (Seatbelt) Traits() Traits {
	return Traits{
		Target: ir.Seatbelt, System: "macOS", Indirect: true,
		Spelled: func(p ir.Path) ir.Path { return ir.MustPath(sbpl.Canonical(p.String())) },
	}
}

// Additions: macOS links every program dynamically, so one that no policy speaks of
// needs the loader as well.
func (Seatbelt) Additions() []Addition {
	base := standardBase()
	loader := base
	loader.Name, loader.Files = "loader", slices.DeleteFunc(slices.Clone(base.Files), func(r ir.FileRule) bool { return !isLoaders(r.Path) })
	return []Addition{{Name: "program"}, loader, base}
}

// Prepare takes the profile's text, and sees whether it asks for a proxy.
func (l Seatbelt) Prepare(_ compiler.Result, artifacts []targets.Artifact) (Sandbox, error) {
	out := &profile{program: l.program}
	for _, a := range artifacts {
		switch a.Kind {
		case "seatbelt":
			out.text = string(a.Data)
		case "egress":
			out.proxy = model.ProxyPort
		}
	}
	if out.text == "" {
		return nil, errors.New("the policy has no Seatbelt profile")
	}
	return out, nil
}

// profile is a profile to be enforced, and the port of the proxy that it asks for, 0 if
// it asks for none.
type profile struct {
	program, text string
	proxy         uint16
}

// Call passes the profile as one argument and each bound slot as a parameter. No proxy
// listens at the port that endpoints are given.
func (s *profile) Call(b ir.Binding, command []string) (Call, error) {
	args := seatbelt.Arguments(s.text, b, s.proxy)
	return Call{Program: s.program, Args: append(append(args, "--"), command...)}, nil
}

// Refusals: Seatbelt refuses with EPERM unless a rule names another error, which none
// of obspc's does.
func (*profile) Refusals(ir.Binding, ir.Request) ([]string, error) {
	return []string{"EPERM", "EACCES"}, nil
}

// Exit codes of sandbox-exec's own (sysexits.h): EX_DATAERR for a profile that it
// cannot read, EX_OSERR for one that cannot be applied and for a command that does
// not start.
const (
	profileRejected = 65
	notStarted      = 71
)

// Fault tells what sandbox-exec says of itself from the end of what it started.
func (s *profile) Fault(said string, err error) error {
	said = strings.TrimPrefix(said, "sandbox-exec: ")
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return err
	}
	status, _ := ended.Sys().(syscall.WaitStatus)
	switch {
	case ended.ExitCode() == profileRejected:
		return &RejectedError{"macOS", said}
	case ended.ExitCode() == notStarted:
		return fmt.Errorf("sandbox-exec: %s", said)
	case status.Signaled():
		return fmt.Errorf("what was started ended by %s before it could attempt anything", unix.SignalName(status.Signal()))
	}
	return unexplained(said, err)
}

// Close has nothing to do: a profile leaves nothing behind.
func (*profile) Close() {}
