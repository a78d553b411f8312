package targets

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

func compileFiles(t testing.TB, p *ir.Policy) map[string][]byte {
	t.Helper()
	artifacts, err := Compile(p)
	if err != nil {
		t.Fatalf("Compile(%s) = %v\n%s", p.Name, err, p.Text())
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	return files
}

func TestEveryFeatureIsAnswered(t *testing.T) {
	if len(table) != len(ir.Features()) {
		t.Errorf("the table has %d rows for %d features", len(table), len(ir.Features()))
	}
	for i, f := range ir.Features() {
		if i < len(table) && table[i].name != f {
			t.Errorf("row %d is about %s, want %s", i, table[i].name, f)
		}
		for _, target := range []ir.Target{ir.Bwrap, ir.Seatbelt} {
			a := Answers(target, f)
			if a == (Answer{}) || a.Capability != Exact && a.Note == "" || rows[f].thing == "" {
				t.Errorf("Answers(%s, %s) = %+v: no answer, or a deviation without its reason", target, f, a)
			}
		}
	}
	if a := Answers("landlock", ir.FeatureRead); a.Capability != Absent {
		t.Errorf("Answers of an unknown target = %+v, want Absent", a)
	}
}

func TestArtifactsOfTheSamplesMeanThePolicy(t *testing.T) {
	for name, statements := range samples {
		t.Run(name, func(t *testing.T) {
			p := policy(t, statements...)
			files := compileFiles(t, p)
			if again := compileFiles(t, p); !bytes.Equal(again[bwrapFile], files[bwrapFile]) {
				t.Errorf("Compile(%q) twice gives different bytes", statements)
			}
			if _, err := ReadLinux(files); err != nil {
				t.Errorf("ReadLinux(Compile(%q)) = %v", statements, err)
			}
		})
	}
}

func TestAMissingOrForeignFileIsRefused(t *testing.T) {
	p := policy(t, "read /usr", "execute /usr/bin", "write ${workspace}")
	other := compileFiles(t, policy(t, "read /usr", "read /etc", "write ${workspace}", "visible"))
	files := compileFiles(t, p)
	for name := range files {
		changed := map[string][]byte{}
		for n, data := range files {
			changed[n] = data
		}
		delete(changed, name)
		if err := Validate(p, changed); err == nil {
			t.Errorf("Validate without %s = nil", name)
		}
		changed[name] = other[name]
		if bytes.Equal(other[name], files[name]) {
			continue
		}
		if err := Validate(p, changed); err == nil {
			t.Errorf("Validate with another policy's %s = nil", name)
		}
	}
}

func TestAValidationErrorNamesTheRequest(t *testing.T) {
	p := policy(t, "read /usr")
	wider := compileFiles(t, policy(t, "read /usr", "read /etc/shadow"))
	files := compileFiles(t, p)
	files[bwrapFile], files[argsFile] = wider[bwrapFile], wider[argsFile]
	var fault *ValidationError
	err := Validate(p, files)
	if !errors.As(err, &fault) || fault.Request == nil || !strings.HasPrefix(fault.Request.Path.String(), "/etc") || !fault.Allowed.Artifact || fault.Allowed.Policy {
		t.Errorf("Validate(a foreign read of /etc/shadow) = %v, want a *ValidationError about it", err)
	}
}

// TestAValidationErrorShowsWhereAndWhy: the request, both answers, the artifact's
// line and the policy's statement.
func TestAValidationErrorShowsWhereAndWhy(t *testing.T) {
	base := []string{"read /usr", "execute /usr/bin", "write ${workspace}", "deny ${workspace}/.env"}
	for _, tt := range []struct {
		name       string
		statements []string // of the policy whose Linux artifacts are put in place
		files      []string
		want       []string
	}{
		{"a foreign read", append([]string{"read /etc/shadow"}, base...), []string{bwrapFile, argsFile},
			[]string{"bwrap.json: stat /etc: the policy denies it, as no rule speaks of it; the artifact allows it at bwrap.args.txt:", ": --perms 0111 --dir /etc (slots apart"}},
		{"a write of what is read", []string{"write /usr", "execute /usr/bin", "write ${workspace}", "deny ${workspace}/.env"}, []string{bwrapFile, argsFile, landlockFile},
			[]string{"bwrap.json: write /usr: the policy denies it by read /usr (p/read /usr); the artifact allows it at bwrap.args.txt:", ": --bind /usr /usr ("}},
		{"a hole that is left out", base[:3], []string{bwrapFile, argsFile},
			[]string{"the policy denies it by deny ${workspace}/.env (p/deny ${workspace}/.env); the artifact allows it at bwrap.args.txt:", ": --bind ${workspace} ${workspace} ("}},
		{"a foreign execute", []string{"read /usr", "execute /usr/bin", "execute /usr/lib/x", "write ${workspace}", "deny ${workspace}/.env"}, []string{landlockFile},
			[]string{"bwrap.json with landlock.json: execute /usr/lib/x: the policy denies it by read /usr (p/read /usr); the artifact allows it at landlock.json: /execute/1 (/usr/lib/x) ("}},
		{"an execute too few", []string{"read /usr", "execute /usr/bin/env", "write ${workspace}", "deny ${workspace}/.env"}, []string{landlockFile},
			[]string{"execute /usr/bin: the policy allows it by execute /usr/bin (p/execute /usr/bin); the artifact denies it at landlock.json: no rule of /execute ("}},
		{"a read too few", []string{"read /usr/share", "execute /usr/bin", "write ${workspace}", "deny ${workspace}/.env"}, []string{landlockFile},
			[]string{"landlock.json: read /usr: the policy allows it by read /usr (p/read /usr); the artifact denies it at landlock.json: no rule of /read, none of /write ("}},
		{"a write that is a read", []string{"read /usr", "execute /usr/bin", "read ${workspace}", "deny ${workspace}/.env"}, []string{landlockFile},
			[]string{": the policy allows it by write ${workspace} (p/write ${workspace}); the artifact denies it at landlock.json: no rule of /write ("}},
		{"nothing is confined", []string{"read /usr", "execute /usr", "write ${workspace}", "deny ${workspace}/.env", "execute ${workspace}", "execute /proc"}, []string{landlockFile},
			[]string{"execute ", "the artifact allows it at landlock.json: everything starts ("}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(t, base...)
			files, other := compileFiles(t, p), compileFiles(t, policy(t, tt.statements...))
			for _, name := range tt.files {
				files[name] = other[name]
			}
			err := Validate(p, files)
			var fault *ValidationError
			if !errors.As(err, &fault) || fault.Request == nil {
				t.Fatalf("Validate = %v, want a *ValidationError about a request", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// TestAValidationErrorShowsTheByte: a text that is not what it must be, at the
// first byte that differs.
func TestAValidationErrorShowsTheByte(t *testing.T) {
	p := policy(t, "read /usr")
	files := compileFiles(t, p)
	files[argsFile] = bytes.Replace(files[argsFile], []byte("--ro-bind /usr"), []byte("--ro-bind /etc"), 1)
	if err := Validate(p, files); err == nil || !strings.Contains(err.Error(), "(bwrap.args.txt:") {
		t.Errorf("Validate = %v, want the line and column", err)
	}
}

func at(o ir.Origin) diag.Range {
	return diag.Range{File: string(o), Start: diag.Pos{Line: 1, Column: 1}}
}

func TestCompare(t *testing.T) {
	endpoint := func(p *ir.Policy) {
		p.Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "example.com"}, Ports: []uint16{443}, Executables: []ir.Path{ir.MustPath("/usr/bin/curl")}, Origin: "p/network.endpoint.e"}}
	}
	both := func(p *ir.Policy) { p.Targets = []ir.Target{ir.Bwrap, ir.Seatbelt} }
	mac := func(p *ir.Policy) { p.Targets = []ir.Target{ir.Seatbelt} }
	loopback := func(p *ir.Policy) { p.Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"} }
	localhost := func(p *ir.Policy) {
		p.DeniedHosts = []ir.HostRule{{Host: ir.HostPattern{Name: "localhost"}, Origin: "p/network.deny[0]"}}
	}
	programs := func(p *ir.Policy) {
		for i := range p.Files {
			p.Files[i].Origin = "p/files"
		}
		for i := range 1500 {
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath(fmt.Sprintf("/opt/bin/tool-%05d", i)), Origin: "p/execute"})
		}
	}
	waive := func(target ir.Target, f ir.Feature) func(*ir.Policy) {
		return func(p *ir.Policy) {
			p.Waivers = append(p.Waivers, ir.Waiver{Target: target, Feature: f, Reason: "accepted", Origin: "p/waive"})
		}
	}
	for _, tt := range []struct {
		name       string
		statements []string
		change     []func(*ir.Policy)
		want       string
	}{
		{"nothing to say", []string{"read /usr"}, nil, ""},
		{"an endpoint with programs", []string{"read /usr"}, []func(*ir.Policy){endpoint, both},
			"p/network.endpoint.e feature-absent error, p/network.endpoint.e feature-attribution warning, p/network.endpoint.e feature-tighter warning"},
		{"an endpoint with programs, waived", []string{"read /usr"}, []func(*ir.Policy){endpoint, mac, waive(ir.Seatbelt, ir.FeatureEndpointProgram)},
			"p/network.endpoint.e feature-tighter warning, p/waive feature-waived warning"},
		{"a waiver of what is kept", []string{"read /usr"}, []func(*ir.Policy){endpoint, mac, waive(ir.Seatbelt, ir.FeatureEndpoint)},
			"p/network.endpoint.e feature-absent error, p/network.endpoint.e feature-tighter warning"},
		{"the machine's loopback", []string{"read /usr"}, []func(*ir.Policy){loopback, both}, "p/network.loopback feature-absent error, p/network.loopback feature-tighter warning"},
		{"the machine's loopback on macOS", []string{"read /usr"}, []func(*ir.Policy){loopback, mac}, "p/network.loopback feature-tighter warning"},
		{"its name denied", []string{"read /usr"}, []func(*ir.Policy){loopback, mac, localhost}, "p/network.deny[0] localhost-denied error, p/network.loopback feature-tighter warning"},
		{"only inside a write", []string{"write /d", "only read /d/x"}, nil, "p/only read /d/x feature-absent error, p/only read /d/x feature-tighter warning"},
		{"the same, waived", []string{"write /d", "only read /d/x"}, []func(*ir.Policy){waive(ir.Bwrap, ir.FeatureOnlyCarveOut)},
			"p/only read /d/x feature-tighter warning, p/waive feature-waived warning"},
		{"tighter, waived", []string{"write /d", "deny /d/x"}, []func(*ir.Policy){waive(ir.Bwrap, ir.FeatureHeldDirectory)}, ""},
		{"waived for the other target", []string{"write /d", "deny /d/x"}, []func(*ir.Policy){waive(ir.Seatbelt, ir.FeatureHeldDirectory)}, "p/deny /d/x feature-tighter warning"},
		{"two writes, once", []string{"write /d", "write /e", "write /f"}, nil, "p/write /d feature-tighter warning"},
		{"a write beside memory", []string{"write /d", "tmp", "devices", "shm"}, nil, ""},
		{"a program that is held in a write", []string{"write /d", "execute /d/bin"}, nil, "p/execute /d/bin feature-tighter warning"},
		{"the host's devices", []string{"read /dev"}, nil, "p/read /dev feature-tighter warning"},
		{"a hole in a write, once", []string{"write /d", "deny /d/x", "deny /d/y"}, nil, "p/deny /d/x feature-tighter warning"},
		{"outside ASCII on macOS", []string{"read /d", "deny /d/ü", "deny /d/ö"}, []func(*ir.Policy){both},
			"p/deny /d/ö feature-absent error, p/deny /d/ö feature-tighter warning, p/deny /d/ü feature-absent error"},
		{"a path without a mount", []string{"tmp", "devices", "shm", "read /dev/shm/x"}, nil, "p/read /dev/shm/x feature-tighter warning, p/read /dev/shm/x mount-unsupported error"},
		{"more programs than one pattern holds", []string{"read /opt"}, []func(*ir.Policy){both, programs}, "builtin/unix profile-too-large error"},
		{"one place on macOS", []string{"read /tmp/x", "write /private/tmp/x"}, []func(*ir.Policy){both}, "p/write /private/tmp/x path-same-place error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(t, tt.statements...)
			for _, change := range tt.change {
				change(p)
			}
			var got []string
			for _, d := range Compare(p, at) {
				got = append(got, d.At.File+" "+d.Code+" "+d.Severity.String())
				if d.Message == "" || d.Help == "" || strings.HasSuffix(d.Message, ".") {
					t.Errorf("Compare(%q): %+v is no finding", tt.statements, d)
				}
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("Compare(%q) = %s, want %s", tt.statements, strings.Join(got, ", "), tt.want)
			}
		})
	}
}
