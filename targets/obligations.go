package targets

import (
	"cmp"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/seccomp"
)

// obligations is what design 5.7 asks of the Linux artifacts, in the order in which
// faults are told, after the way out that both systems share (O7 and O8, egress): what
// has no request comes after what has one. The classes of paths are compared under
// every way in which the slots can lie (O3, machines) and with every kind that a named
// path can be of (O5, facts), and the options that a run would pass are read back each
// time (O6, printed).
var obligations = []struct {
	name  string
	check func(*validator) error
	why   string
}{
	{"O1 fragment", (*validator).fragment, "what our printer would not write has no meaning that could be proven"},
	{"O4 operations", (*validator).operations, "what the policy never mentions is refused as well: calls, families, namespaces"},
	{"O2 classes", (*validator).classes, "one path for each class of paths, every word, on every class of machines"},
	{"O4 statements", (*validator).statements, "no mount without its rule, no rule without its mount: what no request tells apart"},
	{"O4 statements", (*validator).landlockStatements, "the same of what Landlock grants, below the mounts"},
}

// fragment: the artifacts are read strictly (O1), each reader accepts what its printer
// writes and nothing else; and the texts for people are the renderings of what is used.
func (v *validator) fragment() error {
	work := []func() error{
		func() error { return v.same(argsFile, v.read.Set.Text(), "the rendering of "+bwrapFile) },
	}
	for _, arch := range seccomp.Arches() {
		work = append(work, func() error {
			return v.same(seccompText(arch), v.read.Seccomp[arch].Text(), "the disassembly of "+seccompFile(arch))
		})
	}
	for _, arch := range seccomp.Arches() {
		work = append(work, func() error { return v.denied(arch) })
	}
	if err := cmp.Or(atOnce(work...)...); err != nil {
		return err
	}
	if name := v.policy.Name; v.read.Set.Policy != name || v.read.Landlock.Policy != name {
		return v.differs(bwrapFile, "%s and %s are for policies %q and %q", bwrapFile, landlockFile, v.read.Set.Policy, v.read.Landlock.Policy)
	}
	return nil
}

// denied: there is a program for what the policy denies, and its text, or neither.
func (v *validator) denied(arch seccomp.Arch) error {
	program, have := v.read.Denied[arch]
	switch want := v.policy.DeniesSyscalls(); {
	case want && !have:
		return v.differs(deniedFile(arch), "it is missing")
	case !want && have:
		return v.differs(deniedFile(arch), "the policy denies no system call")
	case want:
		return v.same(deniedText(arch), program.Text(), "the disassembly of "+deniedFile(arch))
	}
	return nil
}

// operations holds the seccomp programs to exactly what the policy wants of every
// system call and address family, those it never mentions included, and the
// argument set to every namespace (O4).
func (v *validator) operations() error {
	var work []func() error
	for _, arch := range seccomp.Arches() {
		work = append(work, func() error {
			return v.exactly(seccompFile(arch), v.grants[arch](), seccomp.Want(v.policy, arch))
		})
	}
	for _, arch := range seccomp.Arches() {
		if program, denies := v.read.Denied[arch]; denies {
			work = append(work, func() error {
				return v.exactly(deniedFile(arch), seccomp.Grants(program, arch), seccomp.WantPolicy(v.policy, arch))
			})
		}
	}
	if err := cmp.Or(atOnce(work...)...); err != nil {
		return err
	}
	for _, want := range bwrap.Namespaces() {
		if !contains(v.read.Set.Namespaces, want) {
			return v.differs(bwrapFile, "it lacks the %s namespace", want)
		}
	}
	return nil
}

// exactly holds what a program grants to what it is to grant.
func (v *validator) exactly(file string, have, want seccomp.Summary) error {
	if d := have.Differences(want); len(d) > 0 {
		return v.differs(file, "%s", d[0])
	}
	return nil
}

// classes compares on all classes of machines at once; of several faults it reports
// that of the first class.
func (v *validator) classes() error {
	machines, err := v.machines()
	if err != nil {
		return err
	}
	return v.every(machines)
}

func (v *validator) every(machines []machine) error {
	work := make([]func() error, 0, len(machines))
	for _, m := range machines {
		if m.moved != ir.Host {
			work = append(work, func() error { return v.moved(m) })
			continue
		}
		bound, err := v.bind(m.binding)
		if err != nil {
			return err
		}
		work = append(work, func() error { return v.machine(m, bound) })
	}
	return cmp.Or(atOnce(work...)...)
}

// moved compares on a class of its own binding.
func (v *validator) moved(m machine) error {
	bound, err := v.policy.Bind(m.binding)
	if err != nil {
		return nil // the runtime refuses the binding
	}
	return v.machine(m, bound)
}
