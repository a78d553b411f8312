package targets

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/seccomp"
)

// Model is what the Linux artifacts of one policy do on an ordinary machine: every
// named path is there, and a path that nothing lies below is a directory.
type Model struct {
	binding ir.Binding
	table   *bwrap.Table
	starts  cover
	unix    bool
}

// LinuxModel reads the policy's Linux artifacts, by name within its folder, and
// says what they make of a machine with the binding b. Slots that b leaves open
// are bound apart from everything the policy names.
func LinuxModel(p *ir.Policy, files map[string][]byte, b ir.Binding) (*Model, error) {
	linux, err := ReadLinux(files)
	if err != nil {
		return nil, err
	}
	v := &validator{policy: p, files: files, read: linux}
	v.fresh = v.unnamed()
	apart, ok := v.apart()
	if !ok {
		return nil, v.differs(bwrapFile, noBinding)
	}
	for _, slot := range ir.Slots() {
		if at, bound := b.At(slot); bound {
			apart = apart.With(slot, at)
		}
	}
	if err := p.Admit(apart); err != nil {
		return nil, err
	}
	m := machine{binding: apart}
	table, err := linux.Set.Table(apart, v.facts(m))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bwrapFile, err)
	}
	starts := covered(linux.Landlock.Bind(apart), func(ir.Path) bool { return false })
	starts.everything = !linux.Landlock.Needed()
	unix := false
	for arch, program := range linux.Seccomp {
		unix = unix || seccomp.Grants(program, arch).UnixSockets()
	}
	return &Model{apart, table, starts, unix}, nil
}

// Layers that decide, as design 5.5 names them.
const (
	MountLayer    = "mount"
	LandlockLayer = "Landlock"
	SeccompLayer  = "seccomp"
	NetworkLayer  = "network namespace"
)

// Decide answers one request and names the layer that decides it.
func (m *Model) Decide(r ir.Request) (allow bool, layer string) {
	r.Path, r.To = m.binding.Path(r.Path), m.binding.Path(r.To)
	switch r.Kind {
	case ir.ConnectRequest:
		return false, NetworkLayer
	case ir.ConnectUnixRequest:
		if !m.unix {
			return false, SeccompLayer
		}
		return m.table.Allows(r), MountLayer
	case ir.ExecuteRequest:
		if !m.table.Allows(r) {
			return false, MountLayer
		}
		return m.starts.has(m.table.Resolve(r.Path)), LandlockLayer
	}
	return m.table.Allows(r), MountLayer
}
