package targets

import (
	"errors"
	"fmt"
	"sync"

	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/run"
	"github.com/obspc/obspc/targets/seccomp"
)

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
	runtime := []artifact{{runFile, l.plan}}
	if _, ok := files[egressFile]; ok {
		runtime = append(runtime, artifact{egressFile, l.egress})
	}
	if err := l.read(files, runtime...); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Linux) plan(data []byte) (err error) {
	l.Plan, err = run.Parse(data)
	return err
}

func (l *Linux) egress(data []byte) (err error) {
	l.Egress, err = egress.Parse(data)
	return err
}

// artifact is one file and what reads it.
type artifact struct {
	file  string
	parse func([]byte) error
}

// read reads what the kernel keeps, and more, all at once. The error tells of every
// file that is not read.
func (l *Linux) read(files map[string][]byte, more ...artifact) error {
	list := append([]artifact{
		{bwrapFile, func(data []byte) (err error) { l.Set, err = bwrap.Parse(data); return err }},
		{landlockFile, func(data []byte) (err error) { l.Landlock, err = landlock.Parse(data); return err }},
	}, more...)
	l.Seccomp, l.Denied = map[seccomp.Arch]seccomp.Program{}, map[seccomp.Arch]seccomp.Program{}
	var programs sync.Mutex
	program := func(file string, arch seccomp.Arch, into map[seccomp.Arch]seccomp.Program) {
		list = append(list, artifact{file, func(data []byte) error {
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

// Reading is the artifacts of one policy while they are read.
type Reading struct {
	files map[string][]byte
	linux *Linux
	wait  func() []error
}

// Read begins to read a policy's artifacts, all that there are for the runtime and for
// Linux, by name within the policy's folder. Prove waits for it: so the policy itself
// can be read at the same time.
func Read(files map[string][]byte) *Reading {
	r := &Reading{files: files, linux: &Linux{}}
	r.wait = begin(
		func() error { return r.linux.plan(files[runFile]) },
		func() error { return r.linux.egress(files[egressFile]) },
		func() error { return r.linux.read(files) },
	)
	return r
}

// read is what could be read, and why something could not.
func (r *Reading) read() (*Linux, unread) {
	faults := r.wait()
	return r.linux, unread{faults[0], faults[1], faults[2]}
}

// unread tells why something could not be read; whether it has to be there depends on
// the policy.
type unread struct{ plan, egress, linux error }
