package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// sample is a release of one policy.
func sample(t *testing.T, serial int64) []release.File {
	t.Helper()
	p := &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap},
		Files: []ir.FileRule{{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS, Origin: "builtin/proc"}},
		Unix:  ir.UnixRule{Origin: "builtin/unix"},
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	made := release.Policy{Name: "p"}
	for _, a := range artifacts {
		made.Artifacts = append(made.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
	}
	files, err := release.Build(release.Input{
		Product: "acme", Serial: serial, Compiler: release.Version, Expires: now.Add(90 * 24 * time.Hour),
		Sources: map[string]release.Digest{"p.policy.hcl": release.Sum([]byte("x"))}, Policies: []release.Policy{made},
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func find(files []release.File, name string) []byte {
	for _, f := range files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func manifest(t *testing.T, files []release.File) *release.Manifest {
	t.Helper()
	m, err := release.ParseManifest(find(files, release.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const password = "correct horse"

func pair(t *testing.T, kind release.KeyType) (*Signer, release.Key) {
	t.Helper()
	private, public, err := Generate(kind, []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	key, err := release.ParseKey(public)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load(private, func() ([]byte, error) { return []byte(password), nil })
	if err != nil || s.Key() != key {
		t.Fatalf("Load = %+v, %v", s, err)
	}
	return s, key
}

// signed is a release with everything that obspc sign writes.
func signed(t *testing.T, s *Signer, serial int64) []release.File {
	t.Helper()
	files := sample(t, serial)
	m, sums := manifest(t, files), find(files, release.SumsName)
	detached, bundle, err := s.Sums(sums)
	if err != nil {
		t.Fatal(err)
	}
	provenance, err := s.Provenance(m, sums)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Result(m, sums, []string{verify.Structure, verify.Rules}, release.Sum([]byte("rules")), now)
	if err != nil {
		t.Fatal(err)
	}
	return append(files, release.File{Name: release.SignatureName, Data: detached}, release.File{Name: release.BundleName, Data: bundle},
		release.File{Name: ProvenanceName, Data: provenance}, release.File{Name: ResultName, Data: result})
}

func open(files []release.File, key release.Key, checks ...verify.Check) (*verify.Verified, *verify.Report) {
	return verify.Open(verify.Memory(files), verify.Trust{Now: now, Keys: []release.Key{key}}, checks...)
}

func TestSignedRelease(t *testing.T) {
	for _, kind := range []release.KeyType{release.ECDSAP256, release.Ed25519} {
		s, key := pair(t, kind)
		files := signed(t, s, 7)
		statements := &Statements{Keys: []release.Key{key}, Required: []string{ProvenanceName, ResultName}, Rules: release.Sum([]byte("rules"))}
		if v, report := open(files, key, statements); v == nil {
			t.Errorf("%s: a signed release is refused:\n%s", kind, report)
		}
		// The bundle names the key and holds the same signature.
		var bundle struct {
			MediaType            string `json:"mediaType"`
			VerificationMaterial struct {
				PublicKey struct {
					Hint string `json:"hint"`
				} `json:"publicKey"`
			} `json:"verificationMaterial"`
			MessageSignature struct {
				MessageDigest struct{ Digest []byte } `json:"messageDigest"`
				Signature     []byte                  `json:"signature"`
			} `json:"messageSignature"`
		}
		if err := json.Unmarshal(find(files, release.BundleName), &bundle); err != nil {
			t.Fatal(err)
		}
		detached, err := release.ParseSignature(find(files, release.SignatureName))
		if err != nil || !bytes.Equal(detached, bundle.MessageSignature.Signature) || bundle.MediaType != MediaType {
			t.Errorf("%s: the bundle is %+v, %v", kind, bundle, err)
		}
		hint, err := base64.StdEncoding.DecodeString(bundle.VerificationMaterial.PublicKey.Hint)
		if err != nil || len(hint) != 32 {
			t.Errorf("%s: the hint is %q", kind, bundle.VerificationMaterial.PublicKey.Hint)
		}
	}
}

func TestPrivateKeys(t *testing.T) {
	if _, _, err := Generate(release.ECDSAP256, nil); err == nil {
		t.Error("a private key is written without a password")
	}
	if _, _, err := Generate("rsa", []byte("x")); err == nil {
		t.Error("there is a key of type rsa")
	}
	private, public, err := Generate(release.ECDSAP256, []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	good := func() ([]byte, error) { return []byte(password), nil }
	for _, tt := range []struct {
		name string
		text []byte
		ask  func() ([]byte, error)
		want string
	}{
		{"wrong password", private, func() ([]byte, error) { return []byte("x"), nil }, "decrypted"},
		{"public key", public, good, "PUBLIC KEY"},
		{"two blocks", append(bytes.Clone(private), private...), good, "behind the PEM block"},
		{"nothing", nil, good, "no PEM block"},
		{"large", append(bytes.Clone(private), make([]byte, MaxPrivateKey)...), good, "more than"},
	} {
		if _, err := Load(tt.text, tt.ask); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Load = %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	if bytes.Contains(private, []byte("BEGIN PRIVATE KEY")) || bytes.Contains(private, []byte("BEGIN EC")) {
		t.Error("the private key is in the clear")
	}
}

// resigned is a statement changed and signed again: what is refused then is
// refused for what it says.
func resigned(t *testing.T, s *Signer, m *release.Manifest, sums []byte, kind string, predicate any) []byte {
	t.Helper()
	text, err := s.state(m, sums, kind, predicate)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStatementsRefuse(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	other, _ := pair(t, release.ECDSAP256)
	files := signed(t, s, 7)
	m, sums := manifest(t, files), find(files, release.SumsName)
	newer := signed(t, s, 8)
	swap := func(edit func(*release.Manifest)) *release.Manifest {
		c := *m
		c.Artifacts = append([]release.Artifact{}, m.Artifacts...)
		edit(&c)
		return &c
	}
	summaryWith := func(edit func(*summary)) summary {
		v := summary{TimeVerified: "2026-06-01T12:00:00Z", ResourceURI: "acme/7", VerificationResult: passed, VerifiedLevels: []string{}}
		v.Verifier.ID = builderID
		edit(&v)
		return v
	}
	line := find(files, ResultName)
	foreign, err := other.Result(m, sums, nil, "", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		text       []byte
		want       string
	}{
		{"another signer", ResultName, foreign, "not signed by a trusted key"},
		{"no JSON", ResultName, []byte("x\n"), "trusted key"},
		{"cut", ResultName, line[:len(line)/2], "trusted key"},
		{"two lines", ResultName, append(bytes.Clone(line), line...), "more than one line"},
		{"of another serial", ResultName, find(newer, ResultName), "another SHA256SUMS"},
		{"provenance of another serial", ProvenanceName, find(newer, ProvenanceName), "another SHA256SUMS"},
		{"one statement as the other", ProvenanceName, line, "predicate"},
		{"a file under another name", ResultName, resigned(t, s, swap(func(m *release.Manifest) {
			m.Artifacts[0].Name, m.Artifacts[1].Name = m.Artifacts[1].Name, m.Artifacts[0].Name
		}), sums, summaryType, summaryWith(func(*summary) {})), "another p/"},
		{"no artifacts", ResultName, resigned(t, s, swap(func(m *release.Manifest) { m.Artifacts = nil }), sums, summaryType, summaryWith(func(*summary) {})), "does not speak of"},
		{"a file twice", ResultName, resigned(t, s, swap(func(m *release.Manifest) { m.Artifacts = append(m.Artifacts, m.Artifacts[0]) }), sums, summaryType,
			summaryWith(func(*summary) {})), "stands twice"},
		{"a result that failed", ResultName, resigned(t, s, m, sums, summaryType, summaryWith(func(v *summary) { v.VerificationResult = "FAILED" })), "the result is"},
		{"another verifier", ResultName, resigned(t, s, m, sums, summaryType, summaryWith(func(v *summary) { v.Verifier.ID = "https://evil.test" })), "the verifier is"},
		{"another resource", ResultName, resigned(t, s, m, sums, summaryType, summaryWith(func(v *summary) { v.ResourceURI = "acme/8" })), "it is about acme/8"},
		{"a member too many", ResultName, resigned(t, s, m, sums, summaryType, map[string]any{"verificationResult": passed, "x": 1}), "unknown field"},
		{"another build", ProvenanceName, resigned(t, s, m, sums, provenanceType, provenance{}), "another kind of build"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := append([]release.File{}, files...)
			for i := range changed {
				if changed[i].Name == tt.file {
					changed[i].Data = tt.text
				}
			}
			v, report := open(changed, key, &Statements{Keys: []release.Key{key}})
			if v != nil || !strings.Contains(report.Verdict(), tt.want) {
				t.Errorf("want a refusal with %q:\n%s", tt.want, report)
			}
		})
	}
	// Other rules than those asked for, and a statement that is required.
	if v, _ := open(files, key, &Statements{Keys: []release.Key{key}, Rules: release.Sum([]byte("others"))}); v != nil {
		t.Error("a statement about other rules is accepted")
	}
	without := files[:len(files)-1]
	if v, report := open(without, key, &Statements{Keys: []release.Key{key}}); v == nil {
		t.Errorf("a release without a statement that nobody requires:\n%s", report)
	}
	if v, _ := open(without, key, &Statements{Keys: []release.Key{key}, Required: []string{ResultName}}); v != nil {
		t.Error("a required statement is missing, and the release is accepted")
	}
}
