package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/obspc/obspc/verify/release"
)

// own is the module of this repository, and what it is licensed under.
const (
	own        = "github.com/obspc/obspc"
	ownLicence = "Apache-2.0"
)

// bill is what an archive is made of.
type bill struct {
	name, version string
	time          time.Time
	commit        string
	modules       []*module
	programs      []program
	id            [sha256.Size]byte // of the programs: equal archives have equal bills
}

type program struct {
	name   string
	digest release.Digest
}

func (b *build) bill(name string, modules []*module, held map[string][]byte) *bill {
	out := &bill{name: name, version: b.version, time: b.time, commit: b.id, modules: modules}
	all := sha256.New()
	for _, p := range b.programs {
		digest := release.Sum(held[p])
		out.programs = append(out.programs, program{p, digest})
		fmt.Fprintf(all, "%s %s\n", p, digest)
	}
	all.Sum(out.id[:0])
	return out
}

// purl is a package URL of type golang.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

// cyclonedx is the bill in CycloneDX 1.6.
func (b *bill) cyclonedx() ([]byte, error) {
	root := purl(own, b.version)
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid(b.id)
	licence := func(expression string) *cdx.Licenses {
		if strings.Contains(expression, " ") {
			return &cdx.Licenses{{Expression: expression}}
		}
		return &cdx.Licenses{{License: &cdx.License{ID: expression}}}
	}
	bom.Metadata = &cdx.Metadata{
		Timestamp: b.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: root, Type: cdx.ComponentTypeApplication, Name: b.name, Version: b.version, PackageURL: root, Licenses: licence(ownLicence),
			Properties: &[]cdx.Property{{Name: "obspc:commit", Value: b.commit}},
		},
	}
	var components []cdx.Component
	contents := []string{}
	links := []cdx.Dependency{}
	for _, p := range b.programs {
		ref := root + "#cmd/" + p.name
		contents = append(contents, ref)
		components = append(components, cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeApplication, Name: p.name, Version: b.version, PackageURL: ref, Licenses: licence(ownLicence),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: string(p.digest)}},
		})
		linked := []string{}
		for _, m := range b.modules {
			if m.in(p.name) {
				linked = append(linked, purl(m.path, m.version))
			}
		}
		links = append(links, cdx.Dependency{Ref: ref, Dependencies: &linked})
	}
	for _, m := range b.modules {
		c := cdx.Component{
			BOMRef: purl(m.path, m.version), Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl(m.path, m.version),
			Licenses: licence(m.expression()),
		}
		if m.sum != "" {
			c.Properties = &[]cdx.Property{{Name: "obspc:go.sum", Value: m.sum}}
		}
		components = append(components, c)
	}
	bom.Components = &components
	links = append([]cdx.Dependency{{Ref: root, Dependencies: &contents}}, links...)
	bom.Dependencies = &links
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// uuid is a UUID of the form for own uses (RFC 9562, version 8).
func uuid(id [sha256.Size]byte) string {
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

func (m *module) in(program string) bool {
	return slices.Contains(m.programs, program)
}

var notInElementID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdx is the bill in SPDX 2.3.
func (b *bill) spdx() ([]byte, error) {
	const unsaid = "NOASSERTION"
	element := func(words ...string) common.ElementID {
		return common.ElementID(notInElementID.ReplaceAllString(strings.Join(words, "-"), "-"))
	}
	pkg := func(id common.ElementID, name, version, licence, url string) *v2_3.Package {
		return &v2_3.Package{
			PackageName: name, PackageSPDXIdentifier: id, PackageVersion: version, PackageDownloadLocation: unsaid,
			FilesAnalyzed: false, IsFilesAnalyzedTagPresent: true,
			PackageLicenseConcluded: unsaid, PackageLicenseDeclared: licence, PackageCopyrightText: unsaid,
			PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url}},
		}
	}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: b.name,
		DocumentNamespace: "https://" + own + "/sbom/" + b.name + "-" + uuid(b.id),
		CreationInfo: &v2_3.CreationInfo{
			Created: b.time.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "obspc-release-" + b.version}},
		},
	}
	link := func(from common.ElementID, how string, to common.ElementID) {
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: how,
		})
	}
	archive := element("Archive", b.name)
	top := pkg(archive, b.name, b.version, ownLicence, purl(own, b.version))
	top.PackageFileName, top.PackageSourceInfo = b.name+".tar.gz", "commit "+b.commit
	doc.Packages = append(doc.Packages, top)
	link("DOCUMENT", common.TypeRelationshipDescribe, archive)
	for _, p := range b.programs {
		id := element("Program", p.name)
		program := pkg(id, p.name, b.version, ownLicence, purl(own, b.version)+"#cmd/"+p.name)
		program.PrimaryPackagePurpose = "APPLICATION"
		program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: string(p.digest)}}
		doc.Packages = append(doc.Packages, program)
		link(archive, common.TypeRelationshipContains, id)
		for _, m := range b.modules {
			if m.in(p.name) {
				link(id, common.TypeRelationshipDependsOn, element("Go", m.path, m.version))
			}
		}
	}
	for _, m := range b.modules {
		library := pkg(element("Go", m.path, m.version), m.path, m.version, m.expression(), purl(m.path, m.version))
		library.PrimaryPackagePurpose = "LIBRARY"
		if m.sum != "" {
			library.PackageSourceInfo = "go.sum " + m.sum
			library.PackageDownloadLocation = "https://proxy.golang.org/" + escaped(m.path) + "/@v/" + escaped(m.version) + ".zip"
		}
		doc.Packages = append(doc.Packages, library)
	}
	var out bytes.Buffer
	err := spdxjson.Write(doc, &out, spdxjson.Indent("  "), spdxjson.EscapeHTML(false))
	return out.Bytes(), err
}

// escaped is a module path or version as module proxies take it: an upper-case
// letter is "!" and its lower case.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
