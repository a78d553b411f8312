package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/xeipuuv/gojsonschema"

	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

// key is a key pair of this test: the signer, and the file of the public key.
func key(t *testing.T) (*sign.Signer, string) {
	t.Helper()
	private, public, err := sign.Generate(release.ECDSAP256, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sign.Load(private, func() ([]byte, error) { return []byte("x"), nil })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "obspc.pub")
	if err := os.WriteFile(file, public, 0o644); err != nil {
		t.Fatal(err)
	}
	return s, file
}

// TestRelease makes a signed release of both programs for one system and reads all
// of it back.
func TestRelease(t *testing.T) {
	signer, public := key(t)
	dist := filepath.Join(t.TempDir(), "dist")
	o := &options{out: dist, root: "../..", systems: []string{"linux/amd64"}, programs: programs, signer: signer}
	if err := o.make(); err != nil {
		t.Fatal(err)
	}
	if err := checkRelease(dist, public); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(dist + "/*.tar.gz")
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives: %v, %v", archives, err)
	}
	held := unpack(t, archives[0])
	modules := map[string]bool{}
	for _, p := range programs {
		info, err := buildinfo.Read(bytes.NewReader(held[p]))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range info.Deps {
			modules[d.Path+" "+d.Version] = true
		}
		modules[standard+" "+strings.TrimPrefix(info.GoVersion, "go")] = true
	}
	for m := range modules {
		if !strings.Contains(string(held[thirdParty]), "\n"+m+"\nlicence: ") {
			t.Errorf("%s does not hold %s", thirdParty, m)
		}
	}
	base := strings.TrimSuffix(archives[0], ".tar.gz")
	t.Run("cyclonedx", func(t *testing.T) { cycloneDX(t, base+".cdx.json", modules) })
	t.Run("spdx", func(t *testing.T) { spdx(t, base+".spdx.json", modules) })
	t.Run("sha256sum", func(t *testing.T) { others(t, dist, public) })
	t.Run("tampered", func(t *testing.T) { tampered(t, dist, public, archives[0]) })
}

// unpack reads an archive and holds it to what is the same everywhere.
func unpack(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("the archive's header tells %q, %v", z.Name, z.ModTime)
	}
	dir := strings.TrimSuffix(filepath.Base(file), ".tar.gz")
	c, err := readCommit("../..")
	if err != nil {
		t.Fatal(err)
	}
	held := map[string][]byte{}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(c.time) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %v, owned by %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, dir+"/")
		held[name], names = data, append(names, h.Name)
		if executable := slices.Contains(programs, name); h.Typeflag == tar.TypeReg && (h.Mode == 0o755) != executable {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
	if !slices.IsSorted(names) || names[0] != dir+"/" {
		t.Errorf("the names are %v", names)
	}
	return held
}

// cycloneDX holds a bill to the schema that comes with the library, and to the
// modules.
func cycloneDX(t *testing.T, file string, modules map[string]bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	file = "file://" + strings.TrimSpace(string(dir)) + "/schema/"
	loader := gojsonschema.NewSchemaLoader()
	for name, part := range map[string]string{"spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		if err := loader.AddSchema("http://cyclonedx.org/schema/"+name, gojsonschema.NewReferenceLoader(file+part)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := loader.Compile(gojsonschema.NewReferenceLoader(file + "bom-1.6.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text []byte) *gojsonschema.Result {
		result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if r := validate(text); !r.Valid() {
		t.Errorf("not valid against the schema: %v", r.Errors())
	}
	if validate(bytes.ReplaceAll(text, []byte(`"type": "library"`), []byte(`"type": "book"`))).Valid() {
		t.Error("the schema accepts a type that there is not")
	}
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	found, refs := map[string]bool{}, map[string]bool{}
	for _, c := range *bom.Components {
		if refs[c.BOMRef] {
			t.Errorf("two components are %s", c.BOMRef)
		}
		refs[c.BOMRef] = true
		if c.Type == cdx.ComponentTypeLibrary {
			found[c.Name+" "+c.Version] = true
		}
	}
	same(t, found, modules)
	for _, d := range *bom.Dependencies {
		for _, ref := range *d.Dependencies {
			if !refs[ref] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, ref)
			}
		}
	}
}

func spdx(t *testing.T, file string, modules map[string]bool) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := spdxjson.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	found, ids := map[string]bool{}, map[string]bool{}
	for _, p := range doc.Packages {
		id := string(p.PackageSPDXIdentifier)
		if ids[id] {
			t.Errorf("two packages are %s", id)
		}
		ids[id] = true
		if p.PackageDownloadLocation == "" || p.PackageLicenseDeclared == "" || notInElementID.MatchString(id) {
			t.Errorf("%s lacks what is mandatory: %+v", id, p)
		}
		if p.PrimaryPackagePurpose == "LIBRARY" {
			found[p.PackageName+" "+p.PackageVersion] = true
		}
	}
	same(t, found, modules)
	if !strings.HasPrefix(doc.DocumentNamespace, "https://") || doc.CreationInfo == nil || doc.DataLicense != "CC0-1.0" {
		t.Errorf("the document is %+v", doc)
	}
}

// same holds what a bill lists to what the programs say.
func same(t *testing.T, got, want map[string]bool) {
	t.Helper()
	for name := range want {
		if !got[name] {
			t.Errorf("the bill lacks %s", name)
		}
	}
	for name := range got {
		if !want[name] {
			t.Errorf("the bill lists %s, which is linked nowhere", name)
		}
	}
	if len(want) < 40 {
		t.Errorf("the programs name %d modules", len(want))
	}
}

// others are the tools of docs/verify-release.md that everybody has.
func others(t *testing.T, dist, public string) {
	script := `sha256sum -c --strict --quiet SHA256SUMS && base64 -d SHA256SUMS.sig > "$1" && openssl dgst -sha256 -verify "$2" -signature "$1" SHA256SUMS`
	cmd := exec.Command("sh", "-ec", script, "sh", filepath.Join(t.TempDir(), "sig"), public)
	cmd.Dir = dist
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// tampered changes one thing at a time; each is noticed, and by sha256sum too where
// it looks.
func tampered(t *testing.T, dist, public, archive string) {
	_, foreign := key(t)
	if err := checkRelease(dist, foreign); err == nil {
		t.Error("a foreign key is accepted")
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed := bytes.Clone(text)
	changed[len(changed)/2] ^= 1
	put(archive, changed)
	if err := checkRelease(dist, public); err == nil || !strings.Contains(err.Error(), filepath.Base(archive)) {
		t.Errorf("a changed archive: %v", err)
	}
	cmd := exec.Command("sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS")
	cmd.Dir = dist
	if cmd.Run() == nil {
		t.Error("sha256sum accepts a changed archive")
	}
	sums, err := os.ReadFile(filepath.Join(dist, release.SumsName))
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(dist, release.SumsName), bytes.ReplaceAll(sums, []byte(release.Sum(text)), []byte(release.Sum(changed))))
	if err := checkRelease(dist, ""); err != nil {
		t.Errorf("without a key: %v", err)
	}
	if err := checkRelease(dist, public); err == nil || !strings.Contains(err.Error(), "no signature over SHA256SUMS") {
		t.Errorf("changed sums: %v", err)
	}
	put(filepath.Join(dist, release.SumsName), sums)
	put(archive, text)
	put(filepath.Join(dist, "extra"), nil)
	if err := checkRelease(dist, public); err == nil || !strings.Contains(err.Error(), "extra is not in SHA256SUMS") {
		t.Errorf("an extra file: %v", err)
	}
	if err := os.Remove(filepath.Join(dist, "extra")); err != nil {
		t.Fatal(err)
	}
	if err := checkRelease(dist, public); err != nil {
		t.Error(err)
	}
}

// TestBuildsTwice builds the smaller program twice, in different folders and the
// second time with an empty cache, then for another system, and all again as another
// release.
func TestBuildsTwice(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		o := &options{out: filepath.Join(dir, name), root: "../..", systems: []string{"linux/amd64"}, programs: []string{"obsrun"}, twice: name == "one"}
		if err := o.make(); err != nil {
			t.Fatal(err)
		}
		o.out, o.systems, o.twice = filepath.Join(dir, name, "darwin"), []string{"darwin/arm64"}, false
		if err := o.make(); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("diff", "-r", dir+"/one", dir+"/two").CombinedOutput(); err != nil {
		t.Errorf("two releases of one commit differ: %v\n%s", err, out)
	}
	if _, err := os.Stat(dir + "/one/" + release.SignatureName); err == nil {
		t.Error("an unsigned release has a signature")
	}
}

// TestUnsigned: without a key a release is made only by name.
func TestUnsigned(t *testing.T) {
	if _, err := signer("", false); err == nil || !strings.Contains(err.Error(), "UNSIGNED") {
		t.Errorf("without a key: %v", err)
	}
	if s, err := signer("", true); s != nil || err != nil {
		t.Errorf("unsigned by name: %v, %v", s, err)
	}
	if _, err := signer("nowhere", true); err == nil {
		t.Error("a key that is not there counts for none")
	}
}

// TestOurs: a directory that no release was written to is not replaced.
func TestOurs(t *testing.T) {
	dir := t.TempDir()
	if err := ours(dir); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(dir+"/x", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ours(dir); err == nil {
		t.Error("a foreign directory would be replaced")
	}
}

func TestIdentify(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const (
		bsd = "Redistributions of source code must retain the above copyright notice, x.\n * Redistributions in binary form must reproduce x"
		mit = "Permission is hereby granted, free of charge, to any person\nobtaining a copy of x"
	)
	for text, want := range map[string]string{
		string(apache): "Apache-2.0",
		bsd:            "BSD-2-Clause",
		bsd + "\n// may be used to endorse or\n// promote products": "BSD-3-Clause",
		mit: "MIT-0",
		mit + "\nthis permission notice shall be included in all\ncopies":                   "MIT",
		mit + "\nThis permission notice shall be included in all copies\n" + string(apache): "Apache-2.0 MIT",
		"All rights reserved": "",
		mit + " Everyone is permitted to copy and distribute verbatim copies of this license document": "",
		"": "",
	} {
		got, err := identify(text)
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("identify(%.60q…) = %v, %v, want %q", text, got, err, want)
		}
	}
}

// TestModuleWithoutLicence: a module that has none, or one that is not known, stops
// the release.
func TestModuleWithoutLicence(t *testing.T) {
	dir := t.TempDir()
	m := func() *module {
		return &module{path: "example.org/m", version: "v1.0.0", root: dir, texts: map[string]string{}, dirs: map[string]struct{}{dir + "/a/b": {}}}
	}
	if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m().read(); err == nil || !strings.Contains(err.Error(), "has no licence") {
		t.Errorf("without a licence: %v", err)
	}
	text, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/LICENSE", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m().read(); err != nil {
		t.Errorf("with one: %v", err)
	}
	if err := os.WriteFile(dir+"/a/LICENSE-other.txt", []byte("pay me"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m().read(); err == nil || !strings.Contains(err.Error(), "a/LICENSE-other.txt") {
		t.Errorf("with one that is not known beside a package: %v", err)
	}
}
