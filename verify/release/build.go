package release

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Input is everything a release is made from. Nothing is taken from the clock, the
// environment or the disk, so the same input gives the same bytes.
type Input struct {
	Product   string // "" makes the release product "local", serial 0
	Serial    int64  // from 1, raised by every release
	Created   time.Time
	Expires   time.Time // zero: absent
	Compiler  string    // version of obspc
	Targets   []string  // as given; empty when not given
	Only      []string  // policies as given; empty when not given
	Variables map[string]string
	Sources   map[string]Digest // source file → digest
	Policies  []Policy
}

// Policy is one policy's artifacts. One of them is ir.json.
type Policy struct {
	Name      string
	Artifacts []Made
}

// Made is one artifact as a target made it. Name is its name within the policy's
// folder.
type Made struct {
	Name   string
	Kind   string
	Target string
	Data   []byte
}

// IRName is the artifact whose digest ties all others of a policy together.
const IRName = "ir.json"

// MapName and MapKind are the artifact that leads from the IR to lines of the
// sources. It serves people only, so its bytes are checked and not kept.
const (
	MapName = "ir.map.json"
	MapKind = "ir-map"
)

// Build makes the files of a release, sorted by name: every artifact,
// release.json, SHA256SUMS.
func Build(in Input) ([]File, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	m := in.manifest()
	if m.Created.Nanosecond() != 0 || m.Expires.Nanosecond() != 0 {
		return nil, fmt.Errorf("created and expires are whole seconds")
	}
	var files []File
	for i, p := range in.Policies {
		if slices.ContainsFunc(in.Policies[:i], func(q Policy) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("duplicate policy %q", p.Name)
		}
		made, artifacts, err := p.files()
		if err != nil {
			return nil, err
		}
		files = append(files, made...)
		m.Artifacts = append(m.Artifacts, artifacts...)
	}
	slices.SortFunc(m.Artifacts, func(a, b Artifact) int { return strings.Compare(a.Name, b.Name) })
	if err := m.check(); err != nil {
		return nil, err
	}
	manifest, err := m.JSON()
	if err != nil {
		return nil, err
	}
	// What is written must be what the reader accepts, limits included.
	if _, err := ParseManifest(manifest); err != nil {
		return nil, err
	}
	files = append(files, File{ManifestName, manifest})
	sortFiles(files)
	sums := make(Sums, 0, len(files))
	for _, f := range files {
		sums = append(sums, Entry{f.Name, Sum(f.Data)})
	}
	files = append(files, File{SumsName, sums.Format()})
	sortFiles(files)
	return files, nil
}

// check says what to add to a call that names a product without a serial, or the
// other way round.
func (in Input) check() error {
	switch {
	case in.Product == LocalProduct:
		return fmt.Errorf("product %q is what a release without --product is of, for this machine alone; give another name", LocalProduct)
	case in.Product != "" && in.Serial == 0:
		return fmt.Errorf("product %q has no serial: add --serial 1, and raise it with every release", in.Product)
	case in.Product == "" && in.Serial != 0:
		return fmt.Errorf("serial %d is of no product: add --product NAME, under which consumers pin the release", in.Serial)
	case in.Product == "":
		return nil
	}
	return CheckProduct(in.Product)
}

func (in Input) manifest() *Manifest {
	m := &Manifest{
		Product: in.Product, Serial: in.Serial, Created: in.Created.UTC(), Expires: in.Expires.UTC(), Compiler: in.Compiler,
		Inputs: Inputs{Targets: in.Targets, Policies: in.Only},
	}
	if m.Product == "" {
		m.Product = LocalProduct
	}
	for name, value := range in.Variables {
		m.Inputs.Variables = append(m.Inputs.Variables, VariableInput{name, value})
	}
	slices.SortFunc(m.Inputs.Variables, func(a, b VariableInput) int { return strings.Compare(a.Name, b.Name) })
	for name, digest := range in.Sources {
		m.Sources = append(m.Sources, Source{name, digest})
	}
	slices.SortFunc(m.Sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return m
}

func (p Policy) files() ([]File, []Artifact, error) {
	i := slices.IndexFunc(p.Artifacts, func(a Made) bool { return a.Name == IRName })
	if i < 0 {
		return nil, nil, fmt.Errorf("policy %q has no %s", p.Name, IRName)
	}
	meaning := IRDigest(p.Artifacts[i].Data)
	files := make([]File, 0, len(p.Artifacts))
	artifacts := make([]Artifact, 0, len(p.Artifacts))
	for _, a := range p.Artifacts {
		name := p.Name + "/" + a.Name
		if len(a.Data) > MaxFile {
			return nil, nil, fmt.Errorf("artifact %s has %d bytes, at most %d are read", name, len(a.Data), MaxFile)
		}
		files = append(files, File{name, a.Data})
		artifacts = append(artifacts, Artifact{name, a.Kind, a.Target, int64(len(a.Data)), Sum(a.Data), meaning})
	}
	return files, artifacts, nil
}
