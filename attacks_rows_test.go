package obspc_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

const (
	hexA     = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumsFile = release.SumsName
	manifest = release.ManifestName
	detached = release.SignatureName
	bundled  = release.BundleName
)

// attacks are all rows that can be tried from outside. docs/verification.md says
// where the others are.
func attacks() []attack {
	return slices.Concat(nameAttacks(), sumsAttacks(), fileAttacks(), signatureAttacks(), keyAttacks(), foreignAttacks(), timeAttacks(),
		hugeAttacks(), schemeAttacks(), bundleAttacks(), statementAttacks(), meaningAttacks(), callAttacks(), houseAttacks())
}

// sums changes the text of SHA256SUMS.
func sums(edit func(string) string) func(*attempt) {
	return func(a *attempt) { a.put(sumsFile, []byte(edit(string(a.read(sumsFile))))) }
}

// named gives run.json another name in release.json; text is JSON.
func named(text string) func(*attempt) {
	return func(a *attempt) { a.replace(manifest, `"name":"p/run.json"`, `"name":"`+text+`"`) }
}

func nameAttacks() (out []attack) {
	for name, text := range map[string]string{
		"dot-dot": "../x", "absolute": "/etc/passwd", "double slash": "a//b", "dot slash": "./a", "dot-dot inside": "a/../b", "empty": "",
		"trailing slash": "a/", "drive": `C:\x`, "backslash": `a\b`,
	} {
		out = append(out,
			attack{row: "1", name: name + " in the checksums", do: sums(func(s string) string { return s + hexA + "  " + text + "\n" }), file: sumsFile, reason: "malformed"},
			attack{row: "1", name: name + " in the manifest", do: named(strings.ReplaceAll(text, `\`, `\\`)), file: manifest, reason: "unsafe-name"})
	}
	for name, text := range map[string]string{
		"case alone": "p/IR.json", "look-alike": "p/\u0430.json", "two parts of Unicode": "p/e\u0301", "bidi control": "p/\u202ex", "trailing dot": "p/run.",
		"trailing space": "p/run ", "device of Windows": "p/con.json",
	} {
		out = append(out, attack{row: "14", name: name, do: named(text), file: manifest, reason: "unsafe-name"})
	}
	return append(out, attack{row: "14", name: "invalid UTF-8", do: named("p/\xff"), file: manifest, reason: "malformed"})
}

func sumsAttacks() (out []attack) {
	const malformed = "malformed: line "
	last := func(s string) string { return s[strings.LastIndex(s[:len(s)-1], "\n")+1:] }
	for _, a := range []struct {
		row, name string
		edit      func(string) string
	}{
		{"2", "duplicate with the same digest", func(s string) string { return s + last(s) }},
		{"2", "duplicate with another digest", func(s string) string { return s + hexA + last(s)[64:] }},
		{"3", "upper-case digits", func(s string) string { return strings.ToUpper(s[:64]) + s[64:] }},
		{"3", "63 digits", func(s string) string { return s[1:] }},
		{"3", "65 digits", func(s string) string { return "0" + s }},
		{"3", "no hex", func(s string) string { return "g" + s[1:] }},
		{"3", "SHA-512", func(s string) string { return s[:64] + s }},
		{"4", "CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"4", "byte order mark", func(s string) string { return "\xef\xbb\xbf" + s }},
		{"4", "lone CR", func(s string) string { return strings.Replace(s, "p/", "p\r/", 1) }},
		{"4", "NUL", func(s string) string { return strings.Replace(s, "p/", "p\x00/", 1) }},
		{"4", "no final newline", func(s string) string { return strings.TrimSuffix(s, "\n") }},
		{"4", "one space", func(s string) string { return strings.Replace(s, "  ", " ", 1) }},
		{"4", "leading blank", func(s string) string { return " " + s }},
		{"4", "comment", func(s string) string { return "# x\n" + s }},
		{"4", "binary mark", func(s string) string { return strings.Replace(s, "  ", " *", 1) }},
		{"4", "form of BSD", func(s string) string { return "SHA256 (p/ir.json) = " + s[:64] + "\n" + s }},
		{"15", "many lines", func(s string) string { return strings.Repeat("\n", 1<<20) }},
		{"15", "long line", func(s string) string { return strings.Repeat("a", 1<<20-1) + "\n" }},
		{"16", "no line", func(string) string { return "" }},
	} {
		out = append(out, attack{row: a.row, name: a.name, do: sums(a.edit), file: sumsFile, reason: malformed})
	}
	return append(out,
		attack{row: "16", name: "manifest lists nothing", do: func(a *attempt) {
			text := string(a.read(manifest))
			from, to := strings.Index(text, `"artifacts":[`)+len(`"artifacts":[`), strings.Index(text, `],"compiler"`)
			a.put(manifest, []byte(text[:from]+text[to:]))
		}, file: manifest, reason: "malformed"},
		attack{row: "16", name: "all files missing", do: func(a *attempt) { a.must(os.RemoveAll(a.path("p"))) }, file: "p/bwrap.args.txt", reason: "missing"},
	)
}

func fileAttacks() []attack {
	mode := func(name string, mode os.FileMode) func(*attempt) {
		return func(a *attempt) { a.must(os.Chmod(filepath.Join(a.dir, name), mode)) }
	}
	give := func(name string) func(*attempt) {
		return func(a *attempt) {
			if os.Geteuid() != 0 {
				a.t.Skip("host feature missing: root, to give files away")
			}
			a.must(os.Chown(filepath.Join(a.dir, name), nobody, nobody))
		}
	}
	aside := func(name string) func(*attempt) {
		return func(a *attempt) {
			a.must(os.Rename(a.path(name), filepath.Join(a.dir, "aside")))
			a.must(os.Symlink(filepath.Join(a.dir, "aside"), a.path(name)))
		}
	}
	swapped := func(name string, make func(path string) error) func(*attempt) {
		return func(a *attempt) {
			a.must(os.Remove(a.path(name)))
			a.must(make(a.path(name)))
		}
	}
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	byKey := func(do func(*attempt)) func(*attempt) {
		return func(a *attempt) {
			a.verify = []string{"verify", "release", "--key", "key.pub", "--state", "state"}
			do(a)
		}
	}
	add := func(name string) func(*attempt) {
		return func(a *attempt) {
			a.must(os.MkdirAll(filepath.Dir(a.path(name)), 0o755))
			a.put(name, []byte("x"))
		}
	}
	const unsafe = "unsafe-file"
	return []attack{
		{row: "5", name: "artifact is a link to its own bytes", do: aside("p/ir.json"), file: "p/ir.json", reason: unsafe},
		{row: "5", name: "folder is a link to its own files", do: aside("p"), file: "p", reason: unsafe},
		{row: "5", name: "artifact by another with rename", do: func(a *attempt) {
			a.must(os.WriteFile(filepath.Join(a.dir, "new"), bytes.Replace(a.read("p/run.json"), []byte("marked"), []byte("markef"), 1), 0o644))
			a.must(os.Rename(filepath.Join(a.dir, "new"), a.path("p/run.json")))
		}, file: "p/run.json", reason: "tampered"},
		{row: "6", name: "group may write an artifact", do: mode("release/p/ir.json", 0o664), file: "p/ir.json", reason: unsafe},
		{row: "6", name: "others may write the manifest", do: mode("release/release.json", 0o646), file: manifest, reason: unsafe},
		{row: "6", name: "others may write the checksums", do: mode("release/SHA256SUMS", 0o646), file: sumsFile, reason: unsafe},
		{row: "6", name: "others may write the signature", do: mode("release/SHA256SUMS.sig", 0o646), file: detached, reason: unsafe},
		{row: "6", name: "group may write the folder", do: mode("release/p", 0o775), file: "p", reason: unsafe},
		{row: "6", name: "others may write the release", do: mode("release", 0o777), file: ".", reason: unsafe},
		{row: "6", name: "group may write the pins", do: mode(release.PinsName, 0o664), file: release.PinsName, reason: unsafe},
		{row: "6", name: "others may write the pins", do: mode(release.PinsName, 0o646), file: release.PinsName, reason: unsafe},
		{row: "6", name: "others may write the key", do: byKey(mode("key.pub", 0o646)), file: "key.pub", reason: unsafe, obspc: true},
		{row: "6", name: "artifact of another user", do: give("release/p/ir.json"), file: "p/ir.json", reason: unsafe},
		{row: "6", name: "folder of another user", do: give("release/p"), file: "p", reason: unsafe},
		{row: "6", name: "pins of another user", do: give(release.PinsName), file: release.PinsName, reason: unsafe},
		{row: "6", name: "key of another user", do: byKey(give("key.pub")), file: "key.pub", reason: unsafe, obspc: true},
		{row: "12", name: "extra file", do: add("notes.txt"), file: "notes.txt", reason: "unlisted"},
		{row: "12", name: "extra file of a policy", do: add("p/more.json"), file: "p/more.json", reason: "unlisted"},
		{row: "12", name: "nested folder", do: add("p/more/x"), file: "p/more", reason: "unlisted"},
		{row: "12", name: "dot file", do: add(".hidden"), file: ".hidden", reason: "unsafe-name"},
		{row: "12", name: "signature of one file", do: add("release.json.sig"), file: "release.json.sig", reason: "unlisted"},
		{row: "13", name: "second name elsewhere", do: func(a *attempt) { a.must(os.Link(a.path("p/ir.json"), filepath.Join(a.dir, "second"))) }, file: "p/ir.json", reason: unsafe},
		{row: "14", name: "file of another case", do: add("p/IR.json"), file: "p/IR.json", reason: "unlisted"},
		{row: "15", name: "fifo as the manifest", do: swapped(manifest, fifo), file: manifest, reason: unsafe},
		{row: "15", name: "fifo as an artifact", do: swapped("p/run.json", fifo), file: "p/run.json", reason: unsafe},
		{row: "15", name: "device as the manifest", do: swapped(manifest, func(path string) error { return os.Symlink("/dev/zero", path) }), file: manifest, reason: unsafe},
		{row: "15", name: "fifo as the pins", do: func(a *attempt) {
			a.must(os.Remove(filepath.Join(a.dir, release.PinsName)))
			a.must(fifo(filepath.Join(a.dir, release.PinsName)))
		}, file: release.PinsName, reason: unsafe},
	}
}

func signatureAttacks() []attack {
	// raw changes the signature's bytes.
	raw := func(edit func([]byte) []byte) func(*attempt) {
		return func(a *attempt) {
			der, err := release.ParseSignature(a.read(detached))
			a.must(err)
			a.put(detached, release.FormatSignature(edit(bytes.Clone(der))))
		}
	}
	text := func(edit func(string) string) func(*attempt) {
		return func(a *attempt) { a.put(detached, []byte(edit(string(a.read(detached))))) }
	}
	const untrusted, malformed = "untrusted", "malformed"
	return []attack{
		{row: "7", name: "cut by a byte", do: raw(func(s []byte) []byte { return s[:len(s)-1] }), file: detached, reason: untrusted},
		{row: "7", name: "a byte more", do: raw(func(s []byte) []byte { return append(s, 0) }), file: detached, reason: untrusted},
		{row: "7", name: "two in one", do: raw(func(s []byte) []byte { return append(s, s[:128-len(s)]...) }), file: detached, reason: untrusted},
		{row: "7", name: "P1363", do: raw(func(s []byte) []byte {
			var rs struct{ R, S *big.Int }
			if _, err := asn1.Unmarshal(s, &rs); err != nil {
				panic(err)
			}
			return append(rs.R.FillBytes(make([]byte, 32)), rs.S.FillBytes(make([]byte, 32))...)
		}), file: detached, reason: untrusted},
		{row: "7", name: "none", do: func(a *attempt) { a.must(os.Remove(a.path(detached))) }, file: detached, reason: untrusted},
		{row: "7", name: "empty", do: text(func(string) string { return "" }), file: detached, reason: malformed},
		{row: "7", name: "junk in base64", do: text(func(s string) string { return "!" + s[1:] }), file: detached, reason: malformed},
		{row: "7", name: "two lines", do: text(func(s string) string { return s + s }), file: detached, reason: malformed},
		{row: "7", name: "a megabyte", do: text(func(string) string { return strings.Repeat("A", 1<<20) }), file: detached, reason: malformed},
		{row: "7", name: "foreign key over right sums", do: func(a *attempt) {
			private, _, err := sign.Generate(release.ECDSAP256, []byte("x"))
			a.must(err)
			other, err := sign.Load(private, func() ([]byte, error) { return []byte("x"), nil })
			a.must(err)
			made, bundle, err := other.Sums(a.read(sumsFile))
			a.must(err)
			a.put(detached, made)
			a.put(bundled, bundle)
		}, file: detached, reason: untrusted},
		{row: "9", name: "signature of another serial", do: func(a *attempt) {
			before := a.read(detached)
			a.seal(func(m *release.Manifest) { m.Serial = 8 })
			a.put(detached, before)
		}, file: detached, reason: untrusted},
	}
}

// pinned writes pins that edit changed.
func pinned(edit func(*release.Pins)) func(*attempt) {
	return func(a *attempt) {
		p := *a.pins
		edit(&p)
		a.must(os.WriteFile(filepath.Join(a.dir, release.PinsName), p.Format(), 0o644))
	}
}

func keyAttacks() []attack {
	// file makes the key file of the call.
	file := func(text func() string) func(*attempt) {
		return func(a *attempt) {
			a.verify = []string{"verify", "release", "--key", "key.pub", "--state", "state"}
			a.must(os.WriteFile(filepath.Join(a.dir, "key.pub"), []byte(text()), 0o644))
		}
	}
	block := func(kind string, der []byte, err error) string {
		if err != nil {
			panic(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	public := func(key any) string {
		der, err := x509.MarshalPKIXPublicKey(key)
		return block("PUBLIC KEY", der, err)
	}
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	ed, _, _ := ed25519.GenerateKey(rand.Reader)
	other := func(key any) release.Key {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			panic(err)
		}
		k, err := release.NewKey(der)
		if err != nil {
			panic(err)
		}
		return k
	}
	day := 24 * time.Hour
	window := func(w release.Window) func(*attempt) {
		return pinned(func(p *release.Pins) { p.Windows = map[release.Digest]release.Window{p.Keys[0].ID(): w} })
	}
	today := time.Now().UTC().Truncate(day)
	return []attack{
		{row: "8", name: "RSA", do: file(func() string {
			k, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				panic(err)
			}
			return public(&k.PublicKey)
		}), file: "key.pub: the key is of another type", code: 2, obspc: true},
		{row: "8", name: "P-384", do: file(func() string { return public(&p384.PublicKey) }), file: "key.pub: the key is ECDSA on P-384", code: 2, obspc: true},
		{row: "8", name: "P-384 in the pins", do: func(a *attempt) {
			der, err := x509.MarshalPKIXPublicKey(&p384.PublicKey)
			a.must(err)
			text := strings.Replace(string(a.pins.Format()), a.pins.Keys[0].Base64(), base64.StdEncoding.EncodeToString(der), 1)
			a.must(os.WriteFile(filepath.Join(a.dir, release.PinsName), []byte(text), 0o644))
		}, file: "obspc.pins:", reason: "", code: 2},
		{row: "8", name: "two blocks", do: file(func() string { return public(&p256.PublicKey) + public(&p256.PublicKey) }), file: "key.pub: something stands behind", code: 2, obspc: true},
		{row: "8", name: "certificate", do: file(func() string { return block("CERTIFICATE", []byte{0x30, 0}, nil) }), file: "key.pub: the file holds a PEM block", code: 2, obspc: true},
		{row: "8", name: "private key", do: file(func() string {
			der, err := x509.MarshalPKCS8PrivateKey(p256)
			return block("PRIVATE KEY", der, err)
		}), file: "key.pub: the file holds a private key", code: 2, obspc: true},
		{row: "8", name: "Ed25519 key for an ECDSA signature", do: file(func() string { return public(ed) }), file: detached, reason: "untrusted", obspc: true},
		{row: "8", name: "Ed25519 key pinned for an ECDSA signature", do: pinned(func(p *release.Pins) { p.Keys = []release.Key{other(ed)} }), file: detached, reason: "untrusted"},
		{row: "8", name: "key that the bundle names", do: func(a *attempt) {
			private, _, err := sign.Generate(release.Ed25519, []byte("x"))
			a.must(err)
			signer, err := sign.Load(private, func() ([]byte, error) { return []byte("x"), nil })
			a.must(err)
			_, bundle, err := signer.Sums(a.read(sumsFile))
			a.must(err)
			a.put(bundled, bundle)
		}, file: bundled, reason: "untrusted", obspc: true},
		{row: "23", name: "key removed from the pins", do: pinned(func(p *release.Pins) { p.Keys = []release.Key{other(&p256.PublicKey)} }), file: detached, reason: "untrusted"},
		{row: "23", name: "key revoked", do: func(a *attempt) {
			pinned(func(p *release.Pins) {
				p.Revoked, p.Keys, p.Sums = []release.Digest{p.Keys[0].ID()}, nil, []release.Digest{release.Sum(a.read(sumsFile))}
			})(a)
			a.verify = append(a.verify, "--key", "key.pub")
		}, reason: "untrusted: the pins revoke the key", obspc: true},
		{row: "23", name: "release revoked", do: func(a *attempt) {
			pinned(func(p *release.Pins) { p.Revoked = []release.Digest{release.Sum(a.read(sumsFile))} })(a)
		}, file: sumsFile, reason: "untrusted"},
		{row: "23", name: "artifact revoked", do: func(a *attempt) {
			pinned(func(p *release.Pins) { p.Revoked = []release.Digest{release.Sum(a.read("p/bwrap.json"))} })(a)
		}, file: "p/bwrap.json", reason: "untrusted"},
		{row: "23", name: "window of the key is over", do: window(release.Window{Until: today}), file: detached, reason: "untrusted"},
		{row: "23", name: "window of the key has not begun", do: window(release.Window{From: today.Add(2 * day)}), file: detached, reason: "untrusted"},
	}
}

func foreignAttacks() []attack {
	return []attack{
		{row: "9", name: "content of one file under the name of another", do: func(a *attempt) { a.put("p/run.json", a.read("p/ir.json")) }, file: "p/run.json", reason: "tampered"},
		{row: "9", name: "another product", do: func(a *attempt) { a.seal(func(m *release.Manifest) { m.Product = "other" }) }, file: manifest, reason: "untrusted"},
		{row: "9", name: "argument set presented as a profile", do: func(a *attempt) {
			a.seal(func(m *release.Manifest) {
				next(m)
				for i := range m.Artifacts {
					if m.Artifacts[i].Name == "p/bwrap.json" {
						m.Artifacts[i].Kind, m.Artifacts[i].Target = "seatbelt", "seatbelt"
					}
				}
			})
		}, file: "p/bwrap.json", reason: "unproven"},
		{row: "9", name: "manifest of another release", do: func(a *attempt) { a.replace(manifest, `"serial":7`, `"serial":9`) }, file: manifest, reason: "tampered"},
	}
}

func timeAttacks() []attack {
	seal := func(edit func(*release.Manifest)) func(*attempt) { return func(a *attempt) { a.seal(edit) } }
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	const stale = "stale"
	older := func(serial int64) func(*attempt) {
		return func(a *attempt) {
			pinned(func(p *release.Pins) { p.Serial = 1 })(a)
			a.seal(func(m *release.Manifest) { m.Serial, m.Created = serial, year(2025) })
		}
	}
	return []attack{
		{row: "10", name: "serial below the pins", do: seal(func(m *release.Manifest) { m.Serial = 6 }), file: manifest, reason: stale},
		{row: "10", name: "serial below the remembered", do: older(6), file: manifest, reason: stale, obspc: true},
		{row: "10", name: "equal serial with another digest", do: older(7), file: manifest, reason: stale, obspc: true},
		{row: "11", name: "expired", do: seal(func(m *release.Manifest) { m.Created, m.Expires = year(2019), year(2020) }), file: manifest, reason: stale},
		{row: "11", name: "created in the future", do: seal(func(m *release.Manifest) { m.Created = year(2098) }), file: manifest, reason: stale},
		{row: "11", name: "without expiry", do: seal(func(m *release.Manifest) { m.Expires = time.Time{} }), file: manifest, reason: stale},
		{row: "11", name: "clock moved back", do: func(a *attempt) { a.verify = append(a.verify, "--at", "2025-06-01T00:00:00Z") }, file: manifest, reason: stale, obspc: true},
		{row: "11", name: "clock moved on", do: func(a *attempt) { a.verify = append(a.verify, "--at", "2099-06-01T00:00:00Z") }, file: manifest, reason: stale, obspc: true},
		{row: "format", name: "newer generation", do: func(a *attempt) { a.replace(manifest, `"format":1`, `"format":2`) }, file: manifest, reason: "unsupported-format: the release was made by a newer obspc", code: 3},
	}
}

func hugeAttacks() []attack {
	grown := func(name string) func(*attempt) {
		return func(a *attempt) { a.must(os.Truncate(a.path(name), 1<<30)) }
	}
	deep := []byte(strings.Repeat("[", 10_000))
	return []attack{
		{row: "15", name: "checksums of a gigabyte", do: grown(sumsFile), file: sumsFile, reason: "oversize"},
		{row: "15", name: "manifest of a gigabyte", do: grown(manifest), file: manifest, reason: "oversize"},
		{row: "15", name: "signature of a gigabyte", do: grown(detached), file: detached, reason: "oversize"},
		{row: "15", name: "artifact larger than signed", do: grown("p/run.json"), file: "p/run.json", reason: "tampered"},
		{row: "15", name: "deep manifest", do: func(a *attempt) { a.put(manifest, deep) }, file: manifest, reason: "malformed"},
		{row: "15", name: "deep bundle", do: func(a *attempt) { a.put(bundled, append([]byte(`{"mediaType":`), deep...)) }, file: bundled, reason: "untrusted", obspc: true},
		{row: "15", name: "pins of a gigabyte", do: func(a *attempt) { a.must(os.Truncate(filepath.Join(a.dir, release.PinsName), 1<<30)) }, file: release.PinsName, reason: "oversize", code: 2},
	}
}

func bundleAttacks() (out []attack) {
	const media = `"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"`
	for _, b := range []struct {
		name string
		edit func(string) string
	}{
		{"duplicate member", func(s string) string { return strings.Replace(s, media, media+","+media, 1) }},
		{"unknown member", func(s string) string { return strings.Replace(s, media, media+`,"x":1`, 1) }},
		{"member in another case", func(s string) string { return strings.Replace(s, `"mediaType"`, `"MediaType"`, 1) }},
		{"media type 0.1", func(s string) string { return strings.Replace(s, "bundle.v0.3+json", "bundle+json;version=0.1", 1) }},
		{"media type 0.9", func(s string) string { return strings.Replace(s, "v0.3", "v0.9", 1) }},
		{"something behind", func(s string) string { return s + "{}" }},
		{"cut", func(s string) string { return s[:len(s)/2] }},
		{"digest of another file", func(s string) string {
			at := strings.Index(s, `"digest":"`) + len(`"digest":"`)
			return s[:at] + base64.StdEncoding.EncodeToString(make([]byte, 32)) + s[at+44:]
		}},
		{"another algorithm", func(s string) string { return strings.Replace(s, "SHA2_256", "SHA2_512", 1) }},
		{"another signature", func(s string) string {
			at := strings.Index(s, `"signature":"`) + len(`"signature":"`)
			return s[:at] + "AAAA" + s[at+4:]
		}},
	} {
		out = append(out, attack{row: "17", name: b.name, file: bundled, reason: "untrusted", obspc: true, do: func(a *attempt) {
			before := string(a.read(bundled))
			after := b.edit(before)
			if after == before {
				a.t.Fatalf("the bundle is unchanged: %s", before)
			}
			a.put(bundled, []byte(after))
		}})
	}
	return out
}

func statementAttacks() []attack {
	const untrusted = "untrusted: the statement does not hold"
	return []attack{
		{row: "18", name: "one statement as the other", do: func(a *attempt) { a.put(sign.ResultName, a.read(sign.ProvenanceName)) }, file: sign.ResultName, reason: untrusted, obspc: true},
		{row: "18", name: "payload type swapped", do: func(a *attempt) {
			a.replace(sign.ResultName, "application/vnd.in-toto+json", "text/plain")
		}, file: sign.ResultName, reason: untrusted, obspc: true},
		{row: "18", name: "payload is no JSON", do: func(a *attempt) {
			a.put(sign.ResultName, []byte(`{"payloadType":"application/vnd.in-toto+json","payload":"eA==","signatures":[{"sig":"AA=="}]}`))
		}, file: sign.ResultName, reason: untrusted, obspc: true},
		{row: "18", name: "statement of another release", do: func(a *attempt) {
			before := a.read(sign.ProvenanceName)
			a.seal(func(m *release.Manifest) { m.Serial = 8 })
			a.put(sign.ProvenanceName, before)
		}, file: sign.ProvenanceName, reason: untrusted, obspc: true},
	}
}

// next is what a release needs not to be refused as old.
func next(m *release.Manifest) { m.Serial = 8 }

func meaningAttacks() []attack {
	sealed := func(name, old, new string) func(*attempt) {
		return func(a *attempt) {
			a.replace(name, old, new)
			a.seal(next)
		}
	}
	const set, unproven = "p/bwrap.json", "unproven"
	return []attack{
		{row: "19", name: "end of options where a path belongs", do: sealed(set, `"path":"/usr"`, `"path":"--"`), file: set, reason: unproven},
		{row: "19", name: "nested options where a path belongs", do: sealed(set, `"path":"/usr"`, `"path":"--args"`), file: set, reason: unproven},
		{row: "19", name: "empty path", do: sealed(set, `"path":"/usr"`, `"path":""`), file: set, reason: unproven},
		{row: "19", name: "more than 9000 arguments", do: func(a *attempt) {
			const one = `{"do":"proc","origin":"builtin/proc","path":"/proc"},`
			a.replace(set, one, strings.Repeat(one, 9001))
			a.seal(next)
		}, file: set, reason: unproven},
		{row: "19", name: "rendering with the end of options", do: sealed("p/bwrap.args.txt", "--new-session\n", "--\n"), file: "p/bwrap.args.txt", reason: unproven},
		{row: "signed", name: "argument set that shares the network", do: sealed(set, `"net",`, ""), file: set, reason: unproven},
		{row: "signed", name: "argument set with a foreign mount", do: sealed(set, `"operations":[`, `"operations":[{"do":"bind","level":"read","origin":"p/filesystem.write[0]","path":"/root"},`), file: set, reason: unproven},
		{row: "signed", name: "profile with a foreign grant", do: func(a *attempt) {
			a.put("p/seatbelt.sb", append(a.read("p/seatbelt.sb"), "(allow default)\n"...))
			a.seal(next)
		}, file: "p/seatbelt.sb", reason: unproven},
	}
}

func callAttacks() []attack {
	call := func(args ...string) func(*attempt) { return func(a *attempt) { a.verify = args } }
	return []attack{
		{row: "20", name: "unknown flag", do: call("verify", "release", "--kee", "key.pub"), file: "no flag --kee", code: 2, obspc: true},
		{row: "20", name: "missing key", do: call("verify", "release", "--key", "none.pub"), file: "none.pub", reason: "", code: 2, obspc: true},
		{row: "20", name: "flag without its value", do: call("verify", "release", "--key"), file: "--key needs a value", code: 2, obspc: true},
		{row: "20", name: "two releases", do: call("verify", "release", "release", "--key", "key.pub"), file: "one RELEASE", code: 2, obspc: true},
		{row: "20", name: "missing release", do: call("verify", "nowhere", "--key", "key.pub"), file: "nowhere", code: 2, obspc: true},
		{row: "20", name: "completion as the last word", do: call("verify", "release", "--generate-bash-completion"), file: "--generate-bash-completion", code: 2, obspc: true},
		{row: "20", name: "nothing asked for", do: call("verify", "release"), file: "release: unverified: nothing was asked for", obspc: true},
		{row: "20", name: "flag behind the argument counts", do: func(a *attempt) {
			_, public, err := sign.Generate(release.ECDSAP256, []byte("x"))
			a.must(err)
			a.must(os.WriteFile(filepath.Join(a.dir, "other.pub"), public, 0o644))
			a.verify = []string{"verify", "release", "--key", "other.pub"}
		}, file: detached, reason: "untrusted", obspc: true},
	}
}

func houseAttacks() []attack {
	rules := func(text, exemptions string, more ...string) func(*attempt) {
		return func(a *attempt) {
			a.house(text, exemptions)
			a.verify = append(append(a.verify, "--rules", "house"), more...)
		}
	}
	const always = `deny contains "no" if input.policy == "p"`
	return []attack{
		{row: "rules", name: "member that a typo invents", do: rules(`deny contains "no" if input.polcy == "p"`, ""), file: "house/house.rego:3", code: 2, obspc: true},
		{row: "rules", name: "rule that a typo leaves unasked", do: rules("denny contains \"no\" if true\n\ndeny contains \"no\" if false", ""), file: "house/house.rego:3", code: 2, obspc: true},
		{row: "rules", name: "exemption that expired", do: rules(always, "naming p 2026-01-31 soon", "--at", "2026-02-01T00:00:00Z"), file: "p/ir.json", reason: "violation", obspc: true},
		{row: "rules", name: "exemption that nothing needs", do: rules(`deny contains "no" if input.policy == "q"`, "naming p 2098-01-31 soon"), reason: "violation", obspc: true},
	}
}
