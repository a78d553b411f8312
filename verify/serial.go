package verify

import (
	"fmt"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// skew is how far in the future a release may have been created: the clocks of
// two machines.
const skew = 10 * time.Minute

// expiresSoon is how long before its expiry a release is warned about.
const expiresSoon = 14 * 24 * time.Hour

// serialAndExpiry: the release is not older than what was pinned or accepted here
// before, is not expired, and will expire unless the pins do without.
func (o *opening) serialAndExpiry() {
	if o.inspects {
		o.result.Outcome = NotAskedFor
		return
	}
	if o.manifest == nil || o.sumsData == nil {
		return
	}
	defer o.passUnlessFailed()
	m := o.manifest
	if p := o.trust.Pins; p != nil && m.Product == p.Product && m.Serial < p.Serial {
		o.fail(stale("the release is older than the pins accept: a rollback", fmt.Sprintf("serial %d or higher", p.Serial), fmt.Sprint(m.Serial)))
	}
	if o.remembers() {
		if f := o.compareState(readState(o.trust.StateDir, m.Product)); f != nil {
			o.fail(*f)
		}
	}
	o.checkTimes()
}

func stale(message, wanted, found string) Failure {
	return Failure{File: release.ManifestName, Reason: Stale, Message: message, Wanted: wanted, Found: found}
}

func (o *opening) checkTimes() {
	m, now := o.manifest, o.trust.Now
	text := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	if m.Created.After(now.Add(skew)) {
		o.fail(stale("the release was created in the future", "created by "+text(now.Add(skew)), text(m.Created)))
	}
	switch {
	case m.Expires.IsZero():
		if !o.mayNeverExpire() {
			o.fail(stale("the release never expires (compile with --expires, or pin with --no-expiry)", "an expiry", "none"))
		}
	case !m.Expires.After(now):
		o.fail(stale("the release has expired", "expires after "+text(now), text(m.Expires)))
	case m.Expires.Sub(now) < expiresSoon:
		o.warn(fmt.Sprintf("the release expires %s, in less than 14 days", text(m.Expires)))
	}
}

// mayNeverExpire reports whether a release without expiry is accepted: pins say
// so. Without pins, only a release that was never meant to leave this machine is.
func (o *opening) mayNeverExpire() bool {
	if o.trust.Pins != nil {
		return o.trust.Pins.NoExpiry
	}
	return o.manifest.Product == release.LocalProduct
}
