package verify

import (
	"bytes"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// Trust is what one call accepts: pins and flags. Its zero value accepts nothing.
type Trust struct {
	// Pins, when not nil, must accept the release.
	Pins *release.Pins
	// Keys, when there are any, are those that may have signed the release, of the
	// pins' keys if the pins list keys too.
	Keys []release.Key
	// Now is the time that expiry is measured against. It must be set.
	Now time.Time
	// StateDir, when not "", remembers for each product the highest serial that
	// was accepted, and refuses lower ones. Nothing else is ever written.
	StateDir string
	// Only, when not empty, names the policies that the caller will use: no other
	// is proven, and no other is in the Verified. The rest of the release is held
	// to structure, checksums and pins all the same.
	Only []string
	// Development is for a release that the caller has just compiled and pinned
	// itself: it must be of product "local", the verdict says "development"
	// instead of "pins", and no serial is remembered.
	Development bool
}

// Check is a check beyond the built-in ones: signatures, recompilation, house
// rules, golden files. It is added by the program that can do it, so that the
// other does not have to link it.
type Check interface {
	// Name is the word under which it is reported. Signature, Recompilation,
	// Rules and Golden have a fixed place in the report; others follow them.
	Name() string
	// Anchors reports whether passing this check vouches for the release, as a
	// signature does and a house rule does not.
	Anchors() bool
	// Run returns every failure, none when the check passed, and warnings.
	Run(*Subject) (failures []Failure, warnings []string)
}

// Conditional is a Check about what not every release has. Where it does not apply
// it is not run, and no verdict names it.
type Conditional interface {
	Check
	Applies(*Subject) bool
}

// Subject is a release while it is being checked. Nothing about it is trusted:
// other checks may have failed. What its methods return is a copy.
type Subject struct{ o *opening }

// Trust is what this call accepts, as the caller of Open gave it.
func (s *Subject) Trust() Trust { return s.o.trust }

// Manifest is release.json as read.
func (s *Subject) Manifest() *release.Manifest { return cloneManifest(s.o.manifest) }

// Sums are the bytes of SHA256SUMS: what a signature is made over. They are nil
// when the file could not be read.
func (s *Subject) Sums() []byte { return bytes.Clone(s.o.sumsData) }

// Attachment is a signature, bundle or statement beside SHA256SUMS.
func (s *Subject) Attachment(name string) ([]byte, bool) {
	data, ok := s.o.attachments[name]
	return bytes.Clone(data), ok
}

// File is the bytes of an artifact that passed the checksums; false when it did
// not, or is only hashed.
func (s *Subject) File(name string) ([]byte, bool) {
	c, ok := s.o.contents[name]
	return bytes.Clone(c.data), ok && c.held
}

// Digest is the SHA-256 of an artifact that passed the checksums.
func (s *Subject) Digest(name string) (release.Digest, bool) {
	c, ok := s.o.contents[name]
	return c.digest, ok
}

// Stated is where the statement of the policy stands that the origin names; nil
// when the release does not tell.
func (s *Subject) Stated(policy string, origin ir.Origin) *Place { return s.o.stated(policy, origin) }

// IR is a policy's meaning; nil when its ir.json is absent or malformed.
func (s *Subject) IR(policy string) *ir.Policy {
	c, ok := s.o.contents[policy+"/"+irFile]
	if !ok || !c.held {
		return nil
	}
	p, err := ir.ParseJSON(c.data)
	if err != nil {
		return nil
	}
	return p
}
