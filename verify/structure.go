package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/obspc/obspc/verify/release"
)

// structure: the release holds exactly the files that release.json names, beside
// release.json, SHA256SUMS and signatures, and all of them are plain files that
// nobody else can change. No artifact is opened before release.json has passed.
func (o *opening) structure() {
	defer o.passUnlessFailed()
	entries, err := o.tree.list()
	if err != nil {
		o.fail(Failure{Reason: Unreadable, Message: "the release cannot be listed: " + err.Error()})
	}
	o.entries = make(map[string]entry, len(entries))
	for _, e := range entries {
		if e.fault != nil {
			o.fail(*e.fault)
		}
		if have, ok := o.entries[e.name]; !ok || have.fault == nil {
			o.entries[e.name] = e
		}
	}
	o.readManifest()
	o.readSums()
	o.readAttachments()
	if o.manifest != nil {
		o.compareNames(entries)
	}
}

// readable reports whether name is there as a plain file. When it is missing that
// is a failure; when it is unsafe that has been said.
func (o *opening) readable(name string) bool {
	e, ok := o.entries[name]
	switch {
	case !ok:
		o.fail(Failure{File: name, Reason: Missing, Message: "the file is not there"})
	case e.directory && e.fault == nil:
		o.fail(Failure{File: name, Reason: UnsafeFile, Message: "it is no file", Wanted: "a regular file", Found: "a directory"})
	}
	return ok && !e.directory && e.fault == nil
}

func (o *opening) readManifest() {
	if !o.readable(release.ManifestName) {
		return
	}
	c, fault := o.tree.read(release.ManifestName, release.MaxManifest, true)
	if fault != nil {
		o.fail(*fault)
		return
	}
	m, err := release.ParseManifest(c.data)
	if err != nil {
		o.fail(manifestRefused(err))
		return
	}
	o.manifest, o.manifestData = m, c.data
	o.report.Product, o.report.Serial = m.Product, m.Serial
}

// manifestRefused sorts what ParseManifest refuses.
func manifestRefused(err error) Failure {
	var name *release.NameError
	var format *release.FormatError
	f := Failure{File: release.ManifestName, Reason: Malformed, Message: err.Error()}
	switch {
	case errors.As(err, &format):
		f.Reason, f.Message = Unsupported, format.Cause()
		f.Wanted, f.Found = release.Formats(), fmt.Sprintf("format %d", format.Found)
	case errors.As(err, &name):
		f.Reason, f.Message = UnsafeName, name.Error()
	}
	return f
}

func (o *opening) readSums() {
	if !o.readable(release.SumsName) {
		return
	}
	c, fault := o.tree.read(release.SumsName, release.MaxSums, true)
	if fault != nil {
		o.fail(*fault)
		return
	}
	o.sumsData, o.report.Digest = c.data, string(c.digest)
}

// maxAttachments bounds the signatures, bundles and statements of a release: they
// are held in memory, and no list says how many there are.
const maxAttachments = 16

func (o *opening) readAttachments() {
	o.attachments = map[string][]byte{}
	var names []string
	for name, e := range o.entries {
		if release.IsAttachment(name) && !e.directory && e.fault == nil {
			names = append(names, name)
		}
	}
	if len(names) > maxAttachments {
		o.fail(Failure{
			Reason: Oversize, Message: "the release has too many signatures and statements",
			Wanted: fmt.Sprintf("at most %d", maxAttachments), Found: fmt.Sprint(len(names)),
		})
		return
	}
	slices.Sort(names)
	for _, name := range names {
		c, fault := o.tree.read(name, release.MaxSignature, true)
		if fault != nil {
			o.fail(*fault)
			continue
		}
		o.attachments[name] = c.data
	}
}

// compareNames holds what is there against what release.json names.
func (o *opening) compareNames(entries []entry) {
	for _, a := range o.manifest.Artifacts {
		o.readable(a.Name)
	}
	policies := o.manifest.Policies()
	for _, e := range entries {
		_, listed := o.manifest.Artifact(e.name)
		own := e.name == release.ManifestName || e.name == release.SumsName || release.IsAttachment(e.name)
		switch {
		case e.fault != nil, listed, own && !e.directory, e.directory && slices.Contains(policies, e.name):
		case release.CheckName(e.name) != nil:
			o.fail(Failure{File: e.name, Reason: UnsafeName, Message: release.CheckName(e.name).Error()})
		default:
			o.fail(Failure{File: e.name, Reason: Unlisted, Message: "release.json does not name it"})
		}
	}
}
