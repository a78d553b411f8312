package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature/dsse"

	"github.com/obspc/obspc/verify/release"
)

// altered is a signed entity with other log entries or times than its own.
type altered struct {
	sigverify.SignedEntity
	entries []*tlog.Entry
	times   [][]byte
}

func (a altered) TlogEntries() ([]*tlog.Entry, error) { return a.entries, nil }
func (a altered) Timestamps() ([][]byte, error)       { return a.times, nil }

// TestPublishedAttacks are faults that other verifiers of keyless signatures had:
// the certificate and the signature are right, and what should show that they were
// logged is something else.
func TestPublishedAttacks(t *testing.T) {
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	sums := []byte("the bytes of SHA256SUMS")
	own, err := virtual.Sign(workflow, issuer, sums)
	if err != nil {
		t.Fatal(err)
	}
	again, err := virtual.Sign(workflow, issuer, sums)
	if err != nil {
		t.Fatal(err)
	}
	other, err := virtual.Sign(workflow, issuer, []byte("other bytes"))
	if err != nil {
		t.Fatal(err)
	}
	attested, err := virtual.Attest(workflow, issuer, []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[],"predicateType":"x","predicate":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	entries := func(e *ca.TestEntity) []*tlog.Entry {
		out, err := e.TlogEntries()
		if err != nil || len(out) == 0 {
			t.Fatalf("TlogEntries = %v, %v", out, err)
		}
		return out
	}
	times := func(e *ca.TestEntity) [][]byte {
		out, err := e.Timestamps()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	logged := []sigverify.VerifierOption{sigverify.WithTransparencyLog(1), sigverify.WithObserverTimestamps(1)}
	twoLogs := []sigverify.VerifierOption{sigverify.WithTransparencyLog(2), sigverify.WithObserverTimestamps(1)}
	good := Identity{Subject: workflow, Issuer: issuer, root: virtual, demands: logged}
	if err := good.hold(sums, altered{own, entries(own), times(own)}); err != nil {
		t.Fatalf("the entity unaltered is refused: %v", err)
	}
	for _, tt := range []struct {
		name    string
		demands []sigverify.VerifierOption
		entity  sigverify.SignedEntity
	}{
		{"entry of another file (CVE-2022-36056)", logged, altered{own, entries(other), times(own)}},
		{"entry of another signature over the same file (CVE-2026-22703)", logged, altered{own, entries(again), times(own)}},
		{"entry of an attestation (CVE-2024-53267)", logged, altered{own, entries(attested), times(own)}},
		{"own entry and another's", logged, altered{own, append(entries(own), entries(other)...), times(own)}},
		{"no entry", logged, altered{own, nil, times(own)}},
		{"no time but the log's, which was not asked", []sigverify.VerifierOption{sigverify.WithTransparencyLog(1), sigverify.WithSignedTimestamps(1)}, altered{own, entries(own), nil}},
		{"one entry twice for two (GHSA-9vcr-p3rj-q5q6)", twoLogs, altered{own, append(entries(own), entries(own)...), times(own)}},
		{"one log for two", twoLogs, altered{own, entries(own), times(own)}},
	} {
		identity := good
		identity.demands = tt.demands
		if err := identity.hold(sums, tt.entity); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

// enveloped signs any payload under any type, as whoever holds the key could.
func enveloped(t *testing.T, s *Signer, kind string, payload []byte) []byte {
	t.Helper()
	text, err := dsse.WrapSigner(s.signer, kind).SignMessage(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}

// TestEnvelopesRefuse: the signature of each envelope is right, and what was signed
// is not a statement about this release.
func TestEnvelopesRefuse(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	files := signed(t, s, 7)
	m, sums := manifest(t, files), find(files, release.SumsName)
	payloadOf := func(name string) []byte {
		var envelope struct{ Payload []byte }
		if err := json.Unmarshal(find(files, name), &envelope); err != nil {
			t.Fatal(err)
		}
		return envelope.Payload
	}
	good := payloadOf(ResultName)
	subjectsOf := func(list []subject) []byte {
		var st statement
		if err := json.Unmarshal(good, &st); err != nil {
			t.Fatal(err)
		}
		st.Subject = list
		text, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var many []subject
	for i := range 2000 {
		many = append(many, subject{fmt.Sprintf("p/%d", i), digests{release.Sum(nil)}})
	}
	renamed := subjects(m, sums)
	renamed[1].Name = "p/other.json"
	foreign := subjects(m, sums)
	foreign[1].Digest = digests{release.Sum([]byte("foreign"))}
	digestTwice := strings.Replace(string(good), `"digest":{"sha256":`, `"digest":{"sha512":"00","sha256":`, 1)
	for _, tt := range []struct {
		name, kind string
		payload    []byte
	}{
		{"another payload type", "text/plain", good},
		{"no payload type", "", good},
		{"payload is no JSON (CVE-2026-39395)", payloadType, []byte("x")},
		{"payload is empty", payloadType, nil},
		{"payload is another JSON", payloadType, []byte("[]")},
		{"payload cut", payloadType, good[:len(good)/2]},
		{"something behind the payload", payloadType, append(bytes.Clone(good), "{}"...)},
		{"no subject", payloadType, subjectsOf([]subject{})},
		{"two thousand subjects (GHSA-cq38-jh5f-37mq)", payloadType, subjectsOf(many)},
		{"subject by another name", payloadType, subjectsOf(renamed)},
		{"subject with another digest (CVE-2026-31830)", payloadType, subjectsOf(foreign)},
		{"a digest of another kind", payloadType, []byte(digestTwice)},
		{"deep", payloadType, []byte(strings.Repeat(`{"subject":[`, 5000))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := append([]release.File{}, files...)
			for i := range changed {
				if changed[i].Name == ResultName {
					changed[i].Data = enveloped(t, s, tt.kind, tt.payload)
				}
			}
			v, report := open(changed, key, &Statements{Keys: []release.Key{key}})
			if v != nil || !strings.Contains(report.Verdict(), ResultName+": untrusted") {
				t.Errorf("want a refusal of the statement:\n%s", report)
			}
		})
	}
	changed := append([]release.File{}, files...)
	for i := range changed {
		if changed[i].Name == ResultName {
			changed[i].Data = enveloped(t, s, payloadType, good)
		}
	}
	if v, report := open(changed, key, &Statements{Keys: []release.Key{key}}); v == nil {
		t.Errorf("the same payload, signed again, is refused:\n%s", report)
	}
}

// TestKeyBundles: a bundle in the release says what the signature says, or the
// release is refused; what it says of its key decides nothing.
func TestKeyBundles(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	ed, edKey := pair(t, release.Ed25519)
	files := signed(t, s, 7)
	sums := find(files, release.SumsName)
	good := string(find(files, release.BundleName))
	bundleOf := func(by *Signer, message []byte) string {
		_, bundle, err := by.Sums(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(bundle)
	}
	for _, k := range []struct {
		by  *Signer
		key release.Key
	}{{s, key}, {ed, edKey}} {
		if err := readKeyBundle([]byte(bundleOf(k.by, sums)), sums, []release.Key{key, edKey}); err != nil {
			t.Errorf("%s: %v", k.key.Type, err)
		}
	}
	withHint := func(hint string) string { return strings.Replace(good, hintOf(key), hint, 1) }
	for _, tt := range []struct{ name, text, want string }{
		{"of another key", bundleOf(ed, sums), "none of the keys"},
		{"of another key that it names ours", strings.Replace(bundleOf(ed, sums), hintOf(edKey), hintOf(key), 1), "none of the keys"},
		{"that names another key", withHint(hintOf(edKey)), "names another key"},
		{"over another file", bundleOf(s, []byte("other")), "another file"},
		{"over another file, digest mended", strings.Replace(bundleOf(s, []byte("other")), digestText([]byte("other")), digestText(sums), 1), "none of the keys"},
		{"statement", `{"mediaType":"` + MediaType + `","verificationMaterial":{"publicKey":{"hint":"x"}},"dsseEnvelope":{"payload":"e30=","payloadType":"x","signatures":[{"sig":"AA=="}]}}`, ""},
		{"nothing", "{}", ""},
	} {
		changed := append([]release.File{}, files...)
		for i := range changed {
			if changed[i].Name == release.BundleName {
				changed[i].Data = []byte(tt.text)
			}
		}
		v, report := open(changed, key, &Bundle{Keys: []release.Key{key}})
		if v != nil || !strings.Contains(report.Verdict(), release.BundleName+": untrusted") || !strings.Contains(report.Verdict(), tt.want) {
			t.Errorf("%s: want a refusal with %q:\n%s", tt.name, tt.want, report)
		}
	}
	for _, twin := range []string{good, withHint("")} {
		if err := readKeyBundle([]byte(twin), sums, []release.Key{key}); err != nil {
			t.Errorf("the twin is refused: %v\n%s", err, twin)
		}
	}
	if v, report := open(files[:len(files)-3], key, &Bundle{Keys: []release.Key{key}}); v == nil {
		t.Errorf("a release without a bundle is refused:\n%s", report)
	}
}

// digestText is the SHA-256 of data as a bundle has it.
func digestText(data []byte) string {
	d := release.Sum(data)
	raw := make([]byte, 32)
	if _, err := fmt.Sscanf(string(d), "%x", &raw); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
