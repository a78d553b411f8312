// Package operations is the table of Seatbelt's operations by macOS release: which
// there are, and whose rules decide when an operation's own do not. It is data, and
// the one thing that the emitter of profiles and the evaluator of profiles share;
// what either does with it is in packages seatbelt and sbpl.
package operations

import "sync"

// Release is a macOS release whose table is known. For macOS 15 and 26 none has
// been published.
type Release uint8

// The releases, oldest first. The zero Release is none of them.
const (
	Mavericks Release = 1 + iota // 10.9.5
	Sierra                       // 10.12
	Catalina                     // 10.15
	Monterey                     // 12.5
	Ventura                      // 13.0
	Sonoma                       // 14.4

	numReleases = iota
)

// Newest is the latest release with a table.
const Newest = Sonoma

var releaseNames = [numReleases]string{"10.9", "10.12", "10.15", "12.5", "13.0", "14.4"}

// String is the version number, "14.4".
func (r Release) String() string {
	if r == 0 || int(r) > numReleases {
		return "unknown"
	}
	return releaseNames[r-1]
}

// Releases lists the releases, oldest first.
func Releases() []Release {
	out := make([]Release, numReleases)
	for i := range out {
		out[i] = Release(i + 1)
	}
	return out
}

// Supported lists the releases that profiles are written and checked for, oldest
// first: those from 10.15 on, which all have sandbox-exec's parameters and the
// library that profiles use.
func Supported() []Release { return Releases()[Catalina-1:] }

// ReleaseNamed is the release with that version number.
func ReleaseNamed(version string) (Release, bool) {
	for i, name := range releaseNames {
		if name == version {
			return Release(i + 1), true
		}
	}
	return 0, false
}

// parents has one cell for each release.
type parents [numReleases]string

// Operation is one row. Open tells that the version 1 library allows it, from 12
// on, before the first rule of a profile is read.
type Operation struct {
	Name    string
	parents parents
	Open    bool
}

// Allow and Deny stand in place of a parent where an operation ends in a decision
// of its own, and a rule for default does not reach it.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Parent is the operation whose rules decide when the operation's own do not; Allow
// or Deny where there is none; "" where the release lacks the operation.
func (o Operation) Parent(r Release) string {
	if r == 0 || int(r) > numReleases {
		return ""
	}
	return o.parents[r-1]
}

// In reports whether release r has the operation.
func (o Operation) In(r Release) bool { return o.Parent(r) != "" }

// All lists every operation of any release. The list is shared: do not change it.
func All() []Operation { return table }

var index = sync.OnceValue(func() map[string]Operation {
	out := make(map[string]Operation, len(table))
	for _, o := range table {
		out[o.Name] = o
	}
	return out
})

// Named is the operation of that name in any release.
func Named(name string) (Operation, bool) {
	o, ok := index()[name]
	return o, ok
}
