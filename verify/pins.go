package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/verify/release"
)

// development is the anchor of a release that the caller pinned itself.
const development = "development"

func (o *opening) pinsAnchor() string {
	if o.trust.Development {
		return development
	}
	return Pins
}

// pins: the release is of the pinned product, nothing in it is revoked, and its
// SHA256SUMS is pinned, or every artifact of at least one policy is. Pins that list
// keys and no digest leave that to the signature, which they ask for; pins that
// list both want both.
func (o *opening) pins() {
	p := o.trust.Pins
	if p == nil {
		o.result.Outcome = NotAskedFor
		return
	}
	if o.manifest == nil || o.sumsData == nil {
		return
	}
	defer o.passUnlessFailed()
	if o.manifest.Product != p.Product {
		o.fail(Failure{
			File: release.ManifestName, Reason: Untrusted, Message: "the release is of another product",
			Wanted: "product " + p.Product, Found: "product " + o.manifest.Product,
		})
	}
	if o.trust.Development && o.manifest.Product != release.LocalProduct {
		o.fail(Failure{
			File: release.ManifestName, Reason: Untrusted, Message: "only a release made on the spot is trusted for development",
			Wanted: "product " + release.LocalProduct, Found: "product " + o.manifest.Product,
		})
	}
	o.checkRevoked(p)
	if p.Pinned(release.Digest(o.report.Digest)) || p.ByKey() {
		return
	}
	o.checkArtifactPins(p)
}

func (o *opening) checkRevoked(p *release.Pins) {
	revoked := func(name string, d release.Digest) {
		if p.IsRevoked(d) {
			o.fail(Failure{File: name, Reason: Untrusted, Message: "the pins revoke SHA-256 " + string(d)})
		}
	}
	revoked(release.SumsName, release.Digest(o.report.Digest))
	for _, a := range o.manifest.Artifacts {
		revoked(a.Name, a.SHA256)
	}
}

// checkArtifactPins accepts the policies whose artifacts are pinned one by one.
// The others are left out, and a warning says so.
func (o *opening) checkArtifactPins(p *release.Pins) {
	pinned := map[string]bool{}
	for _, e := range p.Artifacts {
		policy, _, _ := strings.Cut(e.Name, "/")
		pinned[policy] = true
		a, ok := o.manifest.Artifact(e.Name)
		switch {
		case !ok:
			o.fail(Failure{File: e.Name, Reason: Untrusted, Message: "a pinned artifact is not in the release"})
		case a.SHA256 != e.Digest:
			o.fail(Failure{
				File: e.Name, Reason: Untrusted, Message: "the artifact is not the pinned one",
				Wanted: "SHA-256 " + string(e.Digest), Found: string(a.SHA256),
			})
		}
	}
	if len(pinned) == 0 {
		o.fail(Failure{
			File: release.SumsName, Reason: Untrusted, Message: "the pins do not accept this release",
			Wanted: "SHA-256 " + oneOf(p.Sums), Found: o.report.Digest,
		})
		return
	}
	o.partial = pinned
	for _, a := range o.manifest.Artifacts {
		if _, ok := p.Artifacts.Of(a.Name); pinned[a.Policy()] && isHeld(a) && !ok {
			o.fail(Failure{File: a.Name, Reason: Untrusted, Message: "other artifacts of its policy are pinned, this one is not"})
		}
	}
	for _, policy := range o.manifest.Policies() {
		if !pinned[policy] {
			o.warn(fmt.Sprintf("policy %s is not pinned and cannot be used", policy))
		}
	}
}

// oneOf is a list of digests for a message; the pins file has them all.
func oneOf(digests []release.Digest) string {
	const most = 3
	switch n := len(digests); {
	case n == 0:
		return "of none: the pins hold no digest"
	case n == 1:
		return string(digests[0])
	case n > most:
		return fmt.Sprintf("one of %d", n)
	}
	texts := make([]string, len(digests))
	for i, d := range digests {
		texts[i] = string(d)
	}
	slices.Sort(texts)
	return strings.Join(texts, " or ")
}
