package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// signature: SHA256SUMS.sig is the signature, over the bytes of SHA256SUMS, of a
// key that this call trusts: one that the pins list, and that Trust.Keys lists if
// it lists any. The key and its type come from there and never from the release.
func (o *opening) signature() {
	keys, faults := o.signers()
	if len(keys) == 0 && len(faults) == 0 {
		o.result.Outcome = NotAskedFor
		return
	}
	o.byKey = true
	if o.manifest == nil || o.sumsData == nil {
		return
	}
	defer o.passUnlessFailed()
	for _, f := range faults {
		o.fail(f)
	}
	if len(keys) == 0 {
		return
	}
	text, ok := o.attachments[release.SignatureName]
	if !ok {
		o.fail(Failure{
			File: release.SignatureName, Reason: Untrusted, Message: "the release is not signed (obspc sign writes the signature)",
			Wanted: "a signature by " + names(keys), Found: "none",
		})
		return
	}
	signature, err := release.ParseSignature(text)
	if err != nil {
		o.fail(Failure{File: release.SignatureName, Reason: Malformed, Message: "the signature cannot be read: " + err.Error()})
		return
	}
	i := slices.IndexFunc(keys, func(k release.Key) bool { return k.Verifies(o.sumsData, signature) })
	if i < 0 {
		o.fail(Failure{
			File: release.SignatureName, Reason: Untrusted,
			Message: "it is no signature over SHA256SUMS by a trusted key (wanted " + names(keys) + ")",
		})
		return
	}
	o.checkWindow(keys[i])
}

// checkWindow refuses a key out of the window that the pins give it, and warns
// before it closes.
func (o *opening) checkWindow(k release.Key) {
	if o.trust.Pins == nil {
		return
	}
	window, now := o.trust.Pins.Windows[k.ID()], o.trust.Now
	switch {
	case !window.Holds(now):
		o.fail(Failure{
			File: release.SignatureName, Reason: Untrusted, Message: "the pins do not trust the key " + names([]release.Key{k}) + " at this time",
			Wanted: window.String(), Found: now.UTC().Format(time.RFC3339),
		})
	case !window.Until.IsZero() && window.Until.Sub(now) < expiresSoon:
		o.warn(fmt.Sprintf("the key %s is trusted %s, less than 14 days more", names([]release.Key{k}), window))
	}
}

// signers are the keys that may have signed; none, and no fault, when no key was
// asked for.
func (o *opening) signers() (keys []release.Key, faults []Failure) {
	keys = o.trust.Keys
	pins := o.trust.Pins
	if pins == nil {
		return keys, nil
	}
	if len(pins.Keys) > 0 {
		asked := keys
		keys = slices.DeleteFunc(slices.Clone(pins.Keys), func(k release.Key) bool { return len(asked) > 0 && !slices.Contains(asked, k) })
		if len(keys) == 0 {
			faults = append(faults, Failure{
				Reason: Untrusted, Message: "the key asked for is not one that the pins trust", Wanted: names(pins.Keys), Found: names(asked),
			})
		}
	}
	for _, k := range keys {
		if pins.IsRevoked(k.ID()) {
			faults = append(faults, Failure{Reason: Untrusted, Message: "the pins revoke the key " + names([]release.Key{k})})
		}
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k release.Key) bool { return pins.IsRevoked(k.ID()) })
	return keys, faults
}

// names are keys for a message: type and digest, the first few of them.
func names(keys []release.Key) string {
	const most = 3
	var out []string
	for _, k := range keys[:min(len(keys), most)] {
		out = append(out, fmt.Sprintf("%s %s", k.Type, k.ID()))
	}
	if len(keys) > most {
		out = append(out, fmt.Sprintf("%d more", len(keys)-most))
	}
	return strings.Join(out, " or ")
}
