package sign

import (
	"crypto"
	"crypto/x509"

	"github.com/obspc/obspc/verify/release"
)

// hashOf is the digest that ECDSA signs; Ed25519 has none of its own choice.
const hashOf = crypto.SHA256

// publicOf is a trusted key as Sigstore's libraries take it.
func publicOf(k release.Key) (crypto.PublicKey, error) { return x509.ParsePKIXPublicKey([]byte(k.DER)) }
