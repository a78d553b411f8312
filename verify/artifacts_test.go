package verify

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// manifestEntry edits the entry of one artifact.
func manifestEntry(name string, edit func(*release.Artifact)) func(*release.Manifest) {
	return func(m *release.Manifest) {
		for i := range m.Artifacts {
			if m.Artifacts[i].Name == name {
				edit(&m.Artifacts[i])
			}
		}
	}
}

// TestArtifactAttacks are releases whose lists agree with their bytes and whose
// pins accept them: only the meaning is wrong.
func TestArtifactAttacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  func(*testing.T, []release.File) []release.File
		edit   func(*release.Manifest)
		file   string
		reason Reason
		says   string
	}{
		{"bwrap set presented as a Seatbelt profile", nil, manifestEntry("web/bwrap.json", func(a *release.Artifact) {
			a.Kind, a.Target = "seatbelt", "seatbelt"
		}), "web/bwrap.json", Unproven, "wanted kind bwrap for bwrap, found kind seatbelt for seatbelt"},
		{"text presented as the set", nil, manifestEntry("web/bwrap.args.txt", func(a *release.Artifact) { a.Kind = "bwrap" }), "web/bwrap.args.txt", Unproven, "presents it"},
		{"artifact of no kind", func(_ *testing.T, files []release.File) []release.File {
			return rename(files, "web/run.json", "web/sun.json")
		}, manifestEntry("web/run.json", func(a *release.Artifact) { a.Name = "web/sun.json" }), "web/sun.json", Unproven, "knows no artifact"},
		{"artifact missing for a target", func(_ *testing.T, files []release.File) []release.File {
			return without(files, "web/landlock.json")
		}, drop("web/landlock.json"), "web/landlock.json", Missing, "bwrap, seatbelt"},
		{"no meaning", func(_ *testing.T, files []release.File) []release.File {
			return without(files, "web/ir.json")
		}, drop("web/ir.json"), "web/ir.json", Missing, "no meaning"},
		{"another meaning", func(_ *testing.T, files []release.File) []release.File {
			p := policy("web")
			p.Version = 2
			at(files, "web/ir.json").Data = p.JSON()
			return files
		}, nil, "web/ir.json", Tampered, "IR digest"},
		{"meaning of another policy", func(_ *testing.T, files []release.File) []release.File {
			at(files, "web/ir.json").Data = policy("batch").JSON()
			return files
		}, meaning("web", policy("batch").JSON()), "web/ir.json", Unproven, "wanted policy web, found policy batch"},
		{"meaning that is no policy", func(_ *testing.T, files []release.File) []release.File {
			at(files, "web/ir.json").Data = []byte("{}")
			return files
		}, meaning("web", []byte("{}")), "web/ir.json", Malformed, "ir.json"},
		{"artifact of a target that the policy lacks", func(_ *testing.T, files []release.File) []release.File {
			at(files, "web/ir.json").Data = linuxOnly().JSON()
			return files
		}, meaning("web", linuxOnly().JSON()), "web/seatbelt.sb", Unproven, "not compiled for seatbelt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := forge(t, sample(t), nil)
			wantVerified(t, Memory(good), trusting(t, good))
			files := sample(t)
			if tt.files != nil {
				files = tt.files(t, files)
			}
			files = forge(t, files, tt.edit)
			f := wantRefused(t, Memory(files), trusting(t, files), Artifacts, tt.file, tt.reason)
			if !strings.Contains(f.String(), tt.says) {
				t.Errorf("it says %q, want %q in it", f, tt.says)
			}
		})
	}
}

func linuxOnly() *ir.Policy {
	p := policy("web")
	p.Targets = []ir.Target{ir.Bwrap}
	return p
}

func rename(files []release.File, from, to string) []release.File {
	at(files, from).Name = to
	return files
}

func drop(name string) func(*release.Manifest) {
	return func(m *release.Manifest) {
		var kept []release.Artifact
		for _, a := range m.Artifacts {
			if a.Name != name {
				kept = append(kept, a)
			}
		}
		m.Artifacts = kept
	}
}

// meaning gives every artifact of a policy the IR digest of another ir.json.
func meaning(policy string, data []byte) func(*release.Manifest) {
	return func(m *release.Manifest) {
		for i := range m.Artifacts {
			if m.Artifacts[i].Policy() == policy {
				m.Artifacts[i].IR = release.IRDigest(data)
			}
		}
	}
}

// A release without the map from the IR to the sources is complete.
func TestTheMapMayBeMissing(t *testing.T) {
	files := forge(t, without(sample(t), "web/ir.map.json"), drop("web/ir.map.json"))
	wantVerified(t, Memory(files), trusting(t, files))
}

// TestDeniedCallsAndTheirPrograms: what keeps a denial is in the release exactly when
// the policy denies a call.
func TestDeniedCallsAndTheirPrograms(t *testing.T) {
	const program = "web/seccomp-aarch64-policy.bpf"
	release := func(p *ir.Policy) []release.File {
		in := input(t)
		in.Policies[1] = compiled(t, p)
		return build(t, in)
	}
	good := release(denyingCalls(policy("web")))
	wantVerified(t, Memory(good), trusting(t, good))
	files := forge(t, without(good, program), drop(program))
	f := wantRefused(t, Memory(files), trusting(t, files), Artifacts, program, Missing)
	if !strings.Contains(f.String(), "denies system calls") {
		t.Errorf("it says %q", f)
	}
	// The digests agree, and the meaning denies nothing: the programs are strangers.
	files = release(denyingCalls(policy("web")))
	p := denyingCalls(policy("web"))
	p.Syscalls = nil
	at(files, "web/ir.json").Data = p.JSON()
	files = forge(t, files, meaning("web", p.JSON()))
	f = wantRefused(t, Memory(files), trusting(t, files), Artifacts, program, Unproven)
	if !strings.Contains(f.String(), "denies no system call") {
		t.Errorf("it says %q", f)
	}
	// One call more than the program denies.
	files = release(denyingCalls(policy("web")))
	p = denyingCalls(policy("web"))
	p.Syscalls = append(p.Syscalls, ir.SyscallRule{Name: "mkdirat", Origin: "web/syscalls.deny[2]"})
	at(files, "web/ir.json").Data = p.JSON()
	files = forge(t, files, meaning("web", p.JSON()))
	wantRefused(t, Memory(files), trusting(t, files), Artifacts, program, Unproven)
}

// A policy for one target has the artifacts of that target alone.
func TestOneTarget(t *testing.T) {
	in := input(t)
	in.Policies = []release.Policy{compiled(t, linuxOnly())}
	files := build(t, in)
	wantVerified(t, Memory(files), trusting(t, files))
}

// A caller that uses one policy neither pays for the others nor gets them.
func TestOnly(t *testing.T) {
	files := sample(t)
	at(files, "batch/run.json").Data = []byte("{}")
	files = forge(t, files, nil)
	trust := trusting(t, files)
	wantRefused(t, Memory(files), trust, Artifacts, "batch/run.json", Unproven)
	trust.Only = []string{"web"}
	v := wantVerified(t, Memory(files), trust)
	if got := strings.Join(v.Policies(), " "); got != "web" || v.IR("batch") != nil || v.Linux("batch") != nil {
		t.Errorf("Policies = %s", got)
	}
	if _, ok := v.File("batch/run.json"); ok {
		t.Error("a file that was not proven is in the Verified")
	}
	trust.Only = []string{"web", "shop"}
	wantRefused(t, Memory(files), trust, Artifacts, "shop", Missing)
}
