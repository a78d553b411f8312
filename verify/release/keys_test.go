package release

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	good := string(mustKey(t, testKey).PEM())
	k, err := ParseKey([]byte(good))
	if err != nil || k != mustKey(t, testKey) || string(k.ID()) != testKeyID() || k.Base64() != testKey {
		t.Fatalf("ParseKey = %+v, %v", k, err)
	}
	der := func(public any) []byte {
		d, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	block := func(kind string, d []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: d}))
	}
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	private, _ := x509.MarshalPKCS8PrivateKey(p256)
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "no PEM block"},
		{"two keys", good + block("PUBLIC KEY", der(&p256.PublicKey)), "behind the PEM block"},
		{"text before", "# ours\n" + good, "before the PEM block"},
		{"text behind", good + "x", "behind the PEM block"},
		{"private key", block("PRIVATE KEY", private), "private key"},
		{"encrypted key", block("ENCRYPTED SIGSTORE PRIVATE KEY", private), "private key"},
		{"certificate", block("CERTIFICATE", der(&p256.PublicKey)), "CERTIFICATE"},
		{"headers", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Headers: map[string]string{"a": "b"}, Bytes: der(&p256.PublicKey)})), "headers"},
		{"another curve", block("PUBLIC KEY", der(&p384.PublicKey)), "P-384"},
		{"RSA", block("PUBLIC KEY", der(&rsaKey.PublicKey)), "another type"},
		{"trailing bytes", block("PUBLIC KEY", append(der(&p256.PublicKey), 0)), "no public key"},
		{"large", good + strings.Repeat("\n", MaxKeyFile), "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseKey([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseKey = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A signature counts in one form, over the whole message, by the key's own type.
func TestVerifies(t *testing.T) {
	message := []byte("the bytes of SHA256SUMS")
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	digest := sha256.Sum256(message)
	der, _ := ec.Sign(rand.Reader, digest[:], crypto.SHA256)
	spki, _ := x509.MarshalPKIXPublicKey(&ec.PublicKey)
	k, err := NewKey(spki)
	if err != nil || !k.Verifies(message, der) {
		t.Fatalf("the good signature is refused: %v", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		t.Fatal(err)
	}
	p1363 := append(rs.R.FillBytes(make([]byte, 32)), rs.S.FillBytes(make([]byte, 32))...)
	raw, _ := ecdsa.SignASN1(rand.Reader, ec, message) // over the message itself, not its digest
	edPublic, edPrivate, _ := ed25519.GenerateKey(rand.Reader)
	edSPKI, _ := x509.MarshalPKIXPublicKey(edPublic)
	ed, err := NewKey(edSPKI)
	if err != nil || !ed.Verifies(message, ed25519.Sign(edPrivate, message)) {
		t.Fatalf("the good Ed25519 signature is refused: %v", err)
	}
	prehashed, _ := edPrivate.Sign(rand.Reader, digest[:], &ed25519.Options{Hash: crypto.Hash(0)})
	for _, tt := range []struct {
		name      string
		key       Key
		signature []byte
	}{
		{"none", k, nil},
		{"cut", k, der[:len(der)-1]},
		{"trailing byte", k, append(append([]byte{}, der...), 0)},
		{"two", k, append(append([]byte{}, der...), der...)},
		{"r||s", k, p1363},
		{"over the message itself", k, raw},
		{"of Ed25519 under ECDSA", k, ed25519.Sign(edPrivate, message)},
		{"of ECDSA under Ed25519", ed, der},
		{"Ed25519 over the digest", ed, prehashed},
		{"the type says otherwise", Key{Ed25519, k.DER}, der},
		{"no key", Key{}, der},
	} {
		if tt.key.Verifies(message, tt.signature) {
			t.Errorf("%s: accepted", tt.name)
		}
	}
	if k.Verifies([]byte("other bytes"), der) {
		t.Error("accepted over another message")
	}
}

func TestParseSignature(t *testing.T) {
	signature := []byte(strings.Repeat("s", 71))
	text := base64.StdEncoding.EncodeToString(signature)
	for _, good := range []string{text, text + "\n", string(FormatSignature(signature))} {
		if got, err := ParseSignature([]byte(good)); err != nil || string(got) != string(signature) {
			t.Errorf("ParseSignature(%q) = %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "\n", text + "\n\n", text + "\r\n", text[:40] + "\n" + text[40:], text + " ", text + text, "!" + text[1:],
		strings.TrimRight(text, "="), string(signature), strings.Repeat("A", 1<<20)} {
		if _, err := ParseSignature([]byte(bad)); err == nil {
			t.Errorf("ParseSignature(%.60q) is accepted", bad)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n" + testKey + "\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := ParseKey(data)
		if err != nil {
			return
		}
		if again, err := ParseKey(k.PEM()); err != nil || again != k {
			t.Errorf("%q is not read back: %v", k.PEM(), err)
		}
	})
}

func FuzzParseSignature(f *testing.F) {
	f.Add([]byte("MEUCIQ==\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSignature(data)
		if err != nil {
			return
		}
		if again, err := ParseSignature(FormatSignature(s)); err != nil || string(again) != string(s) {
			t.Errorf("%q is not read back: %v", s, err)
		}
	})
}
