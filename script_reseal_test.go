package obspc_test

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obspc/obspc/verify/release"
)

// reseal is `reseal RELEASE`: it makes release.json and SHA256SUMS agree with the
// bytes that are there, as somebody would who may write the whole release.
func reseal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: reseal RELEASE")
	}
	dir := ts.MkAbs(args[0])
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		ts.Check(err)
		return data
	}
	manifest, err := release.ParseManifest(read(release.ManifestName))
	ts.Check(err)
	var sums release.Sums
	for i := range manifest.Artifacts {
		a := &manifest.Artifacts[i]
		data := read(a.Name)
		a.Size, a.SHA256 = int64(len(data)), release.Sum(data)
		sums = append(sums, release.Entry{Name: a.Name, Digest: a.SHA256})
	}
	text, err := manifest.JSON()
	ts.Check(err)
	sums = append(sums, release.Entry{Name: release.ManifestName, Digest: release.Sum(text)})
	ts.Check(os.WriteFile(filepath.Join(dir, release.ManifestName), text, 0o644))
	ts.Check(os.WriteFile(filepath.Join(dir, release.SumsName), sums.Format(), 0o644))
}
