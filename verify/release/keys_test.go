package release

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
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
	sha512ECDSA, ph, ctx := otherHashes(t, message, ec, edPrivate)
	for _, tt := range []struct {
		name      string
		key       Key
		signature []byte
	}{
		{"over SHA-512", k, sha512ECDSA},
		{"Ed25519ph", ed, ph},
		{"Ed25519ctx", ed, ctx},
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

// otherHashes are signatures over message by these keys that hold in the schemes
// they are of: ECDSA over the SHA-512, Ed25519ph and Ed25519ctx (RFC 8032, 5.1).
// Each is held to its own scheme first, so that whoever refuses it refuses the
// scheme and not a signature that is broken anyway.
func otherHashes(t *testing.T, message []byte, ec *ecdsa.PrivateKey, ed ed25519.PrivateKey) (sha512ECDSA, ph, ctx []byte) {
	t.Helper()
	long := sha512.Sum512(message)
	public := ed.Public().(ed25519.PublicKey)
	inContext := &ed25519.Options{Context: "release"}
	prehashed := &ed25519.Options{Hash: crypto.SHA512}
	var errs [3]error
	sha512ECDSA, errs[0] = ec.Sign(rand.Reader, long[:], crypto.SHA512)
	ph, errs[1] = ed.Sign(nil, long[:], prehashed)
	ctx, errs[2] = ed.Sign(nil, message, inContext)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if !ecdsa.VerifyASN1(&ec.PublicKey, long[:], sha512ECDSA) {
		t.Fatal("ECDSA over SHA-512 does not hold in its own scheme")
	}
	if err := ed25519.VerifyWithOptions(public, long[:], ph, prehashed); err != nil {
		t.Fatalf("Ed25519ph does not hold in its own scheme: %v", err)
	}
	if err := ed25519.VerifyWithOptions(public, message, ctx, inContext); err != nil {
		t.Fatalf("Ed25519ctx does not hold in its own scheme: %v", err)
	}
	return sha512ECDSA, ph, ctx
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
