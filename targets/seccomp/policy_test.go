package seccomp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
)

// denying is a policy that denies the calls.
func denying(names ...string) *ir.Policy {
	p := &ir.Policy{}
	for _, n := range names {
		p.Syscalls = append(p.Syscalls, ir.SyscallRule{Name: n})
	}
	return p
}

// everythingDenied denies each call that a policy may deny.
func everythingDenied() *ir.Policy {
	var names []string
	for _, n := range syscalls.Names() {
		if u, ok := syscalls.UseOf(n); (!ok || !u.Always) && !syscalls.Unfiltered(n) {
			names = append(names, n)
		}
	}
	return denying(names...)
}

// deniedByNumber is what some policies deny, in numbers of its own: nothing here
// reads the tables.
var deniedByNumber = []struct {
	name   string
	policy *ir.Policy
	eperm  map[Arch][]uint32
	enosys map[Arch][]uint32
}{
	{"some", denying("chmod", "faccessat2", "mkdir", "mkdirat", "socket", "statx"),
		map[Arch][]uint32{X86_64: {90, 83, 258, 41}, AArch64: {34, 198}},
		map[Arch][]uint32{X86_64: {439, 332}, AArch64: {439, 291}}},
	{"one that aarch64 lacks", denying("fork"), map[Arch][]uint32{X86_64: {57}}, nil},
	{"one", denying("kill"), map[Arch][]uint32{X86_64: {62}, AArch64: {129}}, nil},
}

func TestPolicyProgramsDenyWhatIsSaid(t *testing.T) {
	for _, tt := range deniedByNumber {
		for _, a := range Arches() {
			t.Run(tt.name+" "+string(a), func(t *testing.T) {
				want := map[uint32]Action{}
				for _, nr := range tt.eperm[a] {
					want[nr] = Errno(1)
				}
				for _, nr := range tt.enosys[a] {
					want[nr] = Errno(38)
				}
				prog, reached := CompilePolicy(tt.policy, a), map[int]bool{}
				everyCall(func(d Data) {
					answer, denied := want[d.Nr]
					switch {
					case d.Arch != a.audit() || a == X86_64 && d.Nr >= 0x40000000:
						answer = KillProcess
					case !denied:
						answer = Allow
					}
					if got := prog.run(d, func(i int) { reached[i] = true }); got != answer {
						t.Errorf("Run(%#v) = %v, want %v", d, got, answer)
					}
				})
				if len(reached) != len(prog.code) {
					t.Errorf("%d of %d instructions were reached", len(reached), len(prog.code))
				}
			})
		}
	}
}

// TestPolicyProgramsGrantWhatIsWanted: also where the list is longer than a jump.
func TestPolicyProgramsGrantWhatIsWanted(t *testing.T) {
	policies := map[string]*ir.Policy{"everything": everythingDenied()}
	for _, tt := range deniedByNumber {
		policies[tt.name] = tt.policy
	}
	for name, p := range policies {
		for _, a := range Arches() {
			t.Run(name+" "+string(a), func(t *testing.T) {
				back, err := Parse(CompilePolicy(p, a).Bytes())
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range Grants(back, a).Differences(WantPolicy(p, a)) {
					t.Error(d)
				}
				for nr := range uint32(1000) {
					want := Allow
					if n := syscalls.Name(string(a), nr); n != "" && p.Syscall(n) != nil {
						want = errno(syscalls.Refusal{Answer: syscalls.Denied(n)})
					}
					if got := Run(back, Call(a, nr)); got != want {
						t.Errorf("call %d of %s: %v, want %v", nr, a, got, want)
					}
				}
			})
		}
	}
}

// TestPolicyProgramsAreJudged: a program that denies one call less, or more, or
// another, is told from the one that is wanted.
func TestPolicyProgramsAreJudged(t *testing.T) {
	for _, other := range []*ir.Policy{
		denying("mkdir"), denying("kill"), denying("kill", "mkdirat", "unlinkat"), denying("kill", "unlinkat"), denying(), everythingDenied(),
	} {
		for _, a := range Arches() {
			wants := WantPolicy(denying("kill", "mkdirat"), a)
			if len(Grants(CompilePolicy(other, a), a).Differences(wants)) == 0 {
				t.Errorf("the program of %v passes for kill and mkdirat on %s", other.Syscalls, a)
			}
		}
	}
}

// TestAllowedCallsLeaveTheList: and nothing else changes.
func TestAllowedCallsLeaveTheList(t *testing.T) {
	p := &ir.Policy{Syscalls: []ir.SyscallRule{{Name: "bpf", Allow: true}, {Name: "mkdir"}, {Name: "ptrace", Allow: true}}}
	allowed := map[Arch][]uint32{X86_64: {321, 101}, AArch64: {280, 117}}
	for _, a := range Arches() {
		with, without := Compile(p, a), Compile(&ir.Policy{}, a)
		everyCall(func(d Data) {
			want := Run(without, d)
			for _, nr := range allowed[a] {
				if d.Arch == a.audit() && d.Nr == nr {
					want = Allow
				}
			}
			if got := Run(with, d); got != want {
				t.Errorf("Run(%#v) = %v, want %v", d, got, want)
			}
		})
		if d := Grants(with, a).Differences(Want(p, a)); len(d) > 0 {
			t.Error(d)
		}
		if d := Grants(with, a).Differences(Want(&ir.Policy{}, a)); len(d) == 0 {
			t.Errorf("on %s the program that allows ptrace passes as one that does not", a)
		}
	}
}

// TestPolicyText holds a program's disassembly and digest, as TestText does.
func TestPolicyText(t *testing.T) {
	for _, a := range Arches() {
		prog := CompilePolicy(deniedByNumber[0].policy, a)
		got := fmt.Appendf(prog.Text(), "# sha256 %x\n", sha256.Sum256(prog.Bytes()))
		name := filepath.Join("testdata", "policy-"+string(a)+".txt")
		if os.Getenv("OBSPC_UPDATE") != "" {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s was rewritten", name)
		}
		if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Text() differs from %s (%v); got\n%s", name, err, got)
		}
	}
}
