package sign

import (
	"encoding/base64"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// mostMemory is what reading one file may allocate in all, in bytes: more than what
// it holds at any time.
const mostMemory = 64 << 20

// Hostile bundles, statements and private keys of the size that is still read cost
// little memory and time.
func TestReadersAreBounded(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	keys := []release.Key{key, key, key}
	sums := []byte("the bytes of SHA256SUMS")
	fill := func(head, unit, tail string) []byte {
		return []byte(head + strings.Repeat(unit, (release.MaxSignature-len(head)-len(tail))/len(unit)) + tail)
	}
	const bundleHead = `{"mediaType":"` + MediaType + `","verificationMaterial":{"publicKey":{"hint":""},"tlogEntries":[{}`
	const envelopeHead = `{"payloadType":"` + payloadType + `","payload":"e30=","signatures":[{"sig":"AA=="}`
	keyBundle := func(text []byte) func() error { return func() error { return readKeyBundle(text, sums, keys) } }
	envelope := func(text []byte) func() error { return func() error { _, err := openEnvelope(keys, text); return err } }
	payload := func(text []byte) func() error {
		return func() error { var st statement; return strict(text, &st) }
	}
	private := func(text []byte) func() error {
		return func() error { _, err := Load(text, func() ([]byte, error) { return []byte("x"), nil }); return err }
	}
	costly := base64.StdEncoding.EncodeToString([]byte(`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1},"salt":"AAAA"},"cipher":{"name":"nacl/secretbox","nonce":"AAAA"},"ciphertext":"AAAA"}`))
	for _, tt := range []struct {
		name string
		read func() error
	}{
		{"bundle: deep", keyBundle(fill(`{"mediaType":`, "[", ""))},
		{"bundle: deep objects", keyBundle(fill("", `{"verificationMaterial":`, ""))},
		{"bundle: log entries", keyBundle(fill(bundleHead, ",{}", "]}}"))},
		{"bundle: certificates", keyBundle(fill(`{"mediaType":"`+MediaType+`","verificationMaterial":{"x509CertificateChain":{"certificates":[{}`, ",{}", "]}}}"))},
		{"bundle: a long signature", keyBundle(fill(`{"mediaType":"`+MediaType+`","verificationMaterial":{"publicKey":{}},"messageSignature":{"signature":"`, "AAAA", `"}}`))},
		{"bundle: zeros", keyBundle(make([]byte, release.MaxSignature))},
		{"envelope: signatures", envelope(fill(envelopeHead, `,{"sig":"AA=="}`, "]}"))},
		{"envelope: long signatures", envelope(fill(envelopeHead, `,{"sig":"`+strings.Repeat("AAAA", 250)+`"}`, "]}"))},
		{"envelope: empty signatures", envelope(fill(`{"payloadType":"`+payloadType+`","payload":"","signatures":[{}`, ",{}", "]}"))},
		{"envelope: deep", envelope(fill(`{"payload":`, "[", ""))},
		{"envelope: a long payload", envelope(fill(`{"payloadType":"`+payloadType+`","payload":"`, "AAAA", `","signatures":[{"sig":"AA=="}]}`))},
		{"statement: subjects", payload(fill(`{"_type":"x","subject":[{}`, ",{}", `],"predicateType":"x","predicate":{}}`))},
		{"statement: deep", payload(fill(`{"predicate":`, "[", ""))},
		{"private key: too large", private(make([]byte, MaxPrivateKey+1))},
		{"private key: a costly password", private([]byte("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n" + costly + "\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := tt.read()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("it is accepted")
			}
			if most := after.TotalAlloc - before.TotalAlloc; took > 5*time.Second || most > mostMemory {
				t.Errorf("refused after %v with %d bytes allocated, want at most %d: %.200v", took, most, mostMemory, err)
			}
		})
	}
	// The largest statement that is written is read.
	m := manifest(t, sample(t, 7))
	for len(m.Artifacts) < release.MaxFiles {
		a := m.Artifacts[0]
		a.Name = "p/" + strings.Repeat("x", 60) + string(rune('a'+len(m.Artifacts)%26)) + string(release.Sum([]byte{byte(len(m.Artifacts)), byte(len(m.Artifacts) >> 8)}))[:16]
		m.Artifacts = append(m.Artifacts, a)
	}
	text, err := s.Provenance(m, sums)
	if err != nil || len(text) > release.MaxSignature {
		t.Fatalf("Provenance of %d artifacts has %d bytes, %v", len(m.Artifacts), len(text), err)
	}
	if _, err := openEnvelope(keys, text); err != nil {
		t.Errorf("the largest statement is refused: %v", err)
	}
}

// FuzzBundles: what is read from outside never crashes or hangs, and is no
// signature of a key that signed nothing.
func FuzzBundles(f *testing.F) {
	private, public, err := Generate(release.Ed25519, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	key, err := release.ParseKey(public)
	if err != nil {
		f.Fatal(err)
	}
	s, err := Load(private, func() ([]byte, error) { return []byte("x"), nil })
	if err != nil {
		f.Fatal(err)
	}
	_, bundle, err := s.Sums([]byte("sums"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bundle)
	f.Add([]byte(`{"mediaType":"` + MediaType + `","verificationMaterial":{"certificate":{"rawBytes":""}},"messageSignature":{"signature":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parseBundle(text)
		if err != nil || b.GetVerificationMaterial().GetPublicKey() == nil {
			return
		}
		if err := readKeyBundle(text, []byte("other sums"), []release.Key{key}); err == nil {
			t.Errorf("%q is a signature over other bytes", text)
		}
	})
}

// FuzzPrivateKeys: a private key file from anywhere never crashes or hangs.
func FuzzPrivateKeys(f *testing.F) {
	private, public, err := Generate(release.Ed25519, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(private)
	f.Add(public)
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := Load(text, func() ([]byte, error) { return []byte("y"), nil }); err == nil {
			t.Errorf("%q is decrypted to %v with another password", text, s.Key().ID())
		}
	})
}
