package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// slow is Special by looking at every row.
func slow(addr netip.Addr) (Range, bool) {
	best := -1
	for i, r := range Ranges() {
		if holds(r.Prefix, addr) && (best < 0 || r.Prefix.Bits() > Ranges()[best].Prefix.Bits()) {
			best = i
		}
	}
	if best < 0 {
		return Range{}, false
	}
	return Ranges()[best], true
}

// holds compares bits, where Prefix.Contains keeps IPv4-mapped addresses apart.
func holds(p netip.Prefix, addr netip.Addr) bool {
	if p.Addr().BitLen() != addr.BitLen() {
		return false
	}
	a, b := p.Addr().AsSlice(), addr.AsSlice()
	for bit := range p.Bits() {
		if (a[bit/8]^b[bit/8])&(0x80>>(bit%8)) != 0 {
			return false
		}
	}
	return true
}

func TestRangesAreSortedAndSourced(t *testing.T) {
	order := func(a, b Range) int {
		if c := a.Prefix.Addr().Compare(b.Prefix.Addr()); c != 0 {
			return c
		}
		return a.Prefix.Bits() - b.Prefix.Bits()
	}
	for i, r := range Ranges() {
		if r.Prefix != r.Prefix.Masked() {
			t.Errorf("%s has bits behind its length", r.Prefix)
		}
		if r.Kind == "" || r.Source == "" {
			t.Errorf("%s lacks its kind or its source: %+v", r.Prefix, r)
		}
		if r.Metadata && !r.Prefix.IsSingleIP() {
			t.Errorf("%s is a metadata service and more than one address", r.Prefix)
		}
		if i > 0 && order(Ranges()[i-1], r) >= 0 {
			t.Errorf("%s stands behind %s", r.Prefix, Ranges()[i-1].Prefix)
		}
	}
}

// TestSpecialAtEveryEnd asks at both ends of every range and beside them.
func TestSpecialAtEveryEnd(t *testing.T) {
	for _, r := range Ranges() {
		first, final := r.Prefix.Addr(), Last(r.Prefix)
		for _, addr := range []netip.Addr{first, final, first.Prev(), final.Next()} {
			if !addr.IsValid() {
				continue // nothing before the first address, nothing after the last
			}
			want, special := slow(addr)
			if got, ok := Special(addr); got != want || ok != special {
				t.Errorf("Special(%s) = %v, %v, want %v, %v", addr, got.Prefix, ok, want.Prefix, special)
			}
		}
		for _, addr := range []netip.Addr{first, final} {
			if _, ok := Special(addr); !ok {
				t.Errorf("Special(%s) says no, and it is an end of %s", addr, r.Prefix)
			}
		}
	}
}

// TestSpecialKinds states what a reader of the standards would, apart from the table.
func TestSpecialKinds(t *testing.T) {
	for _, tt := range []struct{ addr, kind string }{
		{"0.0.0.0", "unspecified"}, {"0.0.0.1", "this network"}, {"0.255.255.255", "this network"}, {"1.0.0.0", ""},
		{"9.255.255.255", ""}, {"10.0.0.0", "private"}, {"10.255.255.255", "private"}, {"11.0.0.0", ""},
		{"100.63.255.255", ""}, {"100.64.0.0", "shared (carrier-grade NAT)"}, {"100.100.100.200", "a metadata service"}, {"100.100.100.201", "shared (carrier-grade NAT)"}, {"100.128.0.0", ""},
		{"126.255.255.255", ""}, {"127.0.0.1", "loopback"}, {"127.255.255.255", "loopback"}, {"128.0.0.0", ""},
		{"168.63.129.15", ""}, {"168.63.129.16", "a metadata service"}, {"168.63.129.17", ""},
		{"169.253.255.255", ""}, {"169.254.0.0", "link-local"}, {"169.254.169.254", "a metadata service"}, {"169.254.169.255", "link-local"}, {"169.254.170.2", "a metadata service"}, {"169.255.0.0", ""},
		{"172.15.255.255", ""}, {"172.16.0.0", "private"}, {"172.31.255.255", "private"}, {"172.32.0.0", ""},
		{"192.0.0.171", "discovery of NAT64"}, {"192.0.0.255", "kept for protocols"}, {"192.0.1.0", ""}, {"192.0.2.1", "documentation"}, {"192.168.255.255", "private"}, {"192.169.0.0", ""},
		{"198.17.255.255", ""}, {"198.18.0.0", "benchmarking"}, {"198.19.255.255", "benchmarking"}, {"198.20.0.0", ""},
		{"223.255.255.255", ""}, {"224.0.0.0", "multicast"}, {"239.255.255.255", "multicast"}, {"240.0.0.0", "reserved"}, {"255.255.255.254", "reserved"}, {"255.255.255.255", "broadcast"},
		{"8.8.8.8", ""}, {"::", "unspecified"}, {"::1", "loopback"}, {"::2", "IPv4-compatible"}, {"::7f00:1", "IPv4-compatible"},
		{"::ffff:8.8.8.8", "IPv4-mapped"}, {"::ffff:0:8.8.8.8", "IPv4-translated"}, {"64:ff9b::808:808", "NAT64"}, {"64:ff9b:1::1", "local NAT64"}, {"64:ff9b:2::", "reserved"},
		{"100::1", "discard"}, {"100:0:0:1::1", "dummy"}, {"100:0:0:2::", "not assigned"}, {"1fff::1", "not assigned"}, {"2000::", ""},
		{"2001::1", "Teredo"}, {"2001:1::4", "kept for protocols"}, {"2001:2:0:1::", "benchmarking"}, {"2001:2f::1", "ORCHIDv2"}, {"2001:1ff:ffff::", "kept for protocols"}, {"2001:200::", ""},
		{"2001:db7:ffff::", ""}, {"2001:db8::1", "documentation"}, {"2001:db9::", ""}, {"2002::1", "6to4"}, {"2003::", ""}, {"2606:4700::1111", ""},
		{"3ffe::1", ""}, {"3fff:fff::1", "documentation"}, {"3fff:1000::", ""}, {"5f00::1", "SRv6 segments"}, {"fbff::1", "not assigned"},
		{"fc00::1", "private"}, {"fd00:ec2::254", "a metadata service"}, {"fd00:ec2::253", "private"}, {"fd20:ce::254", "a metadata service"},
		{"fe80::1", "link-local"}, {"fe80::1%eth0", "link-local"}, {"fe80::a9fe:a9fe%eth0", "a metadata service"}, {"febf:ffff::", "link-local"}, {"fec0::1", "site-local"}, {"feff::1", "site-local"}, {"ff02::1", "multicast"},
	} {
		if got, ok := Special(netip.MustParseAddr(tt.addr)); got.Kind != tt.kind || ok != (tt.kind != "") {
			t.Errorf("Special(%s) = %q, %v, want %q", tt.addr, got.Kind, ok, tt.kind)
		}
	}
	if r, ok := Special(netip.Addr{}); ok {
		t.Errorf("Special(the zero address) = %v", r)
	}
}

// forms writes an IPv4 address in every form that carries one.
func forms(v4 netip.Addr) map[string]netip.Addr {
	b := v4.As4()
	form := func(prefix string, at ...int) netip.Addr {
		out := netip.MustParseAddr(prefix).As16()
		for i, where := range at {
			out[where] = b[i]
		}
		return netip.AddrFrom16(out)
	}
	teredo := netip.MustParseAddr("2001:0:808:808::").As16()
	for i := range b {
		teredo[12+i] = ^b[i]
	}
	return map[string]netip.Addr{
		"mapped":               form("::ffff:0:0", 12, 13, 14, 15),
		"translated":           form("::ffff:0:0:0", 12, 13, 14, 15),
		"compatible":           form("::", 12, 13, 14, 15),
		"NAT64":                form("64:ff9b::", 12, 13, 14, 15),
		"local NAT64, 96":      form("64:ff9b:1::", 12, 13, 14, 15),
		"local NAT64, 48":      form("64:ff9b:1::", 6, 7, 9, 10),
		"local NAT64, 56":      form("64:ff9b:1::", 7, 9, 10, 11),
		"local NAT64, 64":      form("64:ff9b:1::", 9, 10, 11, 12),
		"6to4":                 form("2002::1", 2, 3, 4, 5),
		"Teredo":               netip.AddrFrom16(teredo),
		"Teredo server":        form("2001:0::f7f7:f7f7", 4, 5, 6, 7),
		"ISATAP":               form("2606:4700::5efe:0:0", 12, 13, 14, 15),
		"ISATAP, global v4":    form("2606:4700::200:5efe:0:0", 12, 13, 14, 15),
		"ISATAP, other prefix": form("2a00:1:2:3:0:5efe::", 12, 13, 14, 15),
	}
}

// TestEveryFormOfEverySpecialAddress: opened as IPv6 and not as IPv4, no form of a
// special IPv4 address is dialled; opened as both, it is, unless nothing opens it.
func TestEveryFormOfEverySpecialAddress(t *testing.T) {
	whole6 := []netip.Prefix{netip.MustParsePrefix("::/0")}
	asked := 0
	for _, r := range Ranges() {
		if !r.Prefix.Addr().Is4() {
			continue
		}
		for _, v4 := range []netip.Addr{r.Prefix.Addr(), Last(r.Prefix)} {
			for name, addr := range forms(v4) {
				if v4.As4()[0] == 0 && (name == "compatible" || strings.HasPrefix(name, "local NAT64")) {
					continue // :: and its like, which are refused as such
				}
				asked++
				opened := whole6
				if addr.Is4In6() { // netip keeps mapped addresses out of other prefixes
					opened = []netip.Prefix{netip.PrefixFrom(addr, 128)}
				}
				inner, _ := Special(v4)
				local := strings.HasPrefix(name, "local NAT64") // several readings, each of which may refuse
				if got, ok := Admitted(addr, opened); ok || got != inner && !local {
					t.Errorf("Admitted(%s, %v) = %v, %v: it is %s of %s", addr, opened, got.Prefix, ok, name, v4)
				}
				if local && name != "local NAT64, 96" {
					continue
				}
				if local {
					opened = []netip.Prefix{netip.PrefixFrom(addr, 96).Masked()}
				}
				both := append(slices.Clone(opened), netip.PrefixFrom(v4, 32))
				if _, ok := Admitted(addr, both); ok == inner.Never {
					t.Errorf("Admitted(%s, %v) = %v: it is %s of %s", addr, both, ok, name, v4)
				}
			}
		}
	}
	if asked < 500 {
		t.Errorf("only %d forms were asked about", asked)
	}
}

func TestEmbedded(t *testing.T) {
	want := netip.MustParseAddr("93.184.216.34")
	for name, addr := range forms(want) {
		if name == "Teredo server" {
			continue // the client comes first
		}
		if got, ok := Embedded(addr); !ok || got != want {
			t.Errorf("Embedded(%s) = %v, %v: it is %s of %s", addr, got, ok, name, want)
		}
	}
	for _, none := range []string{"::", "::1", "2606:4700::1111", "93.184.216.34", "fe80::1"} {
		if got, ok := Embedded(netip.MustParseAddr(none)); ok {
			t.Errorf("Embedded(%s) = %v, and it carries none", none, got)
		}
	}
	if got, ok := Embedded(netip.Addr{}); ok {
		t.Errorf("Embedded(the zero address) = %v", got)
	}
}

func TestAdmitted(t *testing.T) {
	for _, tt := range []struct {
		name, addr, opened, refuses string // refuses: "" if it may be dialled
	}{
		{"ordinary", "8.8.8.8", "", ""},
		{"ordinary IPv6", "2606:4700::1111", "", ""},
		{"private", "10.2.0.7", "", "10.0.0.0/8"},
		{"private, opened", "10.2.0.7", "10.2.0.0/16", ""},
		{"private, opened by itself", "10.2.0.7", "10.2.0.7/32", ""},
		{"private, another opened", "10.3.0.7", "10.2.0.0/16", "10.0.0.0/8"},
		{"metadata, all opened", "169.254.169.254", "0.0.0.0/0 169.254.0.0/16 169.254.169.254/31", "169.254.169.254/32"},
		{"metadata, opened by itself", "169.254.169.254", "169.254.169.254/32", ""},
		{"its neighbour", "169.254.169.253", "169.254.0.0/16", ""},
		{"metadata at a public address", "168.63.129.16", "", "168.63.129.16/32"},
		{"metadata IPv6, all opened", "fd00:ec2::254", "fd00::/8", "fd00:ec2::254/128"},
		{"metadata IPv6, by itself", "fd00:ec2::254", "fd00:ec2::254/128", ""},
		{"multicast, opened", "224.0.0.1", "224.0.0.0/4", "224.0.0.0/4"},
		{"unspecified, opened", "0.0.0.0", "0.0.0.0/0", "0.0.0.0/32"},
		{"unspecified IPv6, opened", "::", "::/0", "::/128"},
		{"broadcast, opened", "255.255.255.255", "255.255.255.255/32", "255.255.255.255/32"},
		{"mapped, IPv4 opened", "::ffff:10.2.0.7", "10.2.0.0/16", "::ffff:0.0.0.0/96"},
		{"NAT64 of an ordinary address", "64:ff9b::808:808", "", "64:ff9b::/96"},
		{"NAT64 of an ordinary address, opened", "64:ff9b::808:808", "64:ff9b::/96", ""},
		{"NAT64 of a private address, opened", "64:ff9b::a02:7", "64:ff9b::/96", "10.0.0.0/8"},
		{"NAT64 of metadata, both ranges opened", "64:ff9b::a9fe:a9fe", "64:ff9b::/96 169.254.0.0/16", "169.254.169.254/32"},
		{"local NAT64 of a longer prefix", "64:ff9b:1:fffe::808:808", "64:ff9b:1::/48", "240.0.0.0/4"},
		{"local NAT64 of a longer prefix, opened as that", "64:ff9b:1:fffe::808:808", "64:ff9b:1:fffe::/96", ""},
		{"local NAT64 of a private address, opened", "64:ff9b:1:fffe::a02:7", "64:ff9b:1:fffe::/96", "10.0.0.0/8"},
		{"ISATAP of an ordinary address", "2606:4700::5efe:808:808", "", ""},
		{"a zone", "fe80::1%eth0", "fe80::/10", "invalid Prefix"},
	} {
		var opened []netip.Prefix
		for _, p := range strings.Fields(tt.opened) {
			opened = append(opened, netip.MustParsePrefix(p))
		}
		r, ok := Admitted(netip.MustParseAddr(tt.addr), opened)
		got := ""
		if !ok {
			got = r.Prefix.String()
		}
		if got != tt.refuses {
			t.Errorf("%s: Admitted(%s, %v) is refused by %q, want %q", tt.name, tt.addr, opened, got, tt.refuses)
		}
	}
	if _, ok := Admitted(netip.Addr{}, nil); ok {
		t.Error("Admitted(the zero address) = true")
	}
}

func TestAdmittedAllocatesNothing(t *testing.T) {
	opened := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, addr := range []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:0:808:808::1"), netip.MustParseAddr("8.8.8.8")} {
		if n := testing.AllocsPerRun(100, func() { Admitted(addr, opened) }); n != 0 {
			t.Errorf("Admitted(%s) allocates %v times", addr, n)
		}
	}
}

// FuzzSpecial holds the search to looking at every row, and an address to the
// forms that carry it.
func FuzzSpecial(f *testing.F) {
	for _, r := range Ranges() {
		f.Add(r.Prefix.Addr().AsSlice())
		f.Add(Last(r.Prefix).AsSlice())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		want, special := slow(addr)
		if got, ok := Special(addr); got != want || ok != special {
			t.Errorf("Special(%s) = %v, %v, want %v, %v", addr, got, ok, want, special)
		}
		if _, ok := Admitted(addr, nil); ok && special {
			t.Errorf("Admitted(%s, nil), and it is in %s", addr, want.Prefix)
		}
	})
}

func BenchmarkAdmitted(b *testing.B) {
	for _, addr := range []string{"8.8.8.8", "10.0.0.1", "2606:4700::1111", "64:ff9b::a02:7"} {
		b.Run(fmt.Sprint(addr), func(b *testing.B) {
			a := netip.MustParseAddr(addr)
			b.ReportAllocs()
			for b.Loop() {
				Admitted(a, nil)
			}
		})
	}
}
