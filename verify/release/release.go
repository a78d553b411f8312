// Package release reads and writes what obspc hands from the place where policies
// are compiled to the place where they are used: a release directory (artifacts,
// release.json, SHA256SUMS) and the pins that say which releases a consumer
// accepts. Its one rule: readers are strict and bounded, so one release has one
// spelling and no file can make a reader allocate more than its own size. Build
// and Pack are pure; Write alone touches the disk. Whether a release may be used
// is judged in package verify.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// File is one file of a release: its name below the release directory, with "/"
// between components, and its bytes.
type File struct {
	Name string
	Data []byte
}

// ManifestName and SumsName are the two files that every release has beside its
// artifacts.
const (
	ManifestName = "release.json"
	SumsName     = "SHA256SUMS"
)

// SignatureName and BundleName are the detached signatures a release may carry
// over SHA256SUMS: base64 of a DER signature, and a Sigstore bundle.
const (
	SignatureName = "SHA256SUMS.sig"
	BundleName    = "SHA256SUMS.sigstore.json"
)

// statementSuffix ends the names of in-toto statements, which are not listed in
// SHA256SUMS because they speak about it.
const statementSuffix = ".intoto.jsonl"

// Limits on what a reader accepts, checked before anything of that size is
// allocated or parsed.
const (
	MaxFile      = 16 << 20  // bytes of one file that is held in memory
	MaxHeld      = 256 << 20 // bytes of all files of one release held in memory
	MaxHashed    = 4 << 30   // bytes of one file that is only hashed
	MaxFiles     = 4096      // artifacts of one release
	MaxManifest  = 4 << 20   // bytes of release.json
	MaxSums      = 1 << 20   // bytes of SHA256SUMS
	MaxPins      = 1 << 20   // bytes of obspc.pins
	MaxSignature = 1 << 20   // bytes of one signature, bundle or statement file
	MaxName      = 100       // bytes of a name: what a plain ustar header holds
)

// IsAttachment reports whether name is a file that may lie in a release directory
// though SHA256SUMS does not list it: a signature, a bundle or a statement.
func IsAttachment(name string) bool {
	if name == SignatureName || name == BundleName {
		return true
	}
	return !strings.Contains(name, "/") && strings.HasSuffix(name, statementSuffix) && CheckName(name) == nil
}

// Digest is a SHA-256 in lower-case hexadecimal, 64 digits.
type Digest string

// Sum is the digest of data.
func Sum(data []byte) Digest {
	h := sha256.Sum256(data)
	return Digest(hex.EncodeToString(h[:]))
}

// IRDigest is the digest of a policy's meaning: SHA-256 over "obspc-ir/1\n" and
// the bytes of ir.json. The prefix keeps it from ever being mistaken for the
// digest of a file.
func IRDigest(ir []byte) Digest {
	h := sha256.New()
	h.Write([]byte("obspc-ir/1\n"))
	h.Write(ir)
	return Digest(hex.EncodeToString(h.Sum(nil)))
}

// ParseDigest reads 64 lower-case hexadecimal digits and nothing else.
func ParseDigest(s string) (Digest, error) {
	if len(s) != 2*sha256.Size {
		return "", fmt.Errorf("digest has %d digits, SHA-256 has %d", len(s), 2*sha256.Size)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
		case c >= 'A' && c <= 'F':
			return "", fmt.Errorf("digest is in upper case")
		default:
			return "", fmt.Errorf("digest has the character %q at %d", c, i+1)
		}
	}
	return Digest(s), nil
}

// sortFiles orders files as the C locale does: by bytes of the name.
func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}
