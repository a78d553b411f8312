package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// signer is a key pair of this test.
func signer(t testing.TB) (release.Key, func([]byte) []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := release.NewKey(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, func(message []byte) []byte {
		digest := sha256.Sum256(message)
		signature, err := ecdsa.SignASN1(rand.Reader, private, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return release.FormatSignature(signature)
	}
}

func signed(files []release.File, sign func([]byte) []byte) []release.File {
	return append(files, release.File{Name: release.SignatureName, Data: sign(at(files, release.SumsName).Data)})
}

func TestSignature(t *testing.T) {
	ours, sign := signer(t)
	theirs, foreign := signer(t)
	files := signed(sample(t), sign)
	byKey := func(keys ...release.Key) *release.Pins {
		return &release.Pins{Product: "payments", Serial: 12, Keys: keys}
	}
	// Each of these vouches: a key of the call, keys of the pins, both.
	for _, tt := range []struct {
		trust   Trust
		anchors string
	}{
		{Trust{Now: now, Keys: []release.Key{ours}}, "signature"},
		{Trust{Now: now, Pins: byKey(ours)}, "pins, signature"},
		{Trust{Now: now, Pins: byKey(theirs, ours)}, "pins, signature"},
		{Trust{Now: now, Pins: byKey(ours, theirs), Keys: []release.Key{ours}}, "pins, signature"},
		{Trust{Now: now, Pins: pinsOf(t, files), Keys: []release.Key{ours}}, "pins, signature"},
	} {
		if v := wantVerified(t, Memory(files), tt.trust); strings.Join(v.Anchors(), ", ") != tt.anchors {
			t.Errorf("Anchors = %v, want %s", v.Anchors(), tt.anchors)
		}
	}
	// A bundle's check beside a key's shares its row, and both must pass.
	if v := wantVerified(t, Memory(files), Trust{Now: now, Pins: byKey(ours)}, stub{name: Signature, vouches: true}); len(v.Anchors()) != 2 {
		t.Errorf("Anchors = %v", v.Anchors())
	}
	no := stub{name: Signature, vouches: true, failures: []Failure{{File: release.BundleName, Reason: Untrusted, Message: "no"}}}
	wantRefused(t, Memory(files), Trust{Now: now, Pins: byKey(ours)}, Signature, release.BundleName, Untrusted, no)

	other := input(t)
	other.Serial = 13
	for _, tt := range []struct {
		name   string
		files  []release.File
		trust  Trust
		file   string
		reason Reason
	}{
		{"unsigned", sample(t), Trust{Now: now, Pins: byKey(ours)}, release.SignatureName, Untrusted},
		{"unsigned but pinned", sample(t), Trust{Now: now, Pins: pinsOf(t, files), Keys: []release.Key{ours}}, release.SignatureName, Untrusted},
		{"another's key", signed(sample(t), foreign), Trust{Now: now, Pins: byKey(ours)}, release.SignatureName, Untrusted},
		{"signature of another release", append(build(t, other), *at(files, release.SignatureName)), Trust{Now: now, Pins: byKey(ours)}, release.SignatureName, Untrusted},
		{"not base64", append(sample(t), release.File{Name: release.SignatureName, Data: []byte("!")}), Trust{Now: now, Pins: byKey(ours)}, release.SignatureName, Malformed},
		{"key of the call is not pinned", files, Trust{Now: now, Pins: byKey(theirs), Keys: []release.Key{ours}}, "", Untrusted},
		{"key is revoked", files, Trust{Now: now, Pins: func() *release.Pins {
			p := byKey(ours)
			p.Revoked = []release.Digest{ours.ID()}
			return p
		}()}, "", Untrusted},
		{"key of the call is revoked", files, Trust{Now: now, Keys: []release.Key{ours}, Pins: func() *release.Pins {
			p := pinsOf(t, files)
			p.Revoked = []release.Digest{ours.ID()}
			return p
		}()}, "", Untrusted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantRefused(t, Memory(tt.files), tt.trust, Signature, tt.file, tt.reason)
		})
	}
	// Pins by key hold the serial all the same.
	low := byKey(ours)
	low.Serial = 13
	wantRefused(t, Memory(files), Trust{Now: now, Pins: low}, SerialAndExpiry, release.ManifestName, Stale)
	// With a digest beside the key, both must hold.
	exact := byKey(ours)
	exact.Sums = []release.Digest{digestOf(build(t, other))}
	wantRefused(t, Memory(files), Trust{Now: now, Pins: exact}, Pins, release.SumsName, Untrusted)
}

// A key's window is held against the time of the verification, whenever the
// release says that it was made.
func TestKeyWindow(t *testing.T) {
	ours, sign := signer(t)
	theirs, _ := signer(t)
	files := signed(sample(t), sign)
	hour := time.Hour
	for _, tt := range []struct {
		name     string
		window   release.Window
		accepted bool
		warns    string
	}{
		{"none", release.Window{}, true, ""},
		{"open", release.Window{From: now.Add(-hour), Until: now.Add(60 * 24 * hour)}, true, ""},
		{"begins now", release.Window{From: now}, true, ""},
		{"soon over", release.Window{Until: now.Add(hour)}, true, "less than 14 days more"},
		{"over", release.Window{Until: now}, false, ""},
		{"long over", release.Window{From: now.Add(-3 * hour), Until: now.Add(-2 * hour)}, false, ""},
		{"not begun", release.Window{From: now.Add(time.Second)}, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pins := &release.Pins{Product: "payments", Serial: 12, Keys: []release.Key{theirs, ours}, Windows: map[release.Digest]release.Window{ours.ID(): tt.window}}
			for _, trust := range []Trust{{Now: now, Pins: pins}, {Now: now, Pins: pins, Keys: []release.Key{ours}}} {
				if !tt.accepted {
					f := wantRefused(t, Memory(files), trust, Signature, release.SignatureName, Untrusted)
					if f.Wanted != tt.window.String() || !strings.Contains(f.Message, string(ours.ID())) {
						t.Errorf("the failure says %q", f)
					}
					continue
				}
				_, report := Open(Memory(files), trust)
				warned := strings.Join(report.Warnings, "\n")
				if !report.Verified() || (tt.warns == "") != (warned == "") || !strings.Contains(warned, tt.warns) {
					t.Errorf("Open, want the warning %q:\n%s", tt.warns, report)
				}
			}
		})
	}
}
