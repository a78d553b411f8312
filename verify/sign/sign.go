// Package sign makes and checks signatures over releases with Sigstore's
// libraries, and is the only importer of them: key pairs in cosign's file format,
// a detached signature and a Sigstore bundle over SHA256SUMS, in-toto statements.
// Its one rule: who is trusted comes from the caller, never from what is checked.
// A key's signature over SHA256SUMS is checked in package verify, by the standard
// library, in both programs; here are bundles and statements, for obspc alone.
package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	bundlepb "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/obspc/obspc/verify/release"
)

// MediaType is that of the bundles that are written and read (version 0.3 of
// Sigstore's bundle format).
const MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// MaxPrivateKey is how many bytes of a private key file are read.
const MaxPrivateKey = 16 << 10

// Generate makes a key pair: the private key encrypted with the password (scrypt
// and NaCl secretbox, as cosign writes it) in one PEM block, the public key as
// release.ParseKey reads it. An empty password is an error: a private key is not
// written in the clear.
func Generate(kind release.KeyType, password []byte) (private, public []byte, err error) {
	if len(password) == 0 {
		return nil, nil, errors.New("a private key is not written without a password")
	}
	var key crypto.Signer
	switch kind {
	case release.ECDSAP256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case release.Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		return nil, nil, fmt.Errorf("there is no key type %q; write %s or %s", kind, release.ECDSAP256, release.Ed25519)
	}
	if err != nil {
		return nil, nil, err
	}
	der, err := cryptoutils.MarshalPrivateKeyToEncryptedDER(key, cryptoutils.StaticPasswordFunc(password))
	if err != nil {
		return nil, nil, err
	}
	named, err := publicKey(key)
	if err != nil {
		return nil, nil, err
	}
	return cryptoutils.PEMEncode(cryptoutils.EncryptedSigstorePrivateKeyPEMType, der), named.PEM(), nil
}

func publicKey(key crypto.Signer) (release.Key, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return release.Key{}, err
	}
	return release.NewKey(der)
}

// olderCosign is the type of PEM block that cosign wrote before version 2.
const olderCosign = "ENCRYPTED COSIGN PRIVATE KEY"

// Signer signs releases with one key.
type Signer struct {
	key    release.Key
	signer signature.Signer
}

// Load reads a private key file: one encrypted PEM block, as Generate and cosign
// write it. The password is asked for once.
func Load(private []byte, password func() ([]byte, error)) (*Signer, error) {
	if len(private) > MaxPrivateKey {
		return nil, fmt.Errorf("the file has more than %d bytes, a private key has about 700", MaxPrivateKey)
	}
	block, rest := pem.Decode(private)
	switch {
	case block == nil:
		return nil, errors.New("the file holds no PEM block; obspc keygen writes private keys")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("something stands behind the PEM block; a private key file holds one block and nothing else")
	case block.Type != string(cryptoutils.EncryptedSigstorePrivateKeyPEMType) && block.Type != olderCosign:
		return nil, fmt.Errorf("the file holds a PEM block %q; an encrypted private key of cosign's format is wanted, as obspc keygen writes it", block.Type)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(private, func(bool) ([]byte, error) { return password() })
	if err != nil {
		return nil, fmt.Errorf("the private key cannot be decrypted: %w", err)
	}
	pair, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the private key is of another type (%T)", key)
	}
	named, err := publicKey(pair)
	if err != nil {
		return nil, err
	}
	signer, err := signature.LoadSigner(pair, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return &Signer{named, signer}, nil
}

// Key is the public key.
func (s *Signer) Key() release.Key { return s.key }

// Sums signs the bytes of SHA256SUMS: SHA256SUMS.sig, and the same signature as a
// Sigstore bundle, SHA256SUMS.sigstore.json.
func (s *Signer) Sums(sums []byte) (detached, bundle []byte, err error) {
	made, err := s.signer.SignMessage(bytes.NewReader(sums))
	if err != nil {
		return nil, nil, err
	}
	digest := sha256.Sum256(sums)
	bundle, err = compactBundle(&bundlepb.Bundle{
		MediaType: MediaType,
		VerificationMaterial: &bundlepb.VerificationMaterial{
			Content: &bundlepb.VerificationMaterial_PublicKey{PublicKey: &commonpb.PublicKeyIdentifier{Hint: hintOf(s.key)}},
		},
		Content: &bundlepb.Bundle_MessageSignature{MessageSignature: &commonpb.MessageSignature{
			MessageDigest: &commonpb.HashOutput{Algorithm: commonpb.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     made,
		}},
	})
	return release.FormatSignature(made), bundle, err
}

// compactBundle is the bundle as JSON without white space: protojson puts blanks
// where it likes.
func compactBundle(b *bundlepb.Bundle) ([]byte, error) {
	text, err := protojson.Marshal(b)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
