package verify

import (
	"errors"
	"fmt"

	"github.com/obspc/obspc/verify/release"
)

// checksums: SHA256SUMS lists release.json and every artifact, nothing else, and
// the bytes that are there have the digests and sizes that it and release.json
// state. Each artifact is read here, once.
func (o *opening) checksums() {
	o.contents = map[string]content{}
	if o.manifest == nil || o.sumsData == nil {
		return
	}
	defer o.passUnlessFailed()
	sums, err := release.ParseSums(o.sumsData)
	if err != nil {
		o.sumsRefused(err)
		return
	}
	o.sums = sums
	o.compareSums()
	if got := release.Sum(o.manifestData); !o.matches(release.ManifestName, got) {
		o.failDigest(release.ManifestName, release.SumsName, got)
	}
	held := int64(0)
	for _, a := range o.manifest.Artifacts {
		if isHeld(a) {
			held += a.Size
		}
	}
	if held > release.MaxHeld {
		o.fail(Failure{
			Reason: Oversize, Message: "the artifacts are too large together",
			Wanted: fmt.Sprintf("at most %d bytes", release.MaxHeld), Found: fmt.Sprint(held),
		})
		return
	}
	for _, a := range o.manifest.Artifacts {
		o.checkArtifact(a)
	}
}

func (o *opening) sumsRefused(err error) {
	var faults release.SyntaxErrors
	if !errors.As(err, &faults) {
		o.fail(Failure{File: release.SumsName, Reason: Malformed, Message: err.Error()})
		return
	}
	for _, f := range faults {
		o.fail(Failure{File: release.SumsName, Reason: Malformed, Message: fmt.Sprintf("line %d: %s", f.Line, f.Message)})
	}
}

// compareSums holds the names in SHA256SUMS against those in release.json.
func (o *opening) compareSums() {
	for _, e := range o.sums {
		if _, ok := o.manifest.Artifact(e.Name); !ok && e.Name != release.ManifestName {
			o.fail(Failure{File: e.Name, Reason: Unlisted, Message: "SHA256SUMS lists it and release.json does not"})
		}
	}
	if _, ok := o.digestOf(release.ManifestName); !ok {
		o.fail(Failure{File: release.ManifestName, Reason: Missing, Message: "SHA256SUMS does not list it"})
	}
	for _, a := range o.manifest.Artifacts {
		if _, ok := o.digestOf(a.Name); !ok {
			o.fail(Failure{File: a.Name, Reason: Missing, Message: "SHA256SUMS does not list it"})
		}
	}
}

// digestOf is what SHA256SUMS lists for name.
func (o *opening) digestOf(name string) (release.Digest, bool) { return o.sums.Of(name) }

// matches reports whether SHA256SUMS lists got for name. A name that it does not
// list has been reported.
func (o *opening) matches(name string, got release.Digest) bool {
	want, ok := o.digestOf(name)
	return !ok || want == got
}

func (o *opening) failDigest(name, by string, got release.Digest) {
	want, _ := o.digestOf(name)
	if a, ok := o.manifest.Artifact(name); ok && by == release.ManifestName {
		want = a.SHA256
	}
	o.fail(Failure{
		File: name, Reason: Tampered, Message: "the bytes are not those that " + by + " states",
		Wanted: "SHA-256 " + string(want), Found: string(got),
	})
}

// checkArtifact reads one artifact and keeps it when it is what both lists state.
func (o *opening) checkArtifact(a release.Artifact) {
	e, there := o.entries[a.Name]
	if !there || e.directory || e.fault != nil {
		return // reported by structure
	}
	hold := isHeld(a)
	limit := int64(release.MaxHashed)
	if hold {
		limit = release.MaxFile
	}
	if a.Size > limit {
		o.fail(*oversize(a.Name, limit, a.Size))
		return
	}
	c, fault := o.tree.read(a.Name, a.Size, hold)
	switch {
	case fault != nil && fault.Reason == Oversize:
		o.fail(Failure{
			File: a.Name, Reason: Tampered, Message: "the file is larger than release.json states",
			Wanted: fmt.Sprintf("%d bytes", a.Size), Found: fault.Found,
		})
	case fault != nil:
		o.fail(*fault)
	case c.size != a.Size:
		o.fail(Failure{
			File: a.Name, Reason: Tampered, Message: "the file is smaller than release.json states",
			Wanted: fmt.Sprintf("%d bytes", a.Size), Found: fmt.Sprint(c.size),
		})
	case !o.matches(a.Name, c.digest):
		o.failDigest(a.Name, release.SumsName, c.digest)
	case c.digest != a.SHA256:
		o.failDigest(a.Name, release.ManifestName, c.digest)
	default:
		o.contents[a.Name] = c
	}
}
