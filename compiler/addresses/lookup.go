// Package addresses tells which addresses are no ordinary destinations on the
// Internet, and whether a policy opens one: a table of ranges with the document
// that defines each, and the forms in which an IPv6 address carries an IPv4 one.
// Its one rule: an address is judged by what it reaches, however it is written. It
// is a leaf; which address a name has is for package runtime/proxy to ask.
package addresses

import (
	"net/netip"
	"sync"
)

// table is the rows, read.
type table struct {
	ranges   []Range
	segments []segment
}

var built = sync.OnceValue(func() *table {
	t := &table{}
	for _, r := range rows {
		t.ranges = append(t.ranges, r.read())
	}
	t.segments = flatten(t.ranges)
	return t
})

// A segment is a run of addresses up to the next segment's first, all in the same
// innermost range: ranges[row], or in none if row is -1.
type segment struct {
	first netip.Addr
	row   int16
}

// flatten is the ranges as segments, in the order of addresses, for a binary search
// that ends at the innermost range.
func flatten(sorted []Range) []segment {
	out := []segment{{netip.IPv4Unspecified(), -1}}
	begin := func(first netip.Addr, row int16) {
		if n := len(out) - 1; out[n].first == first {
			out[n].row = row
			return
		}
		out = append(out, segment{first, row})
	}
	var open []int16
	end := func() { // of the innermost open range
		inner := open[len(open)-1]
		open = open[:len(open)-1]
		outer := int16(-1)
		if len(open) > 0 {
			outer = open[len(open)-1]
		}
		if next := Last(sorted[inner].Prefix).Next(); next.IsValid() {
			begin(next, outer)
		}
	}
	for i, r := range sorted {
		for len(open) > 0 && !sorted[open[len(open)-1]].Prefix.Contains(r.Prefix.Addr()) {
			end()
		}
		begin(r.Prefix.Addr(), int16(i))
		open = append(open, int16(i))
	}
	for len(open) > 0 {
		end()
	}
	return out
}

// Last is the last address of p.
func Last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// Special is the innermost range that holds addr, if one does. An IPv6 address is
// looked up as it is written: what IPv4 address it carries is Embedded's to say. A
// zone makes no difference. Of the zero Addr it says false.
func Special(addr netip.Addr) (Range, bool) {
	if !addr.IsValid() {
		return Range{}, false
	}
	addr = addr.WithZone("")
	t := built()
	low, high := 0, len(t.segments)
	for high-low > 1 {
		if mid := (low + high) / 2; t.segments[mid].first.Compare(addr) <= 0 {
			low = mid
		} else {
			high = mid
		}
	}
	if row := t.segments[low].row; row >= 0 {
		return t.ranges[row], true
	}
	return Range{}, false
}

// noAddress refuses what is none, or names an interface beside it (RFC 4007).
var noAddress = Range{Kind: "no address of its own (it is empty or has a zone)", Source: "RFC 4007, section 11", Never: true}

// Admitted reports whether addr may be dialled where a policy has opened the
// prefixes of opened, and if not, which range refuses it. Ordinary addresses need
// no opening. A special one needs a prefix that holds it; that of a metadata
// service one that holds nothing else; and some nothing opens. An IPv4 address
// that addr carries has to be admitted as that IPv4 address as well.
func Admitted(addr netip.Addr, opened []netip.Prefix) (Range, bool) {
	if !addr.IsValid() || addr.Zone() != "" {
		return noAddress, false
	}
	if r, ok := judged(addr, opened); !ok {
		return r, false
	}
	length := 0 // of the prefix that opens it: a translator's, if it has one
	for _, p := range opened {
		if p.Contains(addr) {
			length = max(length, p.Bits())
		}
	}
	carried, n := carries(addr, length)
	for _, v4 := range carried[:n] {
		if r, ok := judged(v4, opened); !ok {
			return r, false
		}
	}
	return Range{}, true
}

func judged(addr netip.Addr, opened []netip.Prefix) (Range, bool) {
	r, special := Special(addr)
	if !special {
		return Range{}, true
	}
	if r.Never {
		return r, false
	}
	for _, p := range opened {
		if p.Contains(addr) && (!r.Metadata || p.IsSingleIP()) {
			return Range{}, true
		}
	}
	return r, false
}
