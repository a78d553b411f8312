package sign

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/obspc/obspc/verify/release"
)

// vectors are what cosign has made, and said of what obspc made. scripts/cosign-vectors
// makes them again.
const vectors = "testdata/cosign"

// vectorPassword encrypts the private keys there, which sign nothing else.
const vectorPassword = "vectors"

// vectorKeys are the pairs there, by who made them and their type.
var vectorKeys = []string{"cosign-p256", "cosign-ed25519", "obspc-p256", "obspc-ed25519"}

func vector(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectors, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func vectorKey(t *testing.T, name string) release.Key {
	t.Helper()
	key, err := release.ParseKey(vector(t, name+".pub"))
	if err != nil {
		t.Fatalf("%s.pub: %v", name, err)
	}
	return key
}

// flipped is data with one bit of each byte changed, one after another.
func flipped(data []byte, try func(changed []byte, at int)) {
	for i := range data {
		c := bytes.Clone(data)
		c[i] ^= 1
		try(c, i)
	}
}

// TestCosignKeys: private keys that cosign has encrypted are read, and so are ours of
// the day when cosign read them.
func TestCosignKeys(t *testing.T) {
	for _, name := range vectorKeys {
		s, err := Load(vector(t, name+".key"), func() ([]byte, error) { return []byte(vectorPassword), nil })
		if err != nil || s.Key() != vectorKey(t, name) {
			t.Errorf("%s.key: %v", name, err)
		}
		if _, err := Load(vector(t, name+".key"), func() ([]byte, error) { return []byte("vector"), nil }); err == nil {
			t.Errorf("%s.key is read with another password", name)
		}
	}
}

// TestCosignSignatures: what cosign and obspc have signed with each key, alone and in a
// bundle, holds over these bytes by that key, and by no other, over no other bytes,
// and with no bit changed.
func TestCosignSignatures(t *testing.T) {
	sums := vector(t, release.SumsName)
	for _, by := range []string{"by-cosign/", "by-obspc/"} {
		for _, name := range vectorKeys {
			key := vectorKey(t, name)
			made, err := release.ParseSignature(vector(t, by+name+"."+release.SignatureName))
			if err != nil || !key.Verifies(sums, made) {
				t.Errorf("%s%s: the signature does not hold: %v", by, name, err)
				continue
			}
			flipped(made, func(changed []byte, at int) {
				if key.Verifies(sums, changed) {
					t.Errorf("%s%s: the signature holds with byte %d changed", by, name, at)
				}
			})
			bundle := vector(t, by+name+"."+release.BundleName)
			if err := readKeyBundle(bundle, sums, []release.Key{key}); err != nil {
				t.Errorf("%s%s: the bundle: %v", by, name, err)
			}
			flipped(sums, func(changed []byte, at int) {
				if key.Verifies(changed, made) || at < 64 && readKeyBundle(bundle, changed, []release.Key{key}) == nil {
					t.Errorf("%s%s: holds over the file with byte %d changed", by, name, at)
				}
			})
			flipped(bundleSignature(t, bundle), func(changed []byte, at int) {
				text := bytes.Replace(bundle, encoded(bundleSignature(t, bundle)), encoded(changed), 1)
				if bytes.Equal(text, bundle) || readKeyBundle(text, sums, []release.Key{key}) == nil {
					t.Errorf("%s%s: the bundle holds with byte %d of its signature changed", by, name, at)
				}
			})
			for _, other := range vectorKeys {
				if k := vectorKey(t, other); other != name && (k.Verifies(sums, made) || readKeyBundle(bundle, sums, []release.Key{k}) == nil) {
					t.Errorf("%s%s holds by %s", by, name, other)
				}
			}
		}
	}
}

func encoded(data []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(data)) }

func bundleSignature(t *testing.T, text []byte) []byte {
	t.Helper()
	b, err := parseBundle(text)
	if err != nil {
		t.Fatal(err)
	}
	return b.GetMessageSignature().GetSignature()
}

// envelope is one of DSSE with one signature.
type envelope struct {
	Payload     []byte
	PayloadType string
	Signatures  []struct{ Sig []byte }
}

// opened is the envelope as JSON has it, and what its signature is over (DSSE v1,
// PAE).
func opened(t *testing.T, text []byte) (e envelope, signed []byte) {
	t.Helper()
	if err := json.Unmarshal(text, &e); err != nil || len(e.Signatures) != 1 {
		t.Fatalf("%.100q: %v", text, err)
	}
	return e, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// TestCosignStatements: envelopes that cosign and obspc have signed open, with the
// payload that was signed, by that key and by no other, and with no bit changed.
// Of Ed25519 keys cosign makes Ed25519ph, which does not count here, though it holds.
func TestCosignStatements(t *testing.T) {
	for _, name := range vectorKeys {
		// A bundle holds the same envelope as a member.
		var bundled struct {
			Envelope json.RawMessage `json:"dsseEnvelope"`
		}
		if err := json.Unmarshal(vector(t, "by-cosign/"+name+".statement.sigstore.json"), &bundled); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{vector(t, "by-cosign/"+name+".statement.intoto.jsonl"), bundled.Envelope} {
			if key := vectorKey(t, name); key.Type == release.Ed25519 {
				refusesPrehashed(t, name, key, text)
			} else {
				opensUnchanged(t, name, text)
			}
		}
		for _, file := range []string{ProvenanceName, ResultName} {
			opensUnchanged(t, name, vector(t, "by-obspc/"+name+"."+file))
		}
	}
}

func refusesPrehashed(t *testing.T, name string, key release.Key, text []byte) {
	t.Helper()
	e, signed := opened(t, text)
	public, err := x509.ParsePKIXPublicKey([]byte(key.DER))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha512.Sum512(signed)
	if err := ed25519.VerifyWithOptions(public.(ed25519.PublicKey), digest[:], e.Signatures[0].Sig, &ed25519.Options{Hash: crypto.SHA512}); err != nil {
		t.Errorf("%s: cosign's envelope is not signed as Ed25519ph: %v", name, err)
	}
	if payload, err := openEnvelope([]release.Key{key}, text); err == nil {
		t.Errorf("%s: an envelope signed as Ed25519ph opens: %q", name, payload)
	}
}

func opensUnchanged(t *testing.T, name string, text []byte) {
	t.Helper()
	key := vectorKey(t, name)
	payload, err := openEnvelope([]release.Key{key}, text)
	if err != nil || !strings.Contains(string(payload), string(release.Sum(vector(t, release.SumsName)))) {
		t.Errorf("%s: %.100q: %q, %v", name, text, payload, err)
		return
	}
	for _, other := range vectorKeys {
		if _, err := openEnvelope([]release.Key{vectorKey(t, other)}, text); (err == nil) != (other == name) {
			t.Errorf("%s: by %s: %v", name, other, err)
		}
	}
	e, _ := opened(t, text)
	for _, part := range [][]byte{e.Payload, e.Signatures[0].Sig} {
		flipped(part, func(changed []byte, at int) {
			text := bytes.Replace(text, encoded(part), encoded(changed), 1)
			if _, err := openEnvelope([]release.Key{key}, text); err == nil {
				t.Errorf("%s: %.20q opens with byte %d changed", name, part, at)
			}
		})
	}
}

var cosignLine = regexp.MustCompile(`(?m)^(?:\$ )?(cosign .*)$`)

// TestCosignLinesOfThePages: each command of cosign in a page was run as it stands
// there, said yes to what obspc has signed and no to a changed file.
func TestCosignLinesOfThePages(t *testing.T) {
	told := string(vector(t, "verified.txt"))
	found := 0
	for _, page := range []string{"cli.md", "verify-release.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range cosignLine.FindAllStringSubmatch(string(text), -1) {
			found++
			for _, answer := range []string{"\nyes  ", "\nno   "} {
				if !strings.Contains(told, answer+m[1]+"\n") {
					t.Errorf("docs/%s has %q, of which verified.txt has no answer%q", page, m[1], answer)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d lines of cosign in the pages, want at least 3", found)
	}
	version, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^# cosign v(\S+), `).FindStringSubmatch(told)
	if m == nil || !strings.Contains(string(version), "cosign ("+m[1]+")") {
		t.Errorf("docs/cli.md names another cosign than verified.txt, %q", m)
	}
}
