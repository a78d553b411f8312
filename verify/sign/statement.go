package sign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/signature/dsse"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// Names of the statements in a release directory.
const (
	ProvenanceName = "provenance.intoto.jsonl"
	ResultName     = "verification.intoto.jsonl"
)

// Types of in-toto statements (in-toto attestation framework, Statement v1) and of
// the predicates that obspc writes: SLSA provenance v1, and SLSA's verification
// summary v1.
const (
	payloadType    = "application/vnd.in-toto+json"
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	summaryType    = "https://slsa.dev/verification_summary/v1"
	buildType      = "https://github.com/obspc/obspc/compile/v1"
	builderID      = "https://github.com/obspc/obspc"
	passed         = "PASSED"
)

type digests struct {
	SHA256 release.Digest `json:"sha256"`
}

// subject is a file of the release by its name and its digest: each of them is
// compared, so that a statement about one file says nothing about another.
type subject struct {
	Name   string  `json:"name"`
	Digest digests `json:"digest"`
}

type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type resource struct {
	URI    string  `json:"uri"`
	Digest digests `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType          string     `json:"buildType"`
		ExternalParameters parameters `json:"externalParameters"`
		Dependencies       []resource `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// parameters are what the compiler was told.
type parameters struct {
	Product string         `json:"product"`
	Serial  int64          `json:"serial"`
	Inputs  release.Inputs `json:"inputs"`
}

type summary struct {
	Verifier struct {
		ID      string            `json:"id"`
		Version map[string]string `json:"version"`
	} `json:"verifier"`
	TimeVerified       string   `json:"timeVerified"`
	ResourceURI        string   `json:"resourceUri"`
	Policy             resource `json:"policy"`
	VerificationResult string   `json:"verificationResult"`
	VerifiedLevels     []string `json:"verifiedLevels"`
}

// Provenance states how the release was made: from which sources, by which
// compiler, with which inputs.
func (s *Signer) Provenance(m *release.Manifest, sums []byte) ([]byte, error) {
	var p provenance
	p.BuildDefinition.BuildType = buildType
	p.BuildDefinition.ExternalParameters = parameters{m.Product, m.Serial, m.Inputs}
	for _, source := range m.Sources {
		p.BuildDefinition.Dependencies = append(p.BuildDefinition.Dependencies, resource{source.Name, digests{source.SHA256}})
	}
	p.RunDetails.Builder.ID, p.RunDetails.Builder.Version = builderID, map[string]string{"obspc": m.Compiler}
	return s.state(m, sums, provenanceType, p)
}

// Result states that the release passed checks, by their names, and the digest of
// the house rules that were asked ("" for none).
func (s *Signer) Result(m *release.Manifest, sums []byte, checks []string, rules release.Digest, at time.Time) ([]byte, error) {
	v := summary{
		TimeVerified: at.UTC().Format(time.RFC3339), ResourceURI: fmt.Sprintf("%s/%d", m.Product, m.Serial), VerificationResult: passed,
	}
	v.Verifier.ID, v.Verifier.Version = builderID, map[string]string{"obspc": release.Version}
	v.Policy = resource{"house-rules", digests{rules}}
	for _, check := range checks {
		v.VerifiedLevels = append(v.VerifiedLevels, level(check))
	}
	return s.state(m, sums, summaryType, v)
}

// level is a check as SLSA's verified levels name things of other verifiers.
func level(check string) string {
	return "OBSPC_" + strings.ToUpper(strings.ReplaceAll(check, "-", "_")) + "_" + passed
}

// state signs a statement about every file of the release.
func (s *Signer) state(m *release.Manifest, sums []byte, kind string, predicate any) ([]byte, error) {
	text, err := json.Marshal(predicate)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(statement{statementType, subjects(m, sums), kind, text})
	if err != nil {
		return nil, err
	}
	envelope, err := dsse.WrapSigner(s.signer, payloadType).SignMessage(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, envelope); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// subjects are all files of the release, SHA256SUMS first.
func subjects(m *release.Manifest, sums []byte) []subject {
	out := []subject{{release.SumsName, digests{release.Sum(sums)}}}
	for _, a := range m.Artifacts {
		out = append(out, subject{a.Name, digests{a.SHA256}})
	}
	return out
}

// Statements is the check that the statements in a release are signed by one of
// the keys and speak of exactly this release. Required are the names of statements
// that must be there.
type Statements struct {
	Keys     []release.Key
	Required []string
	// Rules, when not "", is the digest of the house rules that the result must
	// name.
	Rules release.Digest
}

// Name is that of a check of its own.
func (*Statements) Name() string { return "statements" }

// Anchors is false: SHA256SUMS.sig vouches for the release; statements say more
// about it.
func (*Statements) Anchors() bool { return false }

// Applies reports whether there is a statement, or one must be.
func (c *Statements) Applies(s *verify.Subject) bool {
	return len(c.Required) > 0 || slices.ContainsFunc([]string{ProvenanceName, ResultName}, func(name string) bool {
		_, ok := s.Attachment(name)
		return ok
	})
}

// Run reads each statement that is there.
func (c *Statements) Run(s *verify.Subject) (failures []verify.Failure, warnings []string) {
	keys := trusted(s, c.Keys)
	for _, name := range []string{ProvenanceName, ResultName} {
		text, ok := s.Attachment(name)
		switch {
		case ok:
			if err := c.read(s, keys, name, text); err != nil {
				failures = append(failures, verify.Failure{File: name, Reason: verify.Untrusted, Message: "the statement does not hold: " + err.Error()})
			}
		case slices.Contains(c.Required, name):
			failures = append(failures, verify.Failure{File: name, Reason: verify.Missing, Message: "the statement is required and is not there"})
		}
	}
	return failures, warnings
}

func (c *Statements) read(s *verify.Subject, keys []release.Key, name string, text []byte) error {
	payload, err := openEnvelope(keys, text)
	if err != nil {
		return err
	}
	var st statement
	if err := strict(payload, &st); err != nil {
		return fmt.Errorf("it is no in-toto statement: %w", err)
	}
	if st.Type != statementType {
		return fmt.Errorf("it is of type %q, want %q", st.Type, statementType)
	}
	m := s.Manifest()
	if err := sameSubjects(st.Subject, subjects(m, s.Sums())); err != nil {
		return err
	}
	if name == ProvenanceName {
		return readProvenance(st, m)
	}
	return c.readSummary(st, m)
}

// maxSignatures bounds those of one envelope; obspc writes one.
const maxSignatures = 8

// openEnvelope checks the signature of an envelope and returns the payload that was
// signed.
func openEnvelope(keys []release.Key, text []byte) ([]byte, error) {
	line := bytes.TrimSuffix(text, []byte("\n"))
	if bytes.Contains(line, []byte("\n")) {
		return nil, errors.New("it has more than one line, and one statement is one line")
	}
	// An envelope is one object with one for each signature. The payload, in base64,
	// has none, and every signature is tried.
	if n := bytes.Count(line, []byte{'{'}); n > 1+maxSignatures {
		return nil, fmt.Errorf("it has more than %d signatures", maxSignatures)
	}
	err := errors.New("no key is trusted")
	for _, k := range keys {
		var payload []byte
		err = dsse.WrapVerifier(keyVerifier{k}, dsse.WithExpectedPayloadType(payloadType), dsse.WithDecodedPayload(&payload)).
			VerifySignature(bytes.NewReader(line), nil)
		if err == nil {
			return payload, nil
		}
	}
	return nil, fmt.Errorf("it is not signed by a trusted key: %w", err)
}

// sameSubjects wants each file of the release once, by name and digest, and no
// other.
func sameSubjects(found, wanted []subject) error {
	want := map[string]digests{}
	for _, s := range wanted {
		want[s.Name] = s.Digest
	}
	for _, s := range found {
		d, ok := want[s.Name]
		switch {
		case !ok:
			return fmt.Errorf("it speaks of %q, which is no file of this release or stands twice", s.Name)
		case d != s.Digest:
			return fmt.Errorf("it speaks of another %s", s.Name)
		}
		delete(want, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		return fmt.Errorf("it does not speak of %s", name)
	}
	return nil
}

func readProvenance(st statement, m *release.Manifest) error {
	if st.PredicateType != provenanceType {
		return fmt.Errorf("its predicate is %q, want %q", st.PredicateType, provenanceType)
	}
	var p provenance
	if err := strict(st.Predicate, &p); err != nil {
		return err
	}
	stated := p.BuildDefinition.ExternalParameters
	switch {
	case p.BuildDefinition.BuildType != buildType || p.RunDetails.Builder.ID != builderID:
		return errors.New("it is about another kind of build")
	case stated.Product != m.Product || stated.Serial != m.Serial:
		return fmt.Errorf("it is about %s %d", stated.Product, stated.Serial)
	case p.RunDetails.Builder.Version["obspc"] != m.Compiler:
		return errors.New("it names another compiler than release.json")
	case len(p.BuildDefinition.Dependencies) != len(m.Sources):
		return errors.New("it names other sources than release.json")
	}
	for i, source := range m.Sources {
		if p.BuildDefinition.Dependencies[i] != (resource{source.Name, digests{source.SHA256}}) {
			return fmt.Errorf("it names another source than %s", source.Name)
		}
	}
	return nil
}

func (c *Statements) readSummary(st statement, m *release.Manifest) error {
	if st.PredicateType != summaryType {
		return fmt.Errorf("its predicate is %q, want %q", st.PredicateType, summaryType)
	}
	var v summary
	if err := strict(st.Predicate, &v); err != nil {
		return err
	}
	switch {
	case v.Verifier.ID != builderID:
		return fmt.Errorf("the verifier is %q, want %q", v.Verifier.ID, builderID)
	case v.ResourceURI != fmt.Sprintf("%s/%d", m.Product, m.Serial):
		return fmt.Errorf("it is about %s", v.ResourceURI)
	case v.VerificationResult != passed:
		return fmt.Errorf("the result is %q, want %q", v.VerificationResult, passed)
	case c.Rules != "" && (v.Policy.Digest.SHA256 != c.Rules || !slices.Contains(v.VerifiedLevels, level(verify.Rules))):
		return errors.New("it does not say that these house rules were held")
	}
	return nil
}

// strict decodes JSON without unknown members and without anything behind it.
func strict(data []byte, to any) error {
	// What is decoded costs many times its bytes, so it is counted first: a release
	// of the most files and sources has fewer of each.
	if bytes.Count(data, []byte{'{'}) > 8*release.MaxFiles || bytes.Count(data, []byte{','}) > 16*release.MaxFiles {
		return fmt.Errorf("it speaks of more than a release holds (%d files)", release.MaxFiles)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something stands behind it")
	}
	again, err := json.Marshal(to)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, bytes.TrimSpace(data)) {
		return errors.New("it is not in the one form that obspc writes")
	}
	return nil
}
