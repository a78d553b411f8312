package targets

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestProfileFaults: what a profile with a fault is refused with tells the request,
// both answers, the line and the statement. Another text of the same profile passes.
func TestProfileFaults(t *testing.T) {
	p := policy(t, "read /usr", "write ${workspace}", "deny ${workspace}/key", "execute /usr/bin")
	p.Targets = []ir.Target{ir.Seatbelt}
	for i := range p.Files {
		p.Files[i].Origin = ir.Origin("p/filesystem." + p.Files[i].Level.String() + "[0]")
	}
	p.Execute[0].Origin = "p/filesystem.execute[0]"
	files := compileFiles(t, p)
	profile := string(files[seatbeltFile])
	spaced := strings.ReplaceAll(strings.ReplaceAll(profile, " (literal", "\n  (literal"), "; p/", ";; by p/")
	for _, tt := range []struct{ name, profile, want string }{
		{"the same", profile, ""},
		{"other spaces and comments", spaced, ""},
		{"a rule twice", strings.Replace(profile, "(allow process-fork)\n", "(allow process-fork)\n(allow process-fork)\n", 1), ""},
		{"a foreign grant", profile + `(allow file-read-data (literal "/etc") (subpath "/etc"))` + "\n",
			`seatbelt.sb: read /etc: the policy denies it, as no rule speaks of it; the artifact allows it at seatbelt.sb:126: (allow file-read-data`},
		{"a foreign grant in its place", strings.Replace(profile, "; files", `(allow file-write-data (literal "/srv") (subpath "/srv")) ; files`, 1),
			`seatbelt.sb: write /srv: the policy denies it, as no rule speaks of it; the artifact allows it at seatbelt.sb:`},
		{"no hole", strings.Replace(profile, "(deny file-read-data", "(allow file-read-data", 1), "seatbelt.sb: it is no profile that obspc writes: a filter of all spellings in a rule that allows (seatbelt.sb:"},
		{"a hole less", without(profile, `file-clone (literal (string-append (param "WORKSPACE") "/key"))`),
			"seatbelt.sb: read /_workspace/_workspace/key: the policy denies it by deny ${workspace}/key (p/filesystem.deny[0]); the artifact allows it at seatbelt.sb:"},
		{"a read less", without(profile, `file-map-executable (literal "/usr")`),
			"seatbelt.sb: read /usr: the policy allows it by read /usr (p/filesystem.read[0]); the artifact denies it (file-read-data of macOS 10.15, slots apart)"},
		{"a mount", profile + "(allow file-mount)\n", "seatbelt.sb: file-mount of macOS 10.15: everything is allowed that no rule speaks of (seatbelt.sb:"},
		{"a foreign service", profile + `(allow mach-lookup (global-name "com.example.x"))` + "\n",
			`seatbelt.sb: mach-lookup of macOS 10.15: the policy has no statement that allows "com.example.x" (seatbelt.sb:`},
		{"an import", profile + `(import "system.sb")` + "\n", "seatbelt.sb: it is no profile that obspc writes: no decision, where one must be (seatbelt.sb:"},
		{"nothing", "", "seatbelt.sb: it is no profile that obspc writes: no (version 1), where it must be (seatbelt.sb:1:1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := map[string][]byte{irFile: files[irFile], runFile: files[runFile], seatbeltFile: []byte(tt.profile)}
			err := Validate(p, changed)
			var fault *ValidationError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Validate = %v", err)
			case tt.want == "":
			case !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), tt.want):
				t.Errorf("Validate = %v, want %s", err, tt.want)
			}
		})
	}
}

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

// without is the profile less the lines that hold the text.
func without(profile, text string) string {
	var out strings.Builder
	for line := range strings.Lines(profile) {
		if !strings.Contains(line, text) {
			out.WriteString(line)
		}
	}
	return out.String()
}
