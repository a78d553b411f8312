package sign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"encoding/asn1"
	"encoding/base64"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/obspc/obspc/verify/release"
)

// fixed signs a message by what one function makes of it, as LoadSigner's result
// does by its own scheme.
type fixed struct {
	signature.Signer
	sign func(message []byte) ([]byte, error)
}

func (f fixed) SignMessage(message io.Reader, _ ...signature.SignOption) ([]byte, error) {
	text, err := io.ReadAll(message)
	if err != nil {
		return nil, err
	}
	return f.sign(text)
}

// scheme is a way to sign with a key, and whether the signature holds in it.
type scheme struct {
	name   string
	kind   release.KeyType
	accept bool
	signer *Signer
	holds  func(message, signature []byte) bool
}

// schemes are all ways to sign with one key of each type that somebody may try: the
// one that design 7 says, and those of which it says nothing.
func schemes(t *testing.T) []scheme {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	hashed := func(h crypto.Hash, message []byte) []byte {
		w := h.New()
		w.Write(message)
		return w.Sum(nil)
	}
	p1363 := func(der []byte) []byte {
		var rs struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(der, &rs); err != nil {
			t.Fatal(err)
		}
		return append(rs.R.FillBytes(make([]byte, 32)), rs.S.FillBytes(make([]byte, 32))...)
	}
	fromP1363 := func(raw []byte) []byte {
		der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])})
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	overHash := func(h crypto.Hash) (func([]byte) ([]byte, error), func(message, signature []byte) bool) {
		return func(m []byte) ([]byte, error) { return ec.Sign(rand.Reader, hashed(h, m), h) },
			func(m, s []byte) bool { return ecdsa.VerifyASN1(&ec.PublicKey, hashed(h, m), s) }
	}
	named := func(kind release.KeyType, key crypto.Signer, sign func([]byte) ([]byte, error)) *Signer {
		k, err := publicKey(key)
		if err != nil || k.Type != kind {
			t.Fatalf("publicKey = %+v, %v", k, err)
		}
		return &Signer{k, fixed{sign: sign}}
	}
	var out []scheme
	for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		sign, holds := overHash(h)
		out = append(out, scheme{"ECDSA over " + h.String(), release.ECDSAP256, h == crypto.SHA256, named(release.ECDSAP256, ec, sign), holds})
	}
	sign, holds := overHash(crypto.SHA256)
	out = append(out, scheme{"ECDSA as r||s", release.ECDSAP256, false, named(release.ECDSAP256, ec, func(m []byte) ([]byte, error) {
		der, err := sign(m)
		return p1363(der), err
	}), func(m, s []byte) bool { return holds(m, fromP1363(s)) }})
	for _, o := range []struct {
		name    string
		accept  bool
		options ed25519.Options
	}{
		{"Ed25519", true, ed25519.Options{}},
		{"Ed25519ph", false, ed25519.Options{Hash: crypto.SHA512}},
		{"Ed25519ph with a context", false, ed25519.Options{Hash: crypto.SHA512, Context: "release"}},
		{"Ed25519ctx", false, ed25519.Options{Context: "release"}},
	} {
		input := func(m []byte) []byte {
			if o.options.Hash == 0 {
				return m
			}
			long := sha512.Sum512(m)
			return long[:]
		}
		out = append(out, scheme{o.name, release.Ed25519, o.accept,
			named(release.Ed25519, ed, func(m []byte) ([]byte, error) { return ed.Sign(nil, input(m), &o.options) }),
			func(m, s []byte) bool { return ed25519.VerifyWithOptions(public, input(m), s, &o.options) == nil }})
	}
	return out
}

// TestSchemes: a signature by the trusted key, which holds in the scheme it is of,
// counts in one scheme for each type of key, whether it stands alone, in a bundle or
// in an envelope. The twin of each refusal is the same release signed by the same
// key in that scheme.
func TestSchemes(t *testing.T) {
	for _, s := range schemes(t) {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			files := signed(t, s.signer, 7)
			sums := find(files, release.SumsName)
			made, err := release.ParseSignature(find(files, release.SignatureName))
			if err != nil || !s.holds(sums, made) {
				t.Fatalf("the signature does not hold in its own scheme: %v", err)
			}
			keys := []release.Key{s.signer.Key()}
			v, report := open(files, keys[0], &Bundle{Keys: keys}, &Statements{Keys: keys, Required: []string{ProvenanceName, ResultName}})
			if (v != nil) != s.accept {
				t.Fatalf("accepted: %v, want %v:\n%s", v != nil, s.accept, report)
			}
			for _, name := range []string{release.SignatureName, release.BundleName, ProvenanceName, ResultName} {
				if refused := strings.Contains(report.String(), name+": untrusted"); refused == s.accept {
					t.Errorf("%s refused: %v, want %v:\n%s", name, refused, !s.accept, report)
				}
			}
		})
	}
}

// TestBundleDigests: a bundle states a SHA-256, or, with Ed25519, none. That it states
// the right SHA-512 of the file does not count.
func TestBundleDigests(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	sums := []byte("the bytes of SHA256SUMS\n")
	_, text, err := s.Sums(sums)
	if err != nil {
		t.Fatal(err)
	}
	long := sha512.Sum512(sums)
	good := string(text)
	for _, tt := range []struct{ name, text, want string }{
		{"SHA-256", good, ""},
		{"SHA-512", strings.Replace(strings.Replace(good, "SHA2_256", "SHA2_512", 1), digestText(sums), base64.StdEncoding.EncodeToString(long[:]), 1), "its digest is of algorithm SHA2_512"},
		{"SHA-512 that is a SHA-256", strings.Replace(good, "SHA2_256", "SHA2_512", 1), "its digest is of algorithm SHA2_512"},
		{"SHA-256 that is a SHA-512", strings.Replace(good, digestText(sums), base64.StdEncoding.EncodeToString(long[:]), 1), "another file"},
	} {
		err := readKeyBundle([]byte(tt.text), sums, []release.Key{key})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
