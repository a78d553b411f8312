package verify

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// now is the time of every test that does not say another.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// policy is a small policy for both systems.
func policy(name string) *ir.Policy {
	return &ir.Policy{
		Name: name, Version: 1, Targets: []ir.Target{ir.Bwrap, ir.Seatbelt},
		Files: []ir.FileRule{
			{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS, Origin: "builtin/proc"},
			{Path: ir.MustPath("/usr"), Level: ir.Read, Origin: ir.Origin(name + "/filesystem.read[0]")},
			{Path: ir.MustPath("${workspace}"), Level: ir.Write, Origin: ir.Origin(name + "/filesystem.write[0]")},
		},
		Execute: []ir.ExecuteRule{{Path: ir.MustPath("/usr"), Origin: ir.Origin(name + "/filesystem.execute[0]")}},
		Unix:    ir.UnixRule{Origin: "builtin/unix"},
	}
}

// input is a release of two policies that passes.
func input(t testing.TB) release.Input {
	t.Helper()
	return release.Input{
		Product: "payments", Serial: 12, Compiler: release.Version,
		Created: now.Add(-time.Hour), Expires: now.Add(90 * 24 * time.Hour),
		Policies: []release.Policy{compiled(t, policy("batch")), compiled(t, policy("web"))},
	}
}

func build(t testing.TB, in release.Input) []release.File {
	t.Helper()
	files, err := release.Build(in)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return files
}

func sample(t testing.TB) []release.File {
	t.Helper()
	return build(t, input(t))
}

func at(files []release.File, name string) *release.File {
	i := slices.IndexFunc(files, func(f release.File) bool { return f.Name == name })
	if i < 0 {
		panic("no file " + name)
	}
	return &files[i]
}

func digestOf(files []release.File) release.Digest {
	return release.Sum(at(files, release.SumsName).Data)
}

// pinsOf are pins that accept exactly these files.
func pinsOf(t testing.TB, files []release.File) *release.Pins {
	t.Helper()
	m, err := release.ParseManifest(at(files, release.ManifestName).Data)
	if err != nil {
		t.Fatal(err)
	}
	return &release.Pins{Product: m.Product, Serial: m.Serial, NoExpiry: m.Expires.IsZero(), Sums: []release.Digest{digestOf(files)}}
}

func trusting(t testing.TB, files []release.File) Trust {
	t.Helper()
	return Trust{Pins: pinsOf(t, files), Now: now}
}

// forge makes a release whose lists agree with its bytes, as somebody would who
// may release: what is refused then is refused for what it is.
func forge(t testing.TB, files []release.File, edit func(*release.Manifest)) []release.File {
	t.Helper()
	m, err := release.ParseManifest(at(files, release.ManifestName).Data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Artifacts {
		a := &m.Artifacts[i]
		if !slices.ContainsFunc(files, func(f release.File) bool { return f.Name == a.Name }) {
			continue
		}
		f := at(files, a.Name)
		a.Size, a.SHA256 = int64(len(f.Data)), release.Sum(f.Data)
	}
	if edit != nil {
		edit(m)
	}
	slices.SortFunc(m.Artifacts, func(a, b release.Artifact) int { return strings.Compare(a.Name, b.Name) })
	text, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	at(files, release.ManifestName).Data = text
	return resum(files)
}

// resum rewrites SHA256SUMS for the bytes that are there.
func resum(files []release.File) []release.File {
	var sums release.Sums
	slices.SortFunc(files, func(a, b release.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		if f.Name != release.SumsName {
			sums = append(sums, release.Entry{Name: f.Name, Digest: release.Sum(f.Data)})
		}
	}
	at(files, release.SumsName).Data = sums.Format()
	return files
}

// wantVerified fails unless src is verified under trust.
func wantVerified(t testing.TB, src Source, trust Trust, extra ...Check) *Verified {
	t.Helper()
	v, report := Open(src, trust, extra...)
	if v == nil || !report.Verified() || report.ExitCode() != 0 {
		t.Fatalf("Open(%s) is refused:\n%s", src, report)
	}
	return v
}

// wantRefused fails unless the check fails on file for the reason, and returns
// that failure.
func wantRefused(t testing.TB, src Source, trust Trust, check, file string, reason Reason, extra ...Check) Failure {
	t.Helper()
	v, report := Open(src, trust, extra...)
	if v != nil || report.Verified() || report.ExitCode() == 0 {
		t.Fatalf("Open(%s) is accepted:\n%s", src, report)
	}
	for _, r := range report.Checks {
		for _, f := range r.Failures {
			if r.Check == check && f.File == file && f.Reason == reason {
				return f
			}
		}
	}
	t.Fatalf("Open(%s) does not fail %s on %s as %s:\n%s", src, check, file, reason, report)
	return Failure{}
}

// onlyOneFailure fails when the report tells a fault more than once.
func onlyOneFailure(t testing.TB, src Source, trust Trust) {
	t.Helper()
	if _, report := Open(src, trust); len(report.Failures()) != 1 {
		t.Errorf("one fault is told %d times:\n%s", len(report.Failures()), report)
	}
}

func overwrite(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func replaced(data []byte, old, new string) []byte {
	if !bytes.Contains(data, []byte(old)) {
		panic("no " + old)
	}
	return []byte(strings.Replace(string(data), old, new, 1))
}
