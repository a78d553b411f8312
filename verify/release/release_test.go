package release

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// sampleInput is a release of two policies.
func sampleInput() Input {
	return Input{
		Product: "payments", Serial: 12, Compiler: "0.1.0",
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Expires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
		Targets: []string{"bwrap"}, Variables: map[string]string{"b": "2", "a": "1 <é>"},
		Sources: map[string]Digest{"b.policy.hcl": Sum([]byte("b")), "ä.policy.hcl": Sum([]byte("a"))},
		Policies: []Policy{
			{"web", []Made{{"run.json", "run", "", []byte("{}")}, {"ir.json", "ir", "", []byte(`{"policy":"web"}`)}}},
			{"batch", []Made{{"ir.json", "ir", "", []byte(`{"policy":"batch"}`)}, {"empty.txt", "note", "bwrap", nil}}},
		},
	}
}

func build(t testing.TB, in Input) []File {
	t.Helper()
	files, err := Build(in)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return files
}

func fileNamed(t testing.TB, files []File, name string) []byte {
	t.Helper()
	for _, f := range files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no %s among the files", name)
	return nil
}

func TestBuild(t *testing.T) {
	files := build(t, sampleInput())
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	want := "SHA256SUMS batch/empty.txt batch/ir.json release.json web/ir.json web/run.json"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("Build names %s, want %s", got, want)
	}
	m, err := ParseManifest(fileNamed(t, files, ManifestName))
	if err != nil {
		t.Fatalf("ParseManifest of what Build made: %v", err)
	}
	if m.Product != "payments" || m.Serial != 12 || !m.Expires.Equal(sampleInput().Expires) || m.Inputs.Variables[0] != (VariableInput{"a", "1 <é>"}) {
		t.Errorf("manifest = %+v", m)
	}
	if a, ok := m.Artifact("batch/ir.json"); !ok || a.IR != IRDigest([]byte(`{"policy":"batch"}`)) || a.Size != 18 {
		t.Errorf("Artifact(batch/ir.json) = %+v, %v", a, ok)
	}
	if got := strings.Join(m.Policies(), " "); got != "batch web" {
		t.Errorf("Policies = %s", got)
	}
	sums, err := ParseSums(fileNamed(t, files, SumsName))
	if err != nil || len(sums) != 5 {
		t.Errorf("ParseSums of what Build made = %v, %v", sums, err)
	}
	again := build(t, sampleInput())
	for i := range files {
		if !bytes.Equal(files[i].Data, again[i].Data) {
			t.Errorf("%s differs between two builds", files[i].Name)
		}
	}
}

func TestBuildLocal(t *testing.T) {
	in := sampleInput()
	in.Product, in.Serial, in.Created, in.Expires = "", 0, time.Time{}, time.Time{}
	m, err := ParseManifest(fileNamed(t, build(t, in), ManifestName))
	if err != nil || m.Product != LocalProduct || m.Serial != 0 || !m.Expires.IsZero() {
		t.Errorf("manifest without product = %+v, %v", m, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func(*Input)
		want string
	}{
		{"product without serial", func(in *Input) { in.Serial = 0 }, "add --serial 1"},
		{"serial without product", func(in *Input) { in.Product = "" }, "add --product NAME"},
		{"odd product", func(in *Input) { in.Product = "../x" }, "a name has a-z, 0-9 and . _ -"},
		{"product in upper case", func(in *Input) { in.Product = "Acme" }, "not in lower case; a name has a-z"},
		{"product of two words", func(in *Input) { in.Product = "acme corp" }, "a name has a-z"},
		{"product too long", func(in *Input) { in.Product = strings.Repeat("a", 64) }, "at most 63 bytes"},
		{"the local product", func(in *Input) { in.Product = LocalProduct }, "give another name"},
		{"negative serial", func(in *Input) { in.Serial = -1 }, "outside 0 to"},
		{"expires before created", func(in *Input) { in.Expires = in.Created }, "not after"},
		{"fraction of a second", func(in *Input) { in.Created = in.Created.Add(1) }, "whole seconds"},
		{"no policy", func(in *Input) { in.Policies = nil }, "nothing would be verified"},
		{"no ir", func(in *Input) { in.Policies[0].Artifacts = in.Policies[0].Artifacts[:1] }, "has no ir.json"},
		{"policy twice", func(in *Input) { in.Policies[1].Name = "web" }, "duplicate"},
		{"case collision", func(in *Input) { in.Policies[1].Name = "Web" }, "case alone"},
		{"a device of Windows", func(in *Input) { in.Policies[1].Name = "aux" }, "device"},
		{"policy named as the checksums", func(in *Input) { in.Policies[1].Name = "sha256sums" }, "is a file"},
		{"no compiler", func(in *Input) { in.Compiler = "" }, "compiler"},
		{"variable that is no UTF-8", func(in *Input) { in.Variables["a"] = "\xff" }, "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := sampleInput()
			tt.with(&in)
			if _, err := Build(in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Build = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestIRDigest(t *testing.T) {
	// printf 'obspc-ir/1\n{}' | sha256sum
	if got := IRDigest([]byte("{}")); got != Sum([]byte("obspc-ir/1\n{}")) {
		t.Errorf("IRDigest({}) = %s", got)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "release.json", "web/seccomp-x86_64.bpf", "A/b", "0/1"} {
		if err := CheckName(good); err != nil {
			t.Errorf("CheckName(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "../x", "/etc/passwd", "a//b", "./a", "a/../b", "a/", `C:\x`, `a\b`, "C:x", "..", ".", ".git", "a/.b", "-rf", "_a",
		"a/b/c", "a ", "a.", "a./b", "a\x00b", "a\nb", "é", "e\u0301", "\u202ea", "\xff", "nul", "Con.txt", "a/LPT1.json", strings.Repeat("a", 101),
	} {
		var e *NameError
		if err := CheckName(bad); !errors.As(err, &e) {
			t.Errorf("CheckName(%q) = %v, want a NameError", bad, err)
		}
	}
}

func TestSha256sumReadsSums(t *testing.T) {
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("host feature missing: sha256sum")
	}
	dir := t.TempDir() + "/release"
	if err := Write(dir, build(t, sampleInput())); err != nil {
		t.Fatal(err)
	}
	check := func() (string, error) {
		cmd := exec.Command(tool, "-c", "--strict", SumsName)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Errorf("sha256sum -c --strict: %v\n%s", err, out)
	}
	if err := os.WriteFile(dir+"/web/run.json", []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil {
		t.Errorf("sha256sum accepts a changed file:\n%s", out)
	}
}
