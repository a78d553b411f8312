package addresses

import (
	"net/netip"
	"slices"
)

// Prefixes of the forms that carry an IPv4 address.
var (
	translatedForm = netip.MustParsePrefix("::ffff:0:0:0/96")
	compatibleForm = netip.MustParsePrefix("::/96")
	nat64Form      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64Form = netip.MustParsePrefix("64:ff9b:1::/48")
	teredoForm     = netip.MustParsePrefix("2001::/32")
	sixToFourForm  = netip.MustParsePrefix("2002::/16")
)

// Embedded is the IPv4 address that an IPv6 address carries, for whichever
// translator or tunnel is on its way, if it has one of the forms that do:
// IPv4-mapped and IPv4-compatible (RFC 4291), IPv4-translated (RFC 2765), NAT64
// (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380, the client's) and ISATAP
// (RFC 5214, in any prefix). :: and ::1 carry none.
func Embedded(addr netip.Addr) (netip.Addr, bool) {
	carried, n := carries(addr, 0)
	return carried[0], n > 0
}

// carries is every IPv4 address that addr can be read to carry, the likeliest
// first: a Teredo address names a server beside the client, and a local prefix of
// NAT64 may have any of four lengths, of which only those from prefix on are read.
func carries(addr netip.Addr, prefix int) (out [4]netip.Addr, n int) {
	if !addr.Is6() {
		return out, 0
	}
	b := addr.As16()
	addr = addr.WithZone("")
	add := func(v4 [4]byte) {
		out[n] = netip.AddrFrom4(v4)
		n++
	}
	low := [4]byte(b[12:])
	switch {
	case addr.Is4In6(), translatedForm.Contains(addr), nat64Form.Contains(addr):
		add(low)
	case compatibleForm.Contains(addr):
		if low != [4]byte{} && low != [4]byte{0, 0, 0, 1} {
			add(low)
		}
	case localNAT64Form.Contains(addr):
		return localNAT64(b, prefix)
	case teredoForm.Contains(addr):
		add([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		add([4]byte(b[4:8]))
	case sixToFourForm.Contains(addr):
		add([4]byte(b[2:6]))
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		add(low)
	}
	return out, n
}

// localNAT64 reads b for prefixes of each length of RFC 6052, section 2.2: the
// address follows the prefix, byte 8 is skipped, and what follows the address
// should be zero; so the shortest prefix of which that holds is the likeliest. A
// translator need not look at what follows, so the others stand too, but for
// 0.0.0.0/8, which is what is read out of another reading's zeros.
func localNAT64(b [16]byte, prefix int) (out [4]netip.Addr, n int) {
	found := false
	for _, form := range [...]struct {
		length int
		v4     [4]byte
		rest   []byte
	}{
		{48, [4]byte{b[6], b[7], b[9], b[10]}, b[11:]},
		{56, [4]byte{b[7], b[9], b[10], b[11]}, b[12:]},
		{64, [4]byte{b[9], b[10], b[11], b[12]}, b[13:]},
		{96, [4]byte(b[12:]), nil},
	} {
		if form.v4[0] == 0 || form.length < min(prefix, 96) {
			continue
		}
		out[n] = netip.AddrFrom4(form.v4)
		if !found && !slices.ContainsFunc(form.rest, func(b byte) bool { return b != 0 }) {
			found = true
			out[0], out[n] = out[n], out[0]
		}
		n++
	}
	if n == 0 {
		out[0], n = netip.AddrFrom4([4]byte(b[12:])), 1
	}
	return out, n
}
