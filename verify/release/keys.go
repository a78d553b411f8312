package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
)

// KeyType is a kind of key together with its curve.
type KeyType string

// The key types that sign releases.
const (
	ECDSAP256 KeyType = "ecdsa-p256"
	Ed25519   KeyType = "ed25519"
)

// MaxKeyFile is how many bytes of a public key file are read.
const MaxKeyFile = 16 << 10

// Key is a public key that is trusted to sign, with its type, which is never taken
// from a signature. DER is its SubjectPublicKeyInfo (RFC 5280) as a string, so that
// keys compare with ==. Keys come from NewKey and ParseKey, which hold DER to Type.
type Key struct {
	Type KeyType
	DER  string
}

// NewKey is the key whose SubjectPublicKeyInfo is der. Another type of key or
// curve, and an encoding that is not the one of DER, are errors.
func NewKey(der []byte) (Key, error) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return Key{}, fmt.Errorf("the key is no public key in DER: %w", err)
	}
	var k Key
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return Key{}, fmt.Errorf("the key is ECDSA on %s; releases are signed with ECDSA P-256 or Ed25519", public.Curve.Params().Name)
		}
		k = Key{ECDSAP256, string(der)}
	case ed25519.PublicKey:
		k = Key{Ed25519, string(der)}
	default:
		return Key{}, fmt.Errorf("the key is of another type (%T); releases are signed with ECDSA P-256 or Ed25519", public)
	}
	if again, err := x509.MarshalPKIXPublicKey(public); err != nil || !bytes.Equal(again, der) {
		return Key{}, fmt.Errorf("the key is not written as DER prescribes")
	}
	return k, nil
}

// ParseKey reads a public key file: one PEM block "PUBLIC KEY" (RFC 7468) and
// nothing else. A second block would be a second key of which readers might take
// either.
func ParseKey(text []byte) (Key, error) {
	if len(text) > MaxKeyFile {
		return Key{}, fmt.Errorf("the file has more than %d bytes, a public key has about 200", MaxKeyFile)
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return Key{}, fmt.Errorf("the file holds no PEM block; a public key begins with -----BEGIN PUBLIC KEY-----")
	case strings.Contains(block.Type, "PRIVATE"):
		return Key{}, fmt.Errorf("the file holds a private key (%s); the public one is wanted here", block.Type)
	case block.Type != "PUBLIC KEY":
		return Key{}, fmt.Errorf("the file holds a PEM block %q, want \"PUBLIC KEY\"", block.Type)
	case len(block.Headers) > 0:
		return Key{}, fmt.Errorf("the PEM block has headers; a public key has none")
	case len(bytes.TrimSpace(rest)) > 0:
		return Key{}, fmt.Errorf("something stands behind the PEM block; a public key file holds one block and nothing else")
	case !bytes.HasPrefix(text, []byte("-----BEGIN ")):
		return Key{}, fmt.Errorf("something stands before the PEM block; a public key file holds one block and nothing else")
	}
	return NewKey(block.Bytes)
}

// PEM is the key as a public key file holds it.
func (k Key) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte(k.DER)})
}

// ID is the key's name: the SHA-256 of its SubjectPublicKeyInfo.
func (k Key) ID() Digest { return Sum([]byte(k.DER)) }

// Base64 is the key as a pins file states it.
func (k Key) Base64() string { return base64.StdEncoding.EncodeToString([]byte(k.DER)) }

// Verifies reports whether signature is this key's over message: for ECDSA the
// DER form over the SHA-256 of message (not r||s, which other readers take as
// well), for Ed25519 the pure form.
func (k Key) Verifies(message, signature []byte) bool {
	public, err := x509.ParsePKIXPublicKey([]byte(k.DER))
	if err != nil {
		return false
	}
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		digest := sha256.Sum256(message)
		return k.Type == ECDSAP256 && public.Curve == elliptic.P256() && ecdsa.VerifyASN1(public, digest[:], signature)
	case ed25519.PublicKey:
		return k.Type == Ed25519 && ed25519.Verify(public, message, signature)
	}
	return false
}

// parseKey reads a key as a pins file states it.
func parseKey(kind, text string) (Key, error) {
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, fmt.Errorf("the key is not in base64: %w", err)
	}
	k, err := NewKey(der)
	if err == nil && k.Type != KeyType(kind) {
		err = fmt.Errorf("the key is of type %s, the line says %s", k.Type, kind)
	}
	return k, err
}

// MaxSignatureBytes bounds a decoded signature; a DER signature on P-256 has at
// most 72 bytes, one of Ed25519 has 64.
const MaxSignatureBytes = 128

// ParseSignature reads SHA256SUMS.sig: the base64 of one signature on one line,
// with or without the newline at its end, and nothing else. cosign sign-blob
// writes the same.
func ParseSignature(text []byte) ([]byte, error) {
	line := bytes.TrimSuffix(text, []byte("\n"))
	if len(line) > base64.StdEncoding.EncodedLen(MaxSignatureBytes) {
		return nil, fmt.Errorf("it has %d bytes, a signature in base64 has about 96", len(text))
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	if bytes.ContainsAny(line, "\r\n") { // the decoder skips these
		return nil, fmt.Errorf("it has more than one line; one signature in base64 is wanted")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(string(line))
	if err != nil {
		return nil, fmt.Errorf("it is not a signature in base64: %w", err)
	}
	return signature, nil
}

// FormatSignature is SHA256SUMS.sig of a signature.
func FormatSignature(signature []byte) []byte {
	return []byte(base64.StdEncoding.EncodeToString(signature) + "\n")
}
