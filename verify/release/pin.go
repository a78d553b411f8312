package release

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// PinOptions are what a call of `obspc pin` says beyond the release.
type PinOptions struct {
	// NoExpiry accepts releases that never expire, from now on.
	NoExpiry bool
	// UnsafeLowerSerial skips the rollback check: the lowest accepted serial may
	// fall, and a serial may be pinned with another digest than before.
	UnsafeLowerSerial bool
	// Keys are trusted to sign from now on, beside those of the pins. Where they are
	// the first, releases are accepted for their signature and no longer one by one,
	// unless Exact is set.
	Keys []Key
	// Exact pins the release's digest as well as keys: both must hold.
	Exact bool
	// UnsafeDropKeys are the IDs of keys that are no longer trusted.
	UnsafeDropKeys []Digest
}

// pinsHeader stands at the top of a new pins file.
var pinsHeader = []string{
	"# Which releases this repository accepts. Written by obspc pin; a change here is a",
	"# change of trust: review it.",
}

// Update pins the release with manifest m and the digest sums of its SHA256SUMS:
// nothing before it is accepted afterwards, and nothing else either unless the pins
// are by key. p is nil for a first pin and
// is never changed. The lines say what the caller is about to trust, and what no
// longer.
func Update(p *Pins, m *Manifest, sums Digest, o PinOptions) (*Pins, []string, error) {
	if m.Product == LocalProduct {
		return nil, nil, fmt.Errorf("product %q is for the machine that compiled it; compile with --product and --serial to pin", LocalProduct)
	}
	first := p == nil
	if first {
		p = &Pins{Product: m.Product, comments: map[string][]string{"format": pinsHeader}}
	}
	if err := p.admits(m, sums, o); err != nil {
		return nil, nil, err
	}
	q := p.clone()
	q.Serial, q.NoExpiry = m.Serial, p.NoExpiry || o.NoExpiry
	if err := q.replaceKeys(o); err != nil {
		return nil, nil, err
	}
	q.Sums, q.Artifacts = nil, nil
	byKey := len(q.Keys) > 0 && (p.ByKey() || len(p.Keys) == 0)
	if o.Exact || !byKey {
		q.Sums = []Digest{sums}
	}
	return q, q.describe(p, m, first), nil
}

// replaceKeys drops and adds the keys that o names.
func (p *Pins) replaceKeys(o PinOptions) error {
	for _, id := range o.UnsafeDropKeys {
		i := slices.IndexFunc(p.Keys, func(k Key) bool { return k.ID() == id })
		if i < 0 {
			return fmt.Errorf("the pins trust no key %s that could be dropped", id)
		}
		p.Keys = slices.Delete(p.Keys, i, i+1)
		delete(p.Windows, id)
	}
	for _, k := range o.Keys {
		if p.IsRevoked(k.ID()) {
			return fmt.Errorf("the key %s is revoked by the pins", k.ID())
		}
		if !slices.Contains(p.Keys, k) {
			p.Keys = append(p.Keys, k)
		}
	}
	return nil
}

// admits reports why the release may not be pinned after p.
func (p *Pins) admits(m *Manifest, sums Digest, o PinOptions) error {
	for _, a := range m.Artifacts {
		if p.IsRevoked(a.SHA256) {
			return fmt.Errorf("artifact %s with SHA-256 %s is revoked by the pins", a.Name, a.SHA256)
		}
	}
	switch {
	case m.Product != p.Product:
		return fmt.Errorf("the release is of product %q, the pins are of %q; each product has its own pins file", m.Product, p.Product)
	case p.IsRevoked(sums):
		return fmt.Errorf("SHA256SUMS %s is revoked by the pins", sums)
	case m.Expires.IsZero() && !p.NoExpiry && !o.NoExpiry:
		return fmt.Errorf("the release never expires; compile with --expires, or accept that with --no-expiry")
	case o.UnsafeLowerSerial:
		return nil
	case m.Serial < p.Serial:
		return fmt.Errorf("serial %d is lower than the pinned %d: a rollback; %s (--unsafe-lower-serial pins the old one all the same)", m.Serial, p.Serial, raised(p.Serial))
	case m.Serial == p.Serial && len(p.Sums) > 0 && !p.Pinned(sums):
		return fmt.Errorf("serial %d is pinned with another digest: a changed release has a higher serial; %s (--unsafe-lower-serial pins this one all the same)", m.Serial, raised(m.Serial))
	}
	return nil
}

// raised says how to get past a serial.
func raised(serial int64) string {
	if serial >= MaxSerial {
		return fmt.Sprintf("%d is the last there is, so the product needs another name and pins of its own", int64(MaxSerial))
	}
	return fmt.Sprintf("compile with --serial %d", serial+1)
}

// describe tells the difference between old and q for people.
func (q *Pins) describe(old *Pins, m *Manifest, first bool) []string {
	out := []string{fmt.Sprintf("trusts product %s, serial %d", q.Product, q.Serial)}
	if len(q.Sums) > 0 {
		out[0] += ", SHA256SUMS " + string(q.Sums[0])
	} else {
		out[0] += " and higher, if signed by a key below"
	}
	if !first {
		out[0] += fmt.Sprintf(" (lowest serial was %d)", old.Serial)
	}
	for _, k := range q.Keys {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("trusts key %s %s %s", k.Type, k.ID(), q.Windows[k.ID()]), " "))
	}
	for _, k := range old.Keys {
		if !slices.Contains(q.Keys, k) {
			out = append(out, fmt.Sprintf("no longer trusts key %s %s", k.Type, k.ID()))
		}
	}
	for _, policy := range m.Policies() {
		out = append(out, fmt.Sprintf("trusts policy %s", policy))
	}
	if m.Expires.IsZero() {
		out = append(out, "the release never expires")
	} else {
		out = append(out, "the release expires "+m.Expires.Format(time.RFC3339))
	}
	if q.NoExpiry && !old.NoExpiry {
		out = append(out, "accepts releases that never expire, from now on")
	}
	if q.Serial < old.Serial {
		out = append(out, fmt.Sprintf("accepts serials from %d again: releases below %d were refused until now", q.Serial, old.Serial))
	}
	for _, d := range old.Sums {
		if !slices.Contains(q.Sums, d) {
			out = append(out, "no longer trusts SHA256SUMS "+string(d)+" by itself")
		}
	}
	for _, a := range old.Artifacts {
		out = append(out, fmt.Sprintf("no longer trusts artifact %s %s by itself", a.Name, a.Digest))
	}
	return out
}
