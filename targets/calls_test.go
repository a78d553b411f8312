package targets

import (
	"maps"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestADenialThatNoProfileKeeps is refused, unless the policy accepts it.
func TestADenialThatNoProfileKeeps(t *testing.T) {
	p := policy(t, "read /usr")
	p.Targets = []ir.Target{ir.Seatbelt}
	for i := range p.Files {
		p.Files[i].Origin = "p/filesystem.read[0]"
	}
	p.Syscalls = []ir.SyscallRule{{Name: "kill", Origin: "p/syscalls.deny[0]"}}
	const want = "seatbelt.sb: syscall kill: the policy denies it by deny syscall kill (p/syscalls.deny[0]); the artifact allows it (any machine)"
	if _, err := Compile(p); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Compile = %v, want %s", err, want)
	}
	p.Waivers = []ir.Waiver{{Target: ir.Seatbelt, Feature: ir.FeatureSyscallsDeny, Reason: "it has none", Origin: "p/waive.seatbelt[0]"}}
	if _, err := Compile(p); err != nil {
		t.Errorf("Compile with a waiver = %v", err)
	}
}

// TestDeniedCallsAreProven: each program of denied calls is there exactly where the
// policy denies some, is shown as it is, and denies what the policy says.
func TestDeniedCallsAreProven(t *testing.T) {
	denying := func(names ...string) *ir.Policy {
		p := policy(t, "read /usr")
		p.Targets = []ir.Target{ir.Bwrap}
		for _, n := range names {
			p.Syscalls = append(p.Syscalls, ir.SyscallRule{Name: n, Origin: "p/syscalls.deny[0]"})
		}
		return p
	}
	p := denying("kill", "mkdirat")
	files, plain, other := compileFiles(t, p), compileFiles(t, denying()), compileFiles(t, denying("kill"))
	const bpf, text = "seccomp-aarch64-policy.bpf", "seccomp-aarch64-policy.txt"
	for _, tt := range []struct {
		name   string
		policy *ir.Policy
		files  map[string][]byte
		change map[string][]byte // nil bytes: taken away
		want   string            // "" is accepted
	}{
		{"as compiled", p, files, nil, ""},
		{"none", denying(), plain, nil, ""},
		{"missing", p, files, map[string][]byte{bpf: nil}, bpf + ": it is missing"},
		{"no disassembly", p, files, map[string][]byte{text: nil}, text + ": it is missing"},
		{"another disassembly", p, files, map[string][]byte{text: other[text]}, text + ": it is not the disassembly of " + bpf},
		{"a call less", p, files, map[string][]byte{bpf: other[bpf], text: other[text]}, bpf + ": aarch64: call from 34 on: allow, want errno EPERM"},
		{"where none is denied", denying(), plain, map[string][]byte{bpf: files[bpf], text: files[text]}, bpf + ": the policy denies no system call"},
		{"the program of another architecture", p, files, map[string][]byte{bpf: files["seccomp-x86_64-policy.bpf"], text: files["seccomp-x86_64-policy.txt"]}, bpf + ": aarch64: architecture from"},
		{"the program of the list", p, files, map[string][]byte{bpf: files["seccomp-aarch64.bpf"], text: files["seccomp-aarch64.txt"]}, bpf + ": aarch64: call from"},
		{"no program", p, files, map[string][]byte{bpf: {1, 2, 3}}, bpf + ": seccomp program: 3 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := maps.Clone(tt.files)
			for name, data := range tt.change {
				if changed[name] = data; data == nil {
					delete(changed, name)
				}
			}
			err := Validate(tt.policy, changed)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("Validate = %v, want %q", err, tt.want)
			}
		})
	}
}
