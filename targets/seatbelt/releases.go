package seatbelt

import (
	"sync"

	table "github.com/obspc/obspc/targets/seatbelt/operations"
)

// release is a column of the operation table.
type release int

// The releases whose tables are known. For macOS 15 and 26 none has been
// published; operations new there are reached by (deny default) or not at all.
const (
	catalina release = iota // 10.15
	monterey                // 12.5
	ventura                 // 13.0
	sonoma                  // 14.4

	numReleases = iota
)

func (r release) String() string { return r.column().String() }

// column is the release's place in the table of operations.
func (r release) column() table.Release { return table.Catalina + table.Release(r) }

// operation is one row: its name and, for each release, the operation whose rules
// decide when its own do not ("" where the release lacks it; "allow" and "deny"
// where it ends in a decision of its own and (deny default) is never asked).
// Open tells that the version 1 library allows it, from 12 on, before the first
// rule of a profile is read.
type operation struct {
	Name   string
	Parent parents
	Open   bool
}

// parents has one name for each release.
type parents [numReleases]string

// in reports whether release r has the operation.
func (o operation) in(r release) bool { return o.Parent[r] != "" }

// everywhere reports whether every release has the operation, so that its name may
// stand in a profile without a guard: an unbound name fails the whole profile.
func (o operation) everywhere() bool {
	for r := range numReleases {
		if !o.in(release(r)) {
			return false
		}
	}
	return true
}

// leftOpen reports whether (deny default) fails to reach the operation in some
// release.
func (o operation) leftOpen() bool {
	for r := range numReleases {
		if o.Parent[r] == "allow" {
			return true
		}
	}
	return o.Open
}

// operationIndex is made when it is first asked: a run on Linux never does.
var operationIndex = sync.OnceValue(func() map[string]operation {
	index := make(map[string]operation, len(operations()))
	for _, o := range operations() {
		index[o.Name] = o
	}
	return index
})

func operationNamed(name string) (operation, bool) {
	o, ok := operationIndex()[name]
	return o, ok
}

// operations is every operation of the supported releases.
var operations = sync.OnceValue(func() []operation {
	var out []operation
	for _, row := range table.All() {
		o := operation{Name: row.Name, Open: row.Open}
		for r := range numReleases {
			o.Parent[r] = row.Parent(release(r).column())
		}
		if o.Parent != (parents{}) {
			out = append(out, o)
		}
	}
	return out
})
