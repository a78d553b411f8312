package targets

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/seccomp"
)

// Model is what the Linux artifacts of one policy do on one machine.
type Model struct {
	binding ir.Binding
	table   *bwrap.Table
	domain  domain
	unix    bool
	calls   []calls // by architecture
	egress  *egress.Table
}

// LinuxModel reads the policy's Linux artifacts, by name within its folder, and
// says what they make of an ordinary machine with the binding b: every named path
// is there, and a path that nothing lies below is a directory. Slots that b leaves
// open are bound apart from everything the policy names.
func LinuxModel(p *ir.Policy, files map[string][]byte, b ir.Binding) (*Model, error) {
	linux, err := ReadLinux(files)
	if err != nil {
		return nil, err
	}
	v := &validator{policy: p, files: files, read: linux}
	apart, err := v.around(b)
	if err != nil {
		return nil, err
	}
	return linux.Model(apart, v.facts(machine{binding: apart}))
}

// Apart is b with each slot that it leaves open bound apart from everything that
// the policy names. It fails as ir.Policy.Admit does.
func Apart(p *ir.Policy, b ir.Binding) (ir.Binding, error) {
	v := &validator{policy: p, read: &Linux{Set: &bwrap.Set{}, Landlock: &landlock.Rules{}}}
	return v.around(b)
}

func (v *validator) around(b ir.Binding) (ir.Binding, error) {
	v.fresh = v.unnamed()
	apart, ok := v.apart()
	if !ok {
		return apart, v.differs(bwrapFile, noBinding)
	}
	for _, slot := range ir.Slots() {
		if at, bound := b.At(slot); bound {
			apart = apart.With(slot, at)
		}
	}
	return apart, v.policy.Admit(apart)
}

// Model says what the artifacts make of the machine with that binding, on which
// the facts were taken and the placeholders made. Errors are those of bwrap.Table.
func (l *Linux) Model(b ir.Binding, f bwrap.Facts) (*Model, error) {
	table, err := l.Set.Table(b, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bwrapFile, err)
	}
	missing := func(p ir.Path) bool { fact, known := f[p]; return known && fact.Kind == bwrap.Missing }
	m := &Model{binding: b, table: table, domain: domainOf(l.Landlock, b, missing)}
	if l.Egress != nil {
		m.egress = egress.NewTable(l.Egress.Bind(b))
	}
	for arch, program := range l.Seccomp {
		grants := seccomp.Grants(program, arch)
		m.unix = m.unix || grants.UnixSockets()
		m.calls = append(m.calls, calls{arch, grants.Calls})
	}
	for arch, program := range l.Denied {
		m.calls = append(m.calls, calls{arch, seccomp.Grants(program, arch).Calls})
	}
	return m, nil
}

// calls is what one program answers to calls by number.
type calls struct {
	arch  seccomp.Arch
	spans seccomp.Spans
}

// makes reports whether some of the named call is carried out wherever there is one
// of that name.
func (m *Model) makes(name string) bool {
	for _, c := range m.calls {
		if nr, ok := syscalls.Number(string(c.arch), name); ok && !c.spans.At(nr).MayAllow() {
			return false
		}
	}
	return true
}

// Layers that decide, as design 5.5 names them.
const (
	MountLayer    = "mount"
	LandlockLayer = "Landlock"
	SeccompLayer  = "seccomp"
	NetworkLayer  = "network namespace"
	ProxyLayer    = "proxy"
)

// Decide answers one request and names the layer that decides it.
func (m *Model) Decide(r ir.Request) (allow bool, layer string) {
	r = m.bound(r)
	switch r.Kind {
	case ir.SyscallRequest:
		return m.makes(r.Syscall), SeccompLayer
	case ir.ConnectRequest, ir.URLRequest:
		if m.egress == nil {
			return false, NetworkLayer
		}
		return Leaves(m.egress, r), ProxyLayer
	case ir.ConnectUnixRequest:
		if !m.unix {
			return false, SeccompLayer
		}
	}
	if !m.table.Allows(r) {
		return false, MountLayer
	}
	allow = m.domain.allows(m.table, r)
	if r.Kind == ir.ExecuteRequest || !allow {
		return allow, LandlockLayer
	}
	return true, MountLayer
}

// Refusal lists the errors with which the kernel refuses a request that Decide
// refuses, where the same attempt succeeds outside; nil for one that is allowed.
// Several are there when it depends on how the attempt is made.
func (m *Model) Refusal(r ir.Request) []string {
	allow, layer := m.Decide(r)
	switch {
	case allow:
		return nil
	case layer == NetworkLayer, layer == ProxyLayer:
		return []string{"ECONNREFUSED", "ENETUNREACH"} // the sandbox's own loopback, or no route: the proxy is not asked by an attempt that goes around it
	case r.Kind == ir.SyscallRequest:
		return []string{syscalls.Denied(r.Syscall)}
	case layer == SeccompLayer:
		return []string{"EAFNOSUPPORT"}
	case layer == LandlockLayer:
		return []string{"EACCES"}
	}
	return m.table.Refusal(m.bound(r))
}

// NoDevices reports whether p lies where the kernel opens no device, whatever its
// mode: bwrap mounts trees of the host so (MS_NODEV, mount(2)); a device that a
// rule names itself is a mount of its own. Decide does not know which nodes below
// a rule are devices and answers for those that are not.
func (m *Model) NoDevices(p ir.Path) bool {
	return m.table.Access(m.table.Resolve(m.binding.Path(p))).Kind == bwrap.HostNode
}

func (m *Model) bound(r ir.Request) ir.Request {
	r.Path, r.To = m.binding.Path(r.Path), m.binding.Path(r.To)
	r.By = m.binding.Path(r.By)
	return r
}
