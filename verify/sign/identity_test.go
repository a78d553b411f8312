package sign

import (
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

const (
	workflow = "https://github.com/acme/policies/.github/workflows/release.yml@refs/tags/v7"
	issuer   = "https://token.actions.githubusercontent.com"
)

// The authority of this test logs no certificates, so what it signs is held to the
// other demands; that certificates are logged is demanded all the same.
func TestIdentity(t *testing.T) {
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	another, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	sums := []byte("the bytes of SHA256SUMS")
	entity, err := virtual.Sign(workflow, issuer, sums)
	if err != nil {
		t.Fatal(err)
	}
	logged := []sigverify.VerifierOption{sigverify.WithTransparencyLog(1), sigverify.WithObserverTimestamps(1)}
	good := Identity{Subject: workflow, Issuer: issuer, root: virtual, demands: logged}
	if err := good.hold(sums, entity); err != nil {
		t.Fatalf("the right identity is refused: %v", err)
	}
	for _, tt := range []struct {
		name string
		with func(*Identity)
		sums string
	}{
		{"another subject", func(i *Identity) { i.Subject = strings.Replace(workflow, "acme", "evil", 1) }, ""},
		{"a beginning of the subject", func(i *Identity) { i.Subject = "https://github.com/acme/policies" }, ""},
		{"a pattern", func(i *Identity) { i.Subject = "https://github.com/acme/.*" }, ""},
		{"another issuer", func(i *Identity) { i.Issuer = "https://accounts.google.com" }, ""},
		{"a beginning of the issuer", func(i *Identity) { i.Issuer = "https://token.actions" }, ""},
		{"no subject", func(i *Identity) { i.Subject = "" }, ""},
		{"no issuer", func(i *Identity) { i.Issuer = "" }, ""},
		{"another authority", func(i *Identity) { i.root = another }, ""},
		{"a certificate that was not logged", func(i *Identity) { i.demands = demands() }, ""},
		{"other bytes", func(*Identity) {}, "other bytes"},
	} {
		identity, bytes := good, sums
		tt.with(&identity)
		if tt.sums != "" {
			bytes = []byte(tt.sums)
		}
		if err := identity.hold(bytes, entity); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

// A bundle of a key is no identity, and odd bundles are refused before anything is
// verified.
func TestIdentityRefusesBundles(t *testing.T) {
	s, key := pair(t, release.ECDSAP256)
	files := signed(t, s, 7)
	bundle := string(find(files, release.BundleName))
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"of a key", bundle, ""},
		{"no JSON", "x", ""},
		{"an unknown member", strings.Replace(bundle, `{"mediaType"`, `{"x":1,"mediaType"`, 1), "unknown field"},
		{"a member twice", strings.Replace(bundle, `{"mediaType"`, `{"mediaType":"a","mediaType"`, 1), "duplicate"},
		{"something behind", bundle + "{}", ""},
		{"another version", strings.Replace(bundle, "v0.3+json", "v0.9+json", 1), ""},
		{"the version before", strings.Replace(bundle, MediaType, "application/vnd.dev.sigstore.bundle+json;version=0.1", 1), ""},
		{"cut", bundle[:len(bundle)/2], ""},
	} {
		identity := &Identity{Subject: workflow, Issuer: issuer, root: virtual, demands: demands(), bundle: []byte(tt.text)}
		v, report := open(files, key, identity)
		if v != nil || !strings.Contains(report.String(), release.BundleName) || !strings.Contains(report.String(), tt.want) {
			t.Errorf("%s: want a refusal with %q:\n%s", tt.name, tt.want, report)
		}
	}
	without := files[:len(files)-4]
	if v, report := verify.Open(verify.Memory(without), verify.Trust{Now: now}, &Identity{Subject: workflow, Issuer: issuer, root: virtual}); v != nil || !strings.Contains(report.String(), "no Sigstore bundle") {
		t.Errorf("a release without a bundle:\n%s", report)
	}
	if _, err := NewIdentity(workflow, "", nil, nil); err == nil {
		t.Error("an identity without an issuer is accepted")
	}
	if _, err := NewIdentity(workflow, issuer, []byte("{}"), nil); err == nil {
		t.Error("an empty trusted root is accepted")
	}
}

// What is read from outside never crashes or hangs.
func FuzzStatements(f *testing.F) {
	f.Add([]byte(`{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":"AA=="}]}`))
	_, public, err := Generate(release.Ed25519, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	key, err := release.ParseKey(public)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := openEnvelope([]release.Key{key}, text); err == nil {
			t.Errorf("%q is signed", text)
		}
	})
}
