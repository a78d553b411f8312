package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// TestContentAttacks are attacks on the bytes of a release. Each is tried from a
// directory and from memory, and its twin without the fault is accepted.
func TestContentAttacks(t *testing.T) {
	const hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sums := func(edit func(string) string) func(*testing.T, []release.File) []release.File {
		return func(_ *testing.T, files []release.File) []release.File {
			f := at(files, release.SumsName)
			f.Data = []byte(edit(string(f.Data)))
			return files
		}
	}
	manifest := func(old, new string) func(*testing.T, []release.File) []release.File {
		return func(_ *testing.T, files []release.File) []release.File {
			f := at(files, release.ManifestName)
			f.Data = replaced(f.Data, old, new)
			return resum(files)
		}
	}
	for _, tt := range []struct {
		name   string
		attack func(*testing.T, []release.File) []release.File
		check  string
		file   string
		reason Reason
		says   string
	}{
		{"manifest names a file outside", manifest(`"name":"web/run.json"`, `"name":"../run.json"`), Structure, release.ManifestName, UnsafeName, "holds .."},
		{"manifest names an absolute file", manifest(`"name":"web/run.json"`, `"name":"/etc/passwd"`), Structure, release.ManifestName, UnsafeName, "absolute"},
		{"manifest names a drive", manifest(`"name":"web/run.json"`, `"name":"C:\\run.json"`), Structure, release.ManifestName, UnsafeName, "outside"},
		{"names differ by case", manifest(`"name":"web/run.json"`, `"name":"web/IR.json"`), Structure, release.ManifestName, UnsafeName, "case alone"},
		{"duplicate line, same digest", sums(func(s string) string { return s + s[strings.LastIndex(s[:len(s)-1], "\n")+1:] }), Checksums, release.SumsName, Malformed, "duplicate"},
		{"upper-case hex", sums(func(s string) string { return strings.ToUpper(s[:64]) + s[64:] }), Checksums, release.SumsName, Malformed, "line 1: "},
		{"CRLF", sums(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }), Checksums, release.SumsName, Malformed, "line 1: "},
		{"no final newline", sums(func(s string) string { return strings.TrimSuffix(s, "\n") }), Checksums, release.SumsName, Malformed, "line feed"},
		{"comment", sums(func(s string) string { return "# x\n" + s }), Checksums, release.SumsName, Malformed, "comment"},
		{"name outside in the checksums", sums(func(s string) string { return s + hexA + "  ../x\n" }), Checksums, release.SumsName, Malformed, "unsafe name"},
		{"checksums list nothing", sums(func(string) string { return "" }), Checksums, release.SumsName, Malformed, "nothing would be verified"},
		{"checksums list an unlisted file", sums(func(s string) string { return s + hexA + "  zzz\n" }), Checksums, "zzz", Unlisted, "release.json does not"},
		{"checksums lack a file", sums(func(s string) string { return s[strings.Index(s, "\n")+1:] }), Checksums, "batch/bwrap.args.txt", Missing, "SHA256SUMS does not list it"},
		{"manifest lists nothing", manifest(`"artifacts":[`, `"artifacts":[],"x":[`), Structure, release.ManifestName, Malformed, "canonical"},
		{"manifest of another generation", manifest(`"format":1`, `"format":2`), Structure, release.ManifestName, Unsupported, "made by a newer obspc"},
		{"deep manifest", func(_ *testing.T, files []release.File) []release.File {
			at(files, release.ManifestName).Data = []byte(strings.Repeat("[", 10_000))
			return files
		}, Structure, release.ManifestName, Malformed, "nested deeper"},
		{"changed artifact", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, "web/bwrap.json")
			f.Data = replaced(f.Data, "/usr", "/etc")
			return files
		}, Checksums, "web/bwrap.json", Tampered, "SHA256SUMS"},
		{"longer artifact", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, "web/bwrap.json")
			f.Data = append(f.Data, '\n')
			return files
		}, Checksums, "web/bwrap.json", Tampered, "larger"},
		{"shorter artifact", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, "web/bwrap.json")
			f.Data = f.Data[:len(f.Data)-1]
			return files
		}, Checksums, "web/bwrap.json", Tampered, "smaller"},
		{"changed map", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, "web/ir.map.json")
			f.Data = replaced(f.Data, "{", "[")
			return files
		}, Checksums, "web/ir.map.json", Tampered, "SHA256SUMS"},
		{"checksums follow a changed artifact, the manifest does not", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, "web/bwrap.json")
			f.Data = replaced(f.Data, "/usr", "/etc")
			return resum(files)
		}, Checksums, "web/bwrap.json", Tampered, "release.json"},
		{"changed manifest", func(_ *testing.T, files []release.File) []release.File {
			f := at(files, release.ManifestName)
			f.Data = replaced(f.Data, `"serial":12`, `"serial":99`)
			return files
		}, Checksums, release.ManifestName, Tampered, "SHA256SUMS"},
		{"content of one file under the name of another", func(_ *testing.T, files []release.File) []release.File {
			at(files, "web/ir.json").Data = at(files, "batch/ir.json").Data
			return files
		}, Checksums, "web/ir.json", Tampered, ""},
		{"checksums of another release", func(t *testing.T, files []release.File) []release.File {
			in := input(t)
			in.Serial = 13
			at(files, release.SumsName).Data = at(build(t, in), release.SumsName).Data
			return files
		}, Checksums, release.ManifestName, Tampered, "SHA256SUMS"},
		{"missing artifact", func(_ *testing.T, files []release.File) []release.File {
			return without(files, "web/landlock.json")
		}, Structure, "web/landlock.json", Missing, "not there"},
		{"missing manifest", func(_ *testing.T, files []release.File) []release.File {
			return without(files, release.ManifestName)
		}, Structure, release.ManifestName, Missing, "not there"},
		{"missing checksums", func(_ *testing.T, files []release.File) []release.File {
			return without(files, release.SumsName)
		}, Structure, release.SumsName, Missing, "not there"},
		{"all files missing", func(_ *testing.T, files []release.File) []release.File {
			return []release.File{*at(files, release.ManifestName), *at(files, release.SumsName)}
		}, Structure, "web/ir.json", Missing, "not there"},
		{"extra file", func(_ *testing.T, files []release.File) []release.File {
			return append(files, release.File{Name: "web/extra.json"})
		}, Structure, "web/extra.json", Unlisted, "release.json"},
		{"signature of one file", func(_ *testing.T, files []release.File) []release.File {
			return append(files, release.File{Name: "release.json.sig"})
		}, Structure, "release.json.sig", Unlisted, "release.json"},
		{"statement in a folder", func(_ *testing.T, files []release.File) []release.File {
			return append(files, release.File{Name: "web/x.intoto.jsonl"})
		}, Structure, "web/x.intoto.jsonl", Unlisted, "release.json"},
		{"huge signature", func(_ *testing.T, files []release.File) []release.File {
			return append(files, release.File{Name: release.SignatureName, Data: make([]byte, release.MaxSignature+1)})
		}, Structure, release.SignatureName, Oversize, "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := trusting(t, sample(t))
			wantVerified(t, Memory(sample(t)), trust)
			bad := tt.attack(t, sample(t))
			f := wantRefused(t, Memory(bad), trust, tt.check, tt.file, tt.reason)
			if !strings.Contains(f.String(), tt.says) {
				t.Errorf("it says %q, want %q in it", f, tt.says)
			}
			wantRefused(t, Dir(written(t, bad)), trust, tt.check, tt.file, tt.reason)
		})
	}
}

// written puts files into a directory without asking whether they make sense.
func written(t testing.TB, files []release.File) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "release")
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, f.Data)
	}
	return dir
}

func without(files []release.File, name string) []release.File {
	var out []release.File
	for _, f := range files {
		if f.Name != name {
			out = append(out, f)
		}
	}
	return out
}

func TestMemoryRefusesANameTwice(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	wantVerified(t, Memory(files), trust)
	wantRefused(t, Memory(append(files, *at(files, "web/ir.json"))), trust, Structure, "web/ir.json", UnsafeFile)
}

// Signatures and statements beside SHA256SUMS are no strangers.
func TestAttachmentsAreAllowed(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	for _, name := range []string{release.SignatureName, release.BundleName, "rules.intoto.jsonl"} {
		files = append(files, release.File{Name: name, Data: []byte("x")})
	}
	wantVerified(t, Memory(files), trust)
	wantVerified(t, Dir(written(t, files)), trust)
}

func TestPinAttacks(t *testing.T) {
	files := sample(t)
	other := input(t)
	other.Serial = 13
	for _, tt := range []struct {
		name   string
		pins   func(*release.Pins)
		check  string
		file   string
		reason Reason
	}{
		{"release of another product", func(p *release.Pins) { p.Product = "web" }, Pins, release.ManifestName, Untrusted},
		{"another release pinned", func(p *release.Pins) { p.Sums = []release.Digest{digestOf(build(t, other))} }, Pins, release.SumsName, Untrusted},
		{"nothing pinned", func(p *release.Pins) { p.Sums = nil }, Pins, release.SumsName, Untrusted},
		{"revoked release", func(p *release.Pins) { p.Revoked = []release.Digest{digestOf(files)} }, Pins, release.SumsName, Untrusted},
		{"revoked artifact", func(p *release.Pins) {
			p.Revoked = []release.Digest{release.Sum(at(files, "web/bwrap.json").Data)}
		}, Pins, "web/bwrap.json", Untrusted},
		{"serial below the pin", func(p *release.Pins) { p.Serial = 13 }, SerialAndExpiry, release.ManifestName, Stale},
		{"one artifact pinned otherwise", func(p *release.Pins) {
			p.Sums, p.Artifacts = nil, artifactPins(t, files, "web")
			p.Artifacts[0].Digest = release.Sum(nil)
		}, Pins, "web/bwrap.args.txt", Untrusted},
		{"one artifact not pinned", func(p *release.Pins) {
			p.Sums, p.Artifacts = nil, artifactPins(t, files, "web")[1:]
		}, Pins, "web/bwrap.args.txt", Untrusted},
		{"pinned artifact missing", func(p *release.Pins) {
			p.Sums = nil
			p.Artifacts = append(artifactPins(t, files, "web"), release.Entry{Name: "zoo/ir.json", Digest: release.Sum(nil)})
		}, Pins, "zoo/ir.json", Untrusted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := trusting(t, files)
			wantVerified(t, Memory(files), trust)
			tt.pins(trust.Pins)
			wantRefused(t, Memory(files), trust, tt.check, tt.file, tt.reason)
		})
	}
}

// artifactPins are pins of a policy's artifacts, sorted.
func artifactPins(t testing.TB, files []release.File, policy string) release.Sums {
	t.Helper()
	var out release.Sums
	for _, f := range files {
		if strings.HasPrefix(f.Name, policy+"/") && f.Name != policy+"/"+release.MapName {
			out = append(out, release.Entry{Name: f.Name, Digest: release.Sum(f.Data)})
		}
	}
	return out
}

// With pins of single artifacts only the policies that are pinned can be used.
func TestArtifactPinsLeaveTheRestOut(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	trust.Pins.Sums, trust.Pins.Artifacts = nil, artifactPins(t, files, "web")
	trust.StateDir = filepath.Join(t.TempDir(), "state")
	v, report := Open(Memory(files), trust)
	if v == nil {
		t.Fatal(report)
	}
	if got := strings.Join(v.Policies(), " "); got != "web" {
		t.Errorf("Policies = %s, want web", got)
	}
	if _, ok := v.File("batch/ir.json"); ok || v.IR("batch") != nil {
		t.Error("a policy that is not pinned is in the Verified")
	}
	if !strings.Contains(strings.Join(report.Warnings, "\n"), "policy batch is not pinned") {
		t.Errorf("warnings = %q", report.Warnings)
	}
	// Nobody vouched for the serial, so it is not remembered.
	if _, err := os.Stat(trust.StateDir); !os.IsNotExist(err) {
		t.Errorf("state was written: %v", err)
	}
}

func TestTimeAttacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		input  func(*release.Input)
		trust  func(*Trust)
		file   string
		reason Reason
	}{
		{"expired", func(in *release.Input) { in.Expires = now }, nil, release.ManifestName, Stale},
		{"clock moved on", nil, func(tr *Trust) { tr.Now = now.Add(91 * 24 * time.Hour) }, release.ManifestName, Stale},
		{"clock moved back", nil, func(tr *Trust) { tr.Now = now.Add(-2 * time.Hour) }, release.ManifestName, Stale},
		{"created in the future", func(in *release.Input) { in.Created = now.Add(skew + time.Second) }, nil, release.ManifestName, Stale},
		{"never expires", func(in *release.Input) { in.Expires = time.Time{} }, func(tr *Trust) { tr.Pins.NoExpiry = false }, release.ManifestName, Stale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantVerified(t, Memory(sample(t)), trusting(t, sample(t)))
			in := input(t)
			if tt.input != nil {
				tt.input(&in)
			}
			files := build(t, in)
			trust := trusting(t, files)
			if tt.trust != nil {
				tt.trust(&trust)
			}
			wantRefused(t, Memory(files), trust, SerialAndExpiry, tt.file, tt.reason)
		})
	}
}

func TestTimesThatPass(t *testing.T) {
	for _, tt := range []struct {
		name  string
		input func(*release.Input)
		warns string
	}{
		{"created within the skew", func(in *release.Input) { in.Created = now.Add(skew) }, ""},
		{"no creation time", func(in *release.Input) { in.Created = time.Time{} }, ""},
		{"never expires, and the pins say so", func(in *release.Input) { in.Expires = time.Time{} }, ""},
		{"expires in a second", func(in *release.Input) { in.Expires = now.Add(time.Second) }, "less than 14 days"},
		{"expires in 14 days", func(in *release.Input) { in.Expires = now.Add(expiresSoon) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t)
			tt.input(&in)
			files := build(t, in)
			_, report := Open(Memory(files), trusting(t, files))
			warned := strings.Join(report.Warnings, "\n")
			if !report.Verified() || (tt.warns == "") != (warned == "") || !strings.Contains(warned, tt.warns) {
				t.Errorf("Open, want the warning %q:\n%s", tt.warns, report)
			}
		})
	}
}

// One fault is told once, by the check that it concerns.
func TestOneFaultOneFailure(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	at(files, "web/bwrap.json").Data[0]++
	onlyOneFailure(t, Memory(files), trust)
	files = sample(t)
	onlyOneFailure(t, Memory(without(files, "web/bwrap.json")), trust)
	at(files, release.SumsName).Data[0] = 'G'
	if _, report := Open(Memory(files), trusting(t, sample(t))); len(report.Failures()) != 2 {
		// The checksums are malformed, and they are not the pinned ones.
		t.Errorf("report:\n%s", report)
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	trust.Pins.Serial = 99
	at(files, "web/bwrap.json").Data[0]++
	at(files, "batch/run.json").Data[0]++
	bad := append(without(files, "web/landlock.json"), release.File{Name: "notes"})
	_, report := Open(Memory(bad), trust)
	text := report.String()
	for _, want := range []string{"web/bwrap.json: tampered", "batch/run.json: tampered", "web/landlock.json: missing", "notes: unlisted", "serial 99 or higher"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not tell %q:\n%s", want, text)
		}
	}
}
