package sign

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/root"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// Identity is the check that SHA256SUMS was signed by whoever a certificate names:
// a Sigstore bundle, verified offline against a trusted root that the caller gives.
// Subject is the certificate's subject alternative name and Issuer who vouched for
// it; both are compared whole, and both are needed: another issuer may give the
// same name to somebody else.
type Identity struct {
	Subject string
	Issuer  string
	root    root.TrustedMaterial
	bundle  []byte // nil: the one in the release
	demands []sigverify.VerifierOption
}

// demands are what a keyless signature has to show: that its certificate was
// logged, that it was logged itself, and when.
func demands() []sigverify.VerifierOption {
	return []sigverify.VerifierOption{
		sigverify.WithSignedCertificateTimestamps(1), sigverify.WithTransparencyLog(1), sigverify.WithObserverTimestamps(1),
	}
}

// MaxTrustedRoot is how many bytes of a trusted root are read.
const MaxTrustedRoot = 4 << 20

// NewIdentity reads the trusted root (trusted_root.json, as `cosign trusted-root
// create` and Sigstore's TUF repository have it). bundle is a bundle that does not
// lie in the release, nil for the one that does.
func NewIdentity(subject, issuer string, trustedRoot, bundle []byte) (*Identity, error) {
	if subject == "" || issuer == "" {
		return nil, errors.New("an identity is a subject and its issuer; both are needed")
	}
	r, err := root.NewTrustedRootFromJSON(trustedRoot)
	if err != nil {
		return nil, fmt.Errorf("the trusted root cannot be read: %w", err)
	}
	return &Identity{subject, issuer, r, bundle, demands()}, nil
}

// Name is verify.Signature.
func (*Identity) Name() string { return verify.Signature }

// Anchors is true: a signature vouches for a release.
func (*Identity) Anchors() bool { return true }

// Run verifies the bundle.
func (i *Identity) Run(s *verify.Subject) ([]verify.Failure, []string) {
	text, ok := i.bundle, true
	if text == nil {
		text, ok = s.Attachment(release.BundleName)
	}
	fail := func(reason verify.Reason, format string, args ...any) ([]verify.Failure, []string) {
		return []verify.Failure{{File: release.BundleName, Reason: reason, Message: fmt.Sprintf(format, args...)}}, nil
	}
	if !ok {
		return fail(verify.Untrusted, "the release has no Sigstore bundle")
	}
	if err := i.read(s.Sums(), text); err != nil {
		return fail(verify.Untrusted, "the bundle is no signature over SHA256SUMS by %s (issuer %s): %v", i.Subject, i.Issuer, err)
	}
	return nil, nil
}

// read holds a bundle to the form that is written today, then to the identity.
func (i *Identity) read(sums, text []byte) error {
	b, err := parseBundle(text)
	if err != nil {
		return err
	}
	return i.hold(sums, b)
}

// hold holds a signature to everything that Sigstore promises of a keyless one: a
// certificate of the trusted authority for exactly this identity, both logged, at
// a time at which the certificate was valid.
func (i *Identity) hold(sums []byte, signed sigverify.SignedEntity) error {
	v, err := sigverify.NewVerifier(i.root, i.demands...)
	if err != nil {
		return err
	}
	identity, err := sigverify.NewShortCertificateIdentity(i.Issuer, "", i.Subject, "")
	if err != nil {
		return err
	}
	_, err = v.Verify(signed, sigverify.NewPolicy(sigverify.WithArtifact(bytes.NewReader(sums)), sigverify.WithCertificateIdentity(identity)))
	return err
}
