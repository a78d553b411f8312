package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obspc/obspc/compiler/canon"
)

// Schema names what release.json is; Format counts the generations of a release
// as a whole, artifacts included. Readers take the current one and the one before,
// OldestFormat, which is the same as long as there was only one.
const (
	Schema       = "obspc.release/v1"
	Format       = 1
	OldestFormat = max(1, Format-1)
)

// LocalProduct is the product of a release that was given none. It is for the
// machine that made it: nothing pins or signs it.
const LocalProduct = "local"

// MaxSerial is the largest serial: the largest integer every JSON reader keeps.
const MaxSerial = 1<<53 - 1

// Manifest is release.json. Created and Expires are UTC in whole seconds; zero
// means absent.
type Manifest struct {
	Product   string
	Serial    int64
	Created   time.Time
	Expires   time.Time
	Compiler  string
	Inputs    Inputs
	Sources   []Source
	Artifacts []Artifact
}

// Inputs are the compile options as they were given; an empty list means that the
// option was not used.
type Inputs struct {
	Targets   []string        `json:"targets,omitempty"`
	Policies  []string        `json:"policies,omitempty"`
	Variables []VariableInput `json:"variables,omitempty"`
}

// VariableInput is one `--var NAME=VALUE`.
type VariableInput struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Source is one source file and its digest. Its name is text for people: nothing
// opens it.
type Source struct {
	Name   string `json:"name"`
	SHA256 Digest `json:"sha256"`
}

// Artifact is one file that a target made. Target is "" for what every target
// shares. IR is the digest of the meaning it was made from.
type Artifact struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	Size   int64  `json:"size"`
	SHA256 Digest `json:"sha256"`
	IR     Digest `json:"ir"`
}

// Policy is the policy the artifact belongs to: the first component of its name.
func (a Artifact) Policy() string {
	policy, _, _ := strings.Cut(a.Name, "/")
	return policy
}

// wireManifest is release.json's shape.
type wireManifest struct {
	Format    int        `json:"format"`
	Schema    string     `json:"schema"`
	Product   string     `json:"product"`
	Serial    int64      `json:"serial"`
	Created   string     `json:"created,omitempty"`
	Expires   string     `json:"expires,omitempty"`
	Compiler  string     `json:"compiler"`
	Inputs    Inputs     `json:"inputs"`
	Sources   []Source   `json:"sources"`
	Artifacts []Artifact `json:"artifacts"`
}

// FormatError says that a release is of a generation this version does not read.
type FormatError struct{ Found int64 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s: format %d, this version reads %s", ManifestName, e.Cause(), e.Found, Formats())
}

// Cause says which of the two is to be renewed.
func (e *FormatError) Cause() string {
	if e.Found > Format {
		return "the release was made by a newer obspc; verify it with that version or a later one"
	}
	return "the release was made by an older obspc, in a form that is no longer read; compile it again"
}

// Formats are the generations that are read, for messages.
func Formats() string {
	if OldestFormat == Format {
		return fmt.Sprintf("format %d", Format)
	}
	return fmt.Sprintf("format %d or %d", OldestFormat, Format)
}

// JSON is release.json: canonical, so one manifest has one text.
func (m *Manifest) JSON() ([]byte, error) {
	w := wireManifest{
		Format: Format, Schema: Schema, Product: m.Product, Serial: m.Serial, Created: formatTime(m.Created), Expires: formatTime(m.Expires),
		Compiler: m.Compiler, Inputs: m.Inputs, Sources: m.Sources, Artifacts: m.Artifacts,
	}
	return canon.Marshal(w)
}

// ParseManifest reads release.json strictly. The error is a *FormatError when the
// release is of another generation, and wraps a *NameError when a name is unsafe;
// that is known before any file is opened by such a name.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("%s has more than %d bytes", ManifestName, MaxManifest)
	}
	// Every object costs many times its two bytes once decoded, so they are
	// counted first. Braces inside strings are counted too: names hold none.
	// So does every element of a list, whatever stands there, hence the commas; the
	// limit leaves room for some in the values of variables.
	if n := bytes.Count(data, []byte{'{'}); n > 2*MaxFiles {
		return nil, fmt.Errorf("%s has %d objects, at most %d are read", ManifestName, n, 2*MaxFiles)
	}
	if n := bytes.Count(data, []byte{','}); n > 16*MaxFiles {
		return nil, fmt.Errorf("%s has %d commas, at most %d are read", ManifestName, n, 16*MaxFiles)
	}
	if err := checkFormat(data); err != nil {
		return nil, err
	}
	var w wireManifest
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	m, err := w.manifest()
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return m, nil
}

// checkFormat looks at format alone, because a newer generation may hold members
// that this one refuses, and "unknown field" would be the wrong thing to say.
func checkFormat(data []byte) error {
	var head struct {
		Format *int64 `json:"format"`
	}
	if json.Unmarshal(data, &head) != nil || head.Format == nil || *head.Format < 1 {
		return nil // no generation of anything: the reader says what is wrong with it
	}
	if f := *head.Format; f < OldestFormat || f > Format {
		return &FormatError{f}
	}
	return nil
}

func (w *wireManifest) manifest() (*Manifest, error) {
	if w.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this version reads %q", w.Schema, Schema)
	}
	if w.Format < OldestFormat || w.Format > Format {
		return nil, fmt.Errorf("format %d is none", w.Format)
	}
	m := &Manifest{
		Product: w.Product, Serial: w.Serial, Compiler: w.Compiler, Inputs: w.Inputs, Sources: w.Sources, Artifacts: w.Artifacts,
	}
	for _, t := range []struct {
		name string
		text string
		to   *time.Time
	}{{"created", w.Created, &m.Created}, {"expires", w.Expires, &m.Expires}} {
		if t.text == "" {
			continue
		}
		at, err := ParseTime(t.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		*t.to = at
	}
	return m, nil
}

// check holds for what Build makes and for what ParseManifest accepts.
func (m *Manifest) check() error {
	if err := CheckProduct(m.Product); err != nil {
		return err
	}
	switch {
	case m.Serial < 0 || m.Serial > MaxSerial:
		return fmt.Errorf("serial %d is outside 0 to %d", m.Serial, MaxSerial)
	case (m.Product == LocalProduct) != (m.Serial == 0):
		return fmt.Errorf("product %q has serial %d: serials start at 1, and only product %q has 0", m.Product, m.Serial, LocalProduct)
	case m.Compiler == "":
		return fmt.Errorf("compiler version is missing")
	case !m.Created.IsZero() && !m.Expires.IsZero() && !m.Expires.After(m.Created):
		return fmt.Errorf("expires %s, which is not after it was created %s", formatTime(m.Expires), formatTime(m.Created))
	case len(m.Artifacts) == 0:
		return fmt.Errorf("no artifact is listed: nothing would be verified")
	case len(m.Artifacts) > MaxFiles:
		return fmt.Errorf("%d artifacts are listed, at most %d are read", len(m.Artifacts), MaxFiles)
	}
	if err := m.checkSources(); err != nil {
		return err
	}
	return m.checkArtifacts()
}

func (m *Manifest) checkSources() error {
	for i, s := range m.Sources {
		if s.Name == "" || controlByte(s.Name) >= 0 {
			return fmt.Errorf("source name %q is empty or holds a control character", s.Name)
		}
		if i > 0 && m.Sources[i-1].Name >= s.Name {
			return fmt.Errorf("sources %q and %q are out of order or the same", m.Sources[i-1].Name, s.Name)
		}
		if _, err := ParseDigest(string(s.SHA256)); err != nil {
			return fmt.Errorf("source %q: %w", s.Name, err)
		}
	}
	return nil
}

func (m *Manifest) checkArtifacts() error {
	names := nameSet{fold(ManifestName): ManifestName, fold(SumsName): SumsName}
	irs := map[string]Digest{}
	for i, a := range m.Artifacts {
		if err := CheckName(a.Name); err != nil {
			return err
		}
		if err := names.add(a.Name); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return fmt.Errorf("artifact %q: %w", a.Name, err)
		}
		if i > 0 && m.Artifacts[i-1].Name > a.Name {
			return fmt.Errorf("artifact %q is out of order", a.Name)
		}
		if have, ok := irs[a.Policy()]; ok && have != a.IR {
			return fmt.Errorf("artifact %q is made from another ir.json than the rest of its policy", a.Name)
		}
		irs[a.Policy()] = a.IR
	}
	return nil
}

func (a Artifact) check() error {
	if !strings.Contains(a.Name, "/") {
		return fmt.Errorf("it lies in no policy's folder")
	}
	if a.Kind == "" || faultOf(a.Kind) != "" {
		return fmt.Errorf("kind %q is malformed", a.Kind)
	}
	if a.Target != "" && faultOf(a.Target) != "" {
		return fmt.Errorf("target %q is malformed", a.Target)
	}
	if a.Size < 0 || a.Size > MaxHashed {
		return fmt.Errorf("size %d is outside 0 to %d", a.Size, int64(MaxHashed))
	}
	if _, err := ParseDigest(string(a.SHA256)); err != nil {
		return err
	}
	if _, err := ParseDigest(string(a.IR)); err != nil {
		return fmt.Errorf("ir: %w", err)
	}
	return nil
}

// Policies are the names of the policies that have artifacts, sorted.
func (m *Manifest) Policies() []string {
	var out []string
	for _, a := range m.Artifacts {
		out = append(out, a.Policy())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Artifact is the entry of that name.
func (m *Manifest) Artifact(name string) (Artifact, bool) {
	i, ok := slices.BinarySearchFunc(m.Artifacts, name, func(a Artifact, name string) int { return strings.Compare(a.Name, name) })
	if !ok {
		return Artifact{}, false
	}
	return m.Artifacts[i], true
}

// ParseTime reads a time as a release states it: RFC 3339 in UTC with the suffix
// Z, whole seconds, "2026-01-31T12:00:00Z".
func ParseTime(text string) (time.Time, error) {
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil || formatTime(at) != text || at.Year() < 1970 {
		return time.Time{}, fmt.Errorf("time %q is not like 2026-01-31T12:00:00Z (UTC, whole seconds)", text)
	}
	return at, nil
}

// formatTime is "" for the zero time.
func formatTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}
