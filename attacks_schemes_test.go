package obspc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"os"
	"slices"

	"github.com/obspc/obspc/verify/release"
)

// schemeAttacks are signatures by the key that the pins trust, over the right bytes,
// in another scheme than the one that counts for its type. The twin of each, in the
// scheme that counts, is verified first, by the same key and the same pins.
func schemeAttacks() []attack {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	short := func(m []byte) []byte { d := sha256.Sum256(m); return d[:] }
	long := func(m []byte) []byte { d := sha512.Sum512(m); return d[:] }
	whole := func(m []byte) []byte { return m }
	type scheme struct {
		input   func([]byte) []byte
		options crypto.SignerOpts
	}
	overSHA256 := scheme{short, crypto.SHA256}
	pure := scheme{whole, &ed25519.Options{}}
	by := func(key crypto.Signer, counts, other scheme) func(*attempt) {
		return func(a *attempt) {
			der, err := x509.MarshalPKIXPublicKey(key.Public())
			a.must(err)
			k, err := release.NewKey(der)
			a.must(err)
			pinned(func(p *release.Pins) { p.Keys = []release.Key{k} })(a)
			a.seal(next) // statements and the bundle are of another key, and go
			a.must(os.Remove(a.path(bundled)))
			put := func(s scheme) {
				made, err := key.Sign(rand.Reader, s.input(a.read(sumsFile)), s.options)
				a.must(err)
				a.put(detached, release.FormatSignature(made))
			}
			put(counts)
			twin := slices.DeleteFunc(slices.Clone(a.verify), func(w string) bool { return w == "--state" || w == "state" })
			if out := a.obspc(a.dir, twin...); out.code != 0 {
				a.t.Fatalf("the twin is refused: %s", out)
			}
			put(other)
		}
	}
	return []attack{
		{row: "8", name: "ECDSA over SHA-512", do: by(ec, overSHA256, scheme{long, crypto.SHA512}), file: detached, reason: "untrusted"},
		{row: "8", name: "Ed25519ph", do: by(ed, pure, scheme{long, &ed25519.Options{Hash: crypto.SHA512}}), file: detached, reason: "untrusted"},
		{row: "8", name: "Ed25519 with a context", do: by(ed, pure, scheme{whole, &ed25519.Options{Context: "release"}}), file: detached, reason: "untrusted"},
	}
}
