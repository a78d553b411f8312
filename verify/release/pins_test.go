package release

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

// testKey is some point of P-256.
const testKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+LH7JQwSg6LcicACBEXGC/kAGwD4dtnF64sNYnDxtGqUogpd11u7AJEnWmgAG1DuIR3JAX4EjhDFe4o+LyPdiQ=="

// otherKey is one of Ed25519.
const otherKey = "MCowBQYDK2VwAyEAn/DZgxwp22p/+rDKtURKBjB3zDwv4CWd2K/ugRHo2EU="

// testKeyID is the SHA-256 of testKey's DER.
func testKeyID() string {
	der, err := base64.StdEncoding.DecodeString(testKey)
	if err != nil {
		panic(err)
	}
	return string(Sum(der))
}

func mustKey(t testing.TB, text string) Key {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKey(der)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const goodPins = `# reviewed by the platform team
format 1
product payments

# raised with every release
serial 12
expiry required
key ecdsa-p256 ` + testKey + `
sha256sums ` + hexB + `
artifact web/bwrap.json ` + hexA + `

# leaked
revoked ` + hexA + `

# the end
`

func TestPinsRoundTrip(t *testing.T) {
	p, err := ParsePins([]byte(goodPins))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Format()); got != goodPins {
		t.Errorf("Format = %q, want %q", got, goodPins)
	}
	if p.Product != "payments" || p.Serial != 12 || p.NoExpiry || !p.Pinned(hexB) || p.Pinned(hexA) || !p.IsRevoked(hexA) {
		t.Errorf("pins = %+v", p)
	}
}

// Windows stand behind their keys and follow them.
func TestWindows(t *testing.T) {
	const text = "format 1\nproduct payments\nserial 12\nexpiry required\n" +
		"key ecdsa-p256 " + testKey + " from 2026-01-01T00:00:00Z until 2027-01-01T00:00:00Z\nkey ed25519 " + otherKey + " until 2028-01-01T00:00:00Z\n"
	p, err := ParsePins([]byte(text))
	if err != nil || string(p.Format()) != text {
		t.Fatalf("Format = %q, %v, want %q", p.Format(), err, text)
	}
	ours, theirs := mustKey(t, testKey), mustKey(t, otherKey)
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		key  Key
		at   time.Time
		want bool
	}{
		{ours, at(2025), false}, {ours, at(2026), true}, {ours, at(2027), false}, {theirs, at(2025), true}, {theirs, at(2028), false},
	} {
		if got := p.Trusts(tt.key, tt.at); got != tt.want {
			t.Errorf("Trusts(%s, %v) = %v", tt.key.Type, tt.at, got)
		}
	}
	if !(*Pins)(nil).Trusts(ours, at(2030)) {
		t.Error("no pins exclude a key")
	}
	next := sampleManifest()
	q, said, err := Update(p, next, hexA, PinOptions{UnsafeDropKeys: []Digest{ours.ID()}})
	if err != nil || len(q.Windows) != 1 || len(p.Windows) != 2 || !strings.Contains(strings.Join(said, "\n"), "until 2028-01-01T00:00:00Z") {
		t.Errorf("Update = %+v, %q, %v", q, said, err)
	}
	p.Revoked = []Digest{theirs.ID()}
	if p.Trusts(theirs, at(2026)) {
		t.Error("a revoked key is trusted")
	}
}

func TestPinsOrderIsFixed(t *testing.T) {
	const mixed = "format 1\nrevoked " + hexB + "\nexpiry none\nserial 0\n# why\nsha256sums " + hexA + "\nproduct local\n"
	const want = "format 1\nproduct local\nserial 0\nexpiry none\n\n# why\nsha256sums " + hexA + "\nrevoked " + hexB + "\n"
	p, err := ParsePins([]byte(mixed))
	if err != nil || string(p.Format()) != want {
		t.Errorf("Format = %q, %v, want %q", p.Format(), err, want)
	}
}

func TestParsePinsRefuses(t *testing.T) {
	const head = "format 1\nproduct p\nserial 1\nexpiry none\n"
	if _, err := ParsePins([]byte(head)); err != nil {
		t.Fatalf("the twin is refused: %v", err)
	}
	for _, tt := range []struct {
		name string
		text string
		line int
		want string
	}{
		{"empty", "", 0, "is no pins file: it is empty; obspc pin writes one"},
		{"comments alone", "# a\n\n", 0, "it is empty"},
		{"a manifest", `{"artifacts":[{"ir":"00"}]}`, 0, `is no pins file: it begins with "{\"artifacts\":[{\"ir\":\"00\""…; obspc pin writes one`},
		{"a policy", "# notes\npolicy \"p\" {\n}\n", 0, `begins with "policy \"p\" {"`},
		{"bytes", "\xff\x00\n", 0, `begins with "\xff\x00"`},
		{"format last", "product p\nformat 1\n", 1, "first statement"},
		{"other format", strings.Replace(head, "format 1", "format 2", 1), 1, "this version reads format 1"},
		{"no product", "format 1\nserial 1\nexpiry none\n", 4, "product is missing"},
		{"no serial", "format 1\nproduct p\nexpiry none\n", 4, "serial is missing"},
		{"no expiry", "format 1\nproduct p\nserial 1\n", 4, "expiry is missing"},
		{"serial twice", head + "serial 2\n", 5, "second time"},
		{"odd serial", strings.Replace(head, "serial 1", "serial 01", 1), 3, "serial"},
		{"negative serial", strings.Replace(head, "serial 1", "serial -1", 1), 3, "serial"},
		{"huge serial", strings.Replace(head, "serial 1", "serial 9007199254740992", 1), 3, "serial"},
		{"odd expiry", strings.Replace(head, "none", "never", 1), 4, "required or none"},
		{"odd product", strings.Replace(head, "product p", "product P", 1), 2, "lower case"},
		{"unknown word", head + "allow everything\n", 5, "unknown word"},
		{"missing word", head + "sha256sums\n", 5, "sha256sums SHA256"},
		{"third word", head + "sha256sums " + hexA + " x\n", 5, "want"},
		{"two spaces", head + "sha256sums  " + hexA + "\n", 5, "one space"},
		{"leading space", head + " sha256sums " + hexA + "\n", 5, "one space"},
		{"trailing space", head + "sha256sums " + hexA + " \n", 5, "one space"},
		{"tab", head + "sha256sums\t" + hexA + "\n", 5, "0x09"},
		{"CRLF", head + "sha256sums " + hexA + "\r\n", 5, "0x0d"},
		{"no final newline", head + "sha256sums " + hexA, 5, "line feed"},
		{"upper case", head + "sha256sums " + strings.ToUpper(hexA) + "\n", 5, "upper case"},
		{"digest twice", head + "revoked " + hexA + "\nrevoked " + hexA + "\n", 6, "second time"},
		{"pinned and revoked", head + "sha256sums " + hexA + "\nrevoked " + hexA + "\n", 6, "pinned in line 5"},
		{"revoked and pinned", head + "revoked " + hexA + "\nsha256sums " + hexA + "\n", 6, "revoked in line 5"},
		{"artifact twice", head + "artifact a/b " + hexA + "\nartifact a/b " + hexB + "\n", 6, "duplicate"},
		{"artifact outside", head + "artifact ../b " + hexA + "\n", 5, "unsafe name"},
		{"artifact of no policy", head + "artifact b " + hexA + "\n", 5, "no policy's folder"},
		{"key type", head + "key rsa " + testKey + "\n", 5, "key type"},
		{"key by its digest", head + "key ecdsa-p256 " + hexA + "\n", 5, "no public key"},
		{"key of another type", head + "key ed25519 " + testKey + "\n", 5, "the line says ed25519"},
		{"key on another curve", head + "key ecdsa-p256 MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEg5z3SnLnPyze/aZR8c2RwykAaIeE02C2BVa1WnoNVeicFltxlmubrou2D5GRHhziSV+09Xg2/AM9W82jhffSXS3XndI6sc6kFNOAyPT4mmyEO4hhU6prFxlwC3RABONz\n", 5, "P-384"},
		{"key in other base64", head + "key ecdsa-p256 " + strings.TrimRight(testKey, "=") + "\n", 5, "base64"},
		{"key cut", head + "key ecdsa-p256 " + testKey[:40] + "\n", 5, "no public key"},
		{"key twice", head + "key ecdsa-p256 " + testKey + "\nkey ecdsa-p256 " + testKey + "\n", 6, "second time"},
		{"key pinned and revoked", head + "key ecdsa-p256 " + testKey + "\nrevoked " + testKeyID() + "\n", 6, "pinned above"},
		{"key revoked and pinned", head + "revoked " + testKeyID() + "\nkey ecdsa-p256 " + testKey + "\n", 6, "revoked in line 5"},
		{"key twice, with a window", head + "key ecdsa-p256 " + testKey + "\nkey ecdsa-p256 " + testKey + " until 2030-01-01T00:00:00Z\n", 6, "second time"},
		{"window of a day", head + "key ecdsa-p256 " + testKey + " until 2030-01-01\n", 5, "2030-01-01"},
		{"window without an end", head + "key ecdsa-p256 " + testKey + " until\n", 5, "want"},
		{"window the other way round", head + "key ecdsa-p256 " + testKey + " until 2030-01-01T00:00:00Z from 2029-01-01T00:00:00Z\n", 5, "want"},
		{"window that ends first", head + "key ecdsa-p256 " + testKey + " from 2030-01-01T00:00:00Z until 2030-01-01T00:00:00Z\n", 5, "empty"},
		{"another bound", head + "key ecdsa-p256 " + testKey + " before 2030-01-01T00:00:00Z\n", 5, "want"},
		{"newer format", strings.Replace(head, "format 1", "format 2", 1), 1, "newer obspc"},
		{"hidden text", head + "# \u202esmuggled\n", 5, "does not print"},
		{"comment after a statement", head + "sha256sums " + hexA + " # x\n", 5, "want"},
		{"invalid UTF-8", head + "# \xff\n", 5, "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePins([]byte(tt.text))
			var faults SyntaxErrors
			if !errors.As(err, &faults) || faults[0].Line != tt.line || !strings.Contains(faults[0].Message, tt.want) {
				t.Errorf("ParsePins(%q) = %v, want line %d with %q", tt.text, err, tt.line, tt.want)
			}
		})
	}
}

func sampleManifest() *Manifest {
	return &Manifest{
		Product: "payments", Serial: 13, Compiler: "0.1.0", Expires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
		Artifacts: []Artifact{{Name: "web/ir.json", Kind: "ir", SHA256: Sum(nil), IR: IRDigest(nil)}},
	}
}

func TestUpdate(t *testing.T) {
	first, lines, err := Update(nil, sampleManifest(), hexA, PinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(first.Format()); !strings.HasPrefix(text, "# Which releases") || !strings.Contains(text, "\nserial 13\n") || !strings.Contains(text, "\nsha256sums "+hexA+"\n") {
		t.Errorf("first pins = %s", text)
	}
	if said := strings.Join(lines, "\n"); !strings.Contains(said, "product payments, serial 13") || !strings.Contains(said, "policy web") || !strings.Contains(said, "expires 2027") {
		t.Errorf("first pin says %q", said)
	}
	if again, err := ParsePins(first.Format()); err != nil || string(again.Format()) != string(first.Format()) {
		t.Errorf("the first pins are not read back: %v", err)
	}
	next := sampleManifest()
	next.Serial = 14
	second, lines, err := Update(first, next, hexB, PinOptions{})
	if err != nil || second.Serial != 14 || !second.Pinned(hexB) || second.Pinned(hexA) {
		t.Errorf("second pins = %+v, %v", second, err)
	}
	if said := strings.Join(lines, "\n"); !strings.Contains(said, "lowest serial was 13") || !strings.Contains(said, "no longer trusts SHA256SUMS "+hexA) {
		t.Errorf("second pin says %q", said)
	}
	if first.Serial != 13 || !first.Pinned(hexA) {
		t.Errorf("Update changed the pins it was given: %+v", first)
	}
}

func TestUpdateRefuses(t *testing.T) {
	pins := func() *Pins { return &Pins{Product: "payments", Serial: 13, Sums: []Digest{hexA}} }
	for _, tt := range []struct {
		name string
		pins func(*Pins)
		with func(*Manifest)
		want string
		twin *PinOptions // accepted with these; nil: never accepted
	}{
		{"local", nil, func(m *Manifest) { m.Product, m.Serial = LocalProduct, 0 }, "--product", nil},
		{"other product", nil, func(m *Manifest) { m.Product = "web" }, "of product", nil},
		{"lower serial", nil, func(m *Manifest) { m.Serial = 12 }, "rollback", &PinOptions{UnsafeLowerSerial: true}},
		{"same serial, other digest", nil, func(m *Manifest) {}, "another digest", &PinOptions{UnsafeLowerSerial: true}},
		{"last serial, other digest", func(p *Pins) { p.Serial = MaxSerial }, func(m *Manifest) { m.Serial = MaxSerial }, "9007199254740991 is the last there is", &PinOptions{UnsafeLowerSerial: true}},
		{"no expiry", nil, func(m *Manifest) { m.Serial, m.Expires = 14, time.Time{} }, "--no-expiry", &PinOptions{NoExpiry: true}},
		{"revoked", func(p *Pins) { p.Revoked = []Digest{hexB} }, func(m *Manifest) { m.Serial = 14 }, "revoked", nil},
		{"revoked artifact", func(p *Pins) { p.Revoked = []Digest{Sum(nil)} }, func(m *Manifest) { m.Serial = 14 }, "revoked", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, m := pins(), sampleManifest()
			if tt.pins != nil {
				tt.pins(p)
			}
			tt.with(m)
			if _, _, err := Update(p, m, hexB, PinOptions{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Update = %v, want an error with %q", err, tt.want)
			}
			all := PinOptions{NoExpiry: true, UnsafeLowerSerial: true}
			if tt.twin != nil {
				all = *tt.twin
			}
			if _, _, err := Update(p, m, hexB, all); (err == nil) != (tt.twin != nil) {
				t.Errorf("Update with %+v = %v", all, err)
			}
		})
	}
}

// Keys: the first one turns pins of single releases into pins by key; they stay so
// until told otherwise; a key leaves only by name.
func TestUpdateKeys(t *testing.T) {
	ours, theirs := mustKey(t, testKey), mustKey(t, otherKey)
	at := func(serial int64) *Manifest {
		m := sampleManifest()
		m.Serial = serial
		return m
	}
	byKey, said, err := Update(nil, at(13), hexA, PinOptions{Keys: []Key{ours}})
	if err != nil || !byKey.ByKey() || byKey.Serial != 13 || !strings.Contains(strings.Join(said, "\n"), "trusts key ecdsa-p256 "+testKeyID()) {
		t.Fatalf("pins by key = %+v, %q, %v", byKey, said, err)
	}
	if again, err := ParsePins(byKey.Format()); err != nil || again.Keys[0] != ours {
		t.Errorf("the key is not read back: %v", err)
	}
	next, _, err := Update(byKey, at(14), hexB, PinOptions{})
	if err != nil || !next.ByKey() || next.Serial != 14 {
		t.Errorf("the next pin = %+v, %v", next, err)
	}
	exact, _, err := Update(byKey, at(14), hexB, PinOptions{Exact: true})
	if err != nil || exact.ByKey() || !exact.Pinned(hexB) || len(exact.Keys) != 1 {
		t.Errorf("the exact pin = %+v, %v", exact, err)
	}
	if next, _, err = Update(exact, at(15), hexA, PinOptions{}); err != nil || next.ByKey() || !next.Pinned(hexA) || next.Pinned(hexB) {
		t.Errorf("after an exact pin = %+v, %v", next, err)
	}
	byDigest, _, _ := Update(nil, at(13), hexA, PinOptions{})
	if next, said, err = Update(byDigest, at(14), hexB, PinOptions{Keys: []Key{ours}}); err != nil || !next.ByKey() || !strings.Contains(strings.Join(said, "\n"), "no longer trusts SHA256SUMS "+hexA) {
		t.Errorf("a first key = %+v, %q, %v", next, said, err)
	}
	rotated, said, err := Update(byKey, at(14), hexB, PinOptions{Keys: []Key{theirs}, UnsafeDropKeys: []Digest{ours.ID()}})
	if err != nil || len(rotated.Keys) != 1 || rotated.Keys[0] != theirs || !strings.Contains(strings.Join(said, "\n"), "no longer trusts key ecdsa-p256") {
		t.Errorf("rotated = %+v, %q, %v", rotated, said, err)
	}
	if len(byKey.Keys) != 1 || byKey.Keys[0] != ours {
		t.Errorf("Update changed the pins it was given: %+v", byKey)
	}
	if _, _, err := Update(byKey, at(14), hexB, PinOptions{UnsafeDropKeys: []Digest{theirs.ID()}}); err == nil {
		t.Error("a key that is not there was dropped")
	}
	byKey.Revoked = []Digest{theirs.ID()}
	if _, _, err := Update(byKey, at(14), hexB, PinOptions{Keys: []Key{theirs}}); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a revoked key was pinned: %v", err)
	}
}

func FuzzParsePins(f *testing.F) {
	f.Add([]byte(goodPins))
	f.Add([]byte("format 1\nproduct p\nserial 1\nexpiry none\nkey ecdsa-p256 " + testKey + " from 2026-01-01T00:00:00Z until 2027-01-01T00:00:00Z\n"))
	f.Add([]byte("format 1\nproduct local\nserial 0\nexpiry none\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePins(data)
		if err != nil {
			return
		}
		text := p.Format()
		again, err := ParsePins(text)
		if err != nil || string(again.Format()) != string(text) {
			t.Errorf("ParsePins(%q) gives %q, which is not read back: %v", data, text, err)
		}
	})
}
