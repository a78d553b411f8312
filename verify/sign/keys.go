package sign

import (
	"crypto"
	"crypto/x509"
	"errors"
	"io"

	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/obspc/obspc/verify/release"
)

// keyVerifier is a trusted key as Sigstore's libraries take one. It holds envelopes
// to what holds for SHA256SUMS.sig: the libraries' own verifiers take ECDSA as r‖s
// as well, and leave the hash to whoever loads them.
type keyVerifier struct{ key release.Key }

// VerifySignature is release.Key.Verifies.
func (v keyVerifier) VerifySignature(sig, message io.Reader, _ ...signature.VerifyOption) error {
	made, err := io.ReadAll(sig)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(message)
	if err != nil {
		return err
	}
	if !v.key.Verifies(text, made) {
		return errors.New("it is no signature of this key over the payload")
	}
	return nil
}

// PublicKey is the key itself.
func (v keyVerifier) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return x509.ParsePKIXPublicKey([]byte(v.key.DER))
}
