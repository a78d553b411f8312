package addresses

import "net/netip"

// A Range is a block of addresses that is no ordinary destination on the
// Internet.
type Range struct {
	Prefix   netip.Prefix
	Kind     string // for people: "loopback", "private"; no two words for one thing
	Source   string // the document that says so
	Never    bool   // no statement opens it: it is no address of one machine
	Metadata bool   // hands credentials to whoever asks: opened only by itself
}

// Ranges lists all, IPv4 first, by address, a block before those inside it. It
// holds every row of the IANA special-purpose registries for IPv4 and IPv6, those
// that are globally reachable included (anycast of protocols, no hosts); what of
// IPv6 the IANA keeps unassigned outside 2000::/3 (RFC 4291, section 2.4); and the
// addresses at which clouds serve credentials.
func Ranges() []Range { return ranges }

// Kinds that several blocks have.
const (
	private       = "private"
	loopback      = "loopback"
	linkLocal     = "link-local"
	multicast     = "multicast"
	reserved      = "reserved"
	documentation = "documentation"
	benchmarking  = "benchmarking"
	protocols     = "kept for protocols"
	anycast       = "anycast of a protocol"
	discovery     = "discovery of NAT64"
	metadata      = "a metadata service"
	unassigned    = "not assigned"
)

// Sources that several blocks have.
const (
	rfc1918    = "RFC 1918"
	rfc4291    = "RFC 4291"
	addrSpace6 = "IANA IPv6 address space"
	anyCloud   = "instance metadata of AWS, Google Cloud, Azure, Oracle, DigitalOcean, Hetzner, OpenStack and others"
	tencent    = "instance metadata of Tencent Cloud"
)

// ranges is in the order of addresses; a test holds it to that.
var ranges = []Range{
	never("0.0.0.0/8", "this network", "RFC 791, section 3.2"),
	never("0.0.0.0/32", "unspecified", "RFC 1122, section 3.2.1.3"),
	row("10.0.0.0/8", private, rfc1918),
	row("100.64.0.0/10", "shared (carrier-grade NAT)", "RFC 6598"),
	cloud("100.100.100.200/32", "instance metadata of Alibaba Cloud"),
	row("127.0.0.0/8", loopback, "RFC 1122, section 3.2.1.3"),
	cloud("168.63.129.16/32", "Azure WireServer"),
	row("169.254.0.0/16", linkLocal, "RFC 3927"),
	cloud("169.254.0.23/32", tencent),
	cloud("169.254.10.10/32", tencent),
	cloud("169.254.42.42/32", "instance metadata of Scaleway"),
	cloud("169.254.169.250/32", "metadata of Rancher"),
	cloud("169.254.169.254/32", anyCloud),
	cloud("169.254.170.2/32", "task credentials of AWS ECS"),
	cloud("169.254.170.23/32", "pod identity of AWS EKS"),
	row("172.16.0.0/12", private, rfc1918),
	row("192.0.0.0/24", protocols, "RFC 6890, section 2.1"),
	row("192.0.0.0/29", "IPv4 service continuity", "RFC 7335"),
	row("192.0.0.8/32", "dummy", "RFC 7600"),
	row("192.0.0.9/32", anycast, "RFC 7723"),
	row("192.0.0.10/32", anycast, "RFC 8155"),
	row("192.0.0.170/32", discovery, "RFC 8880"),
	row("192.0.0.171/32", discovery, "RFC 8880"),
	cloud("192.0.0.192/32", "instance metadata of Oracle Cloud Classic"),
	row("192.0.2.0/24", documentation, "RFC 5737"),
	row("192.31.196.0/24", "AS112", "RFC 7535"),
	row("192.52.193.0/24", "multicast tunnels (AMT)", "RFC 7450"),
	row("192.88.99.0/24", "6to4 relay", "RFC 7526"),
	row("192.88.99.2/32", "6a44 relay", "RFC 6751"),
	row("192.168.0.0/16", private, rfc1918),
	row("192.175.48.0/24", "AS112", "RFC 7534"),
	row("198.18.0.0/15", benchmarking, "RFC 2544"),
	row("198.51.100.0/24", documentation, "RFC 5737"),
	row("203.0.113.0/24", documentation, "RFC 5737"),
	never("224.0.0.0/4", multicast, "RFC 5771"),
	row("240.0.0.0/4", reserved, "RFC 1112, section 4"),
	never("255.255.255.255/32", "broadcast", "RFC 919, section 7"),

	row("::/8", reserved, rfc4291),
	row("::/96", "IPv4-compatible", "RFC 4291, section 2.5.5.1"),
	never("::/128", "unspecified", rfc4291),
	row("::1/128", loopback, rfc4291),
	row("::ffff:0:0/96", "IPv4-mapped", "RFC 4291, section 2.5.5.2"),
	row("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765, section 2.1"),
	row("64:ff9b::/96", "NAT64", "RFC 6052"),
	row("64:ff9b:1::/48", "local NAT64", "RFC 8215"),
	row("100::/8", unassigned, addrSpace6),
	row("100::/64", "discard", "RFC 6666"),
	row("100:0:0:1::/64", "dummy", "RFC 9780"),
	row("200::/7", unassigned, "RFC 4048"),
	row("400::/6", unassigned, addrSpace6),
	row("800::/5", unassigned, addrSpace6),
	row("1000::/4", unassigned, addrSpace6),
	row("2001::/23", protocols, "RFC 2928"),
	row("2001::/32", "Teredo", "RFC 4380"),
	row("2001:1::1/128", anycast, "RFC 7723"),
	row("2001:1::2/128", anycast, "RFC 8155"),
	row("2001:1::3/128", anycast, "RFC 9665"),
	row("2001:2::/48", benchmarking, "RFC 5180"),
	row("2001:3::/32", "multicast tunnels (AMT)", "RFC 7450"),
	row("2001:4:112::/48", "AS112", "RFC 7535"),
	row("2001:10::/28", "ORCHID", "RFC 4843"),
	row("2001:20::/28", "ORCHIDv2", "RFC 7343"),
	row("2001:30::/28", "remote identification of drones", "RFC 9374"),
	row("2001:db8::/32", documentation, "RFC 3849"),
	row("2002::/16", "6to4", "RFC 3056"),
	row("2620:4f:8000::/48", "AS112", "RFC 7534"),
	row("3fff::/20", documentation, "RFC 9637"),
	row("4000::/3", unassigned, addrSpace6),
	row("5f00::/16", "SRv6 segments", "RFC 9602"),
	row("6000::/3", unassigned, addrSpace6),
	row("8000::/3", unassigned, addrSpace6),
	row("a000::/3", unassigned, addrSpace6),
	row("c000::/3", unassigned, addrSpace6),
	row("e000::/4", unassigned, addrSpace6),
	row("f000::/5", unassigned, addrSpace6),
	row("f800::/6", unassigned, addrSpace6),
	row("fc00::/7", private, "RFC 4193"),
	cloud("fd00:42::42/128", "instance metadata of Scaleway"),
	cloud("fd00:c1::a9fe:a9fe/128", "instance metadata of Oracle Cloud"),
	cloud("fd00:100::100:200/128", "instance metadata of Alibaba Cloud"),
	cloud("fd00:ec2::23/128", "pod identity of AWS EKS"),
	cloud("fd00:ec2::254/128", "instance metadata of AWS"),
	cloud("fd00:a9fe:a9fe::1/128", "instance metadata of Akamai"),
	cloud("fd20:ce::254/128", "instance metadata of Google Cloud"),
	row("fe00::/9", unassigned, addrSpace6),
	row("fe80::/10", linkLocal, rfc4291),
	cloud("fe80::a9fe:a9fe/128", "instance metadata of OpenStack and Akamai"),
	row("fec0::/10", "site-local", "RFC 3879"),
	never("ff00::/8", multicast, rfc4291),
}

func row(prefix, kind, source string) Range {
	return Range{Prefix: netip.MustParsePrefix(prefix), Kind: kind, Source: source}
}

func never(prefix, kind, source string) Range {
	r := row(prefix, kind, source)
	r.Never = true
	return r
}

func cloud(prefix, source string) Range {
	r := row(prefix, metadata, source)
	r.Metadata = true
	return r
}
