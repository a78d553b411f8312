package release

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const goodPins = `# reviewed by the platform team
format 1
product payments

# raised with every release
serial 12
expiry required
key ecdsa-p256 ` + hexA + `
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
		{"key type", head + "key rsa " + hexA + "\n", 5, "key type"},
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
		twin PinOptions // accepted with these; the zero value: never accepted
	}{
		{"local", nil, func(m *Manifest) { m.Product, m.Serial = LocalProduct, 0 }, "--product", PinOptions{}},
		{"other product", nil, func(m *Manifest) { m.Product = "web" }, "of product", PinOptions{}},
		{"lower serial", nil, func(m *Manifest) { m.Serial = 12 }, "rollback", PinOptions{UnsafeLowerSerial: true}},
		{"same serial, other digest", nil, func(m *Manifest) {}, "another digest", PinOptions{UnsafeLowerSerial: true}},
		{"no expiry", nil, func(m *Manifest) { m.Serial, m.Expires = 14, time.Time{} }, "--no-expiry", PinOptions{NoExpiry: true}},
		{"revoked", func(p *Pins) { p.Revoked = []Digest{hexB} }, func(m *Manifest) { m.Serial = 14 }, "revoked", PinOptions{}},
		{"revoked artifact", func(p *Pins) { p.Revoked = []Digest{Sum(nil)} }, func(m *Manifest) { m.Serial = 14 }, "revoked", PinOptions{}},
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
			if tt.twin != (PinOptions{}) {
				all = tt.twin
			}
			if _, _, err := Update(p, m, hexB, all); (err == nil) != (tt.twin != PinOptions{}) {
				t.Errorf("Update with %+v = %v", all, err)
			}
		})
	}
}

func FuzzParsePins(f *testing.F) {
	f.Add([]byte(goodPins))
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
