package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// Bundle is the check that a key's bundle in a release, if there is one, says what
// SHA256SUMS.sig says: readers of either must not come to different answers. The
// keys are the caller's; what the bundle says of its key is only a hint. A bundle
// with a certificate is for Identity and is left to it.
type Bundle struct{ Keys []release.Key }

// Name is that of a check of its own.
func (*Bundle) Name() string { return "bundle" }

// Anchors is false: SHA256SUMS.sig vouches for the release.
func (*Bundle) Anchors() bool { return false }

// Applies reports whether there is a bundle.
func (*Bundle) Applies(s *verify.Subject) bool {
	_, ok := s.Attachment(release.BundleName)
	return ok
}

// Run reads the bundle.
func (b *Bundle) Run(s *verify.Subject) (failures []verify.Failure, warnings []string) {
	text, _ := s.Attachment(release.BundleName)
	if err := readKeyBundle(text, s.Sums(), trusted(s, b.Keys)); err != nil {
		failures = []verify.Failure{{File: release.BundleName, Reason: verify.Untrusted, Message: "the bundle is no signature over SHA256SUMS by a trusted key: " + err.Error()}}
	}
	return failures, nil
}

// trusted are those of the keys that the pins of this call do not exclude.
func trusted(s *verify.Subject, keys []release.Key) (out []release.Key) {
	trust := s.Trust()
	for _, k := range keys {
		if trust.Pins.Trusts(k, trust.Now) {
			out = append(out, k)
		}
	}
	return out
}

// parseBundle reads a Sigstore bundle in the form that is written today, over a
// file and not over a statement.
func parseBundle(text []byte) (*bundle.Bundle, error) {
	b := &bundle.Bundle{}
	if err := b.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if b.MediaType != MediaType {
		return nil, fmt.Errorf("its media type is %q, want %q", b.MediaType, MediaType)
	}
	if b.GetMessageSignature() == nil {
		return nil, errors.New("it signs a statement and not the file")
	}
	return b, nil
}

// readKeyBundle holds a bundle over message to one of the keys; one with a
// certificate it only reads.
func readKeyBundle(text, message []byte, keys []release.Key) error {
	b, err := parseBundle(text)
	if err != nil {
		return err
	}
	material := b.GetVerificationMaterial()
	if material.GetCertificate() != nil || material.GetX509CertificateChain() != nil {
		return nil
	}
	signed := b.GetMessageSignature()
	if d := signed.GetMessageDigest(); len(d.GetDigest()) > 0 { // cosign 3.1.3 leaves it out with Ed25519
		sum := sha256.Sum256(message)
		switch {
		case d.GetAlgorithm() != commonpb.HashAlgorithm_SHA2_256:
			return fmt.Errorf("its digest is of algorithm %s, want %s", d.GetAlgorithm(), commonpb.HashAlgorithm_SHA2_256)
		case !bytes.Equal(d.GetDigest(), sum[:]):
			return errors.New("it is about another file")
		}
	}
	hint := material.GetPublicKey().GetHint()
	for _, k := range keys {
		if k.Verifies(message, signed.GetSignature()) {
			if hint != "" && hint != hintOf(k) {
				return errors.New("it names another key than the one that signed")
			}
			return nil
		}
	}
	return errors.New("none of the keys signed it")
}

// hintOf is how a bundle names a key: the SHA-256 of its SubjectPublicKeyInfo in
// base64, as cosign writes it.
func hintOf(k release.Key) string {
	sum := sha256.Sum256([]byte(k.DER))
	return base64.StdEncoding.EncodeToString(sum[:])
}
