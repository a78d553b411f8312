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
func Ranges() []Range { return built().ranges }

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

// A row is a Range before it is read: reading all takes 0.1 ms, which a program that
// asks about no address does not spend.
type row struct {
	prefix, kind, source string
	only                 only
}

type only uint8

const (
	never only = iota + 1
	cloud
)

// rows is in the order of addresses; a test holds it to that.
var rows = []row{
	{"0.0.0.0/8", "this network", "RFC 791, section 3.2", never},
	{"0.0.0.0/32", "unspecified", "RFC 1122, section 3.2.1.3", never},
	{"10.0.0.0/8", private, rfc1918, 0},
	{"100.64.0.0/10", "shared (carrier-grade NAT)", "RFC 6598", 0},
	{"100.100.100.200/32", metadata, "instance metadata of Alibaba Cloud", cloud},
	{"127.0.0.0/8", loopback, "RFC 1122, section 3.2.1.3", 0},
	{"168.63.129.16/32", metadata, "Azure WireServer", cloud},
	{"169.254.0.0/16", linkLocal, "RFC 3927", 0},
	{"169.254.0.23/32", metadata, tencent, cloud},
	{"169.254.10.10/32", metadata, tencent, cloud},
	{"169.254.42.42/32", metadata, "instance metadata of Scaleway", cloud},
	{"169.254.169.250/32", metadata, "metadata of Rancher", cloud},
	{"169.254.169.254/32", metadata, anyCloud, cloud},
	{"169.254.170.2/32", metadata, "task credentials of AWS ECS", cloud},
	{"169.254.170.23/32", metadata, "pod identity of AWS EKS", cloud},
	{"172.16.0.0/12", private, rfc1918, 0},
	{"192.0.0.0/24", protocols, "RFC 6890, section 2.1", 0},
	{"192.0.0.0/29", "IPv4 service continuity", "RFC 7335", 0},
	{"192.0.0.8/32", "dummy", "RFC 7600", 0},
	{"192.0.0.9/32", anycast, "RFC 7723", 0},
	{"192.0.0.10/32", anycast, "RFC 8155", 0},
	{"192.0.0.170/32", discovery, "RFC 8880", 0},
	{"192.0.0.171/32", discovery, "RFC 8880", 0},
	{"192.0.0.192/32", metadata, "instance metadata of Oracle Cloud Classic", cloud},
	{"192.0.2.0/24", documentation, "RFC 5737", 0},
	{"192.31.196.0/24", "AS112", "RFC 7535", 0},
	{"192.52.193.0/24", "multicast tunnels (AMT)", "RFC 7450", 0},
	{"192.88.99.0/24", "6to4 relay", "RFC 7526", 0},
	{"192.88.99.2/32", "6a44 relay", "RFC 6751", 0},
	{"192.168.0.0/16", private, rfc1918, 0},
	{"192.175.48.0/24", "AS112", "RFC 7534", 0},
	{"198.18.0.0/15", benchmarking, "RFC 2544", 0},
	{"198.51.100.0/24", documentation, "RFC 5737", 0},
	{"203.0.113.0/24", documentation, "RFC 5737", 0},
	{"224.0.0.0/4", multicast, "RFC 5771", never},
	{"240.0.0.0/4", reserved, "RFC 1112, section 4", 0},
	{"255.255.255.255/32", "broadcast", "RFC 919, section 7", never},

	{"::/8", reserved, rfc4291, 0},
	{"::/96", "IPv4-compatible", "RFC 4291, section 2.5.5.1", 0},
	{"::/128", "unspecified", rfc4291, never},
	{"::1/128", loopback, rfc4291, 0},
	{"::ffff:0:0/96", "IPv4-mapped", "RFC 4291, section 2.5.5.2", 0},
	{"::ffff:0:0:0/96", "IPv4-translated", "RFC 2765, section 2.1", 0},
	{"64:ff9b::/96", "NAT64", "RFC 6052", 0},
	{"64:ff9b:1::/48", "local NAT64", "RFC 8215", 0},
	{"100::/8", unassigned, addrSpace6, 0},
	{"100::/64", "discard", "RFC 6666", 0},
	{"100:0:0:1::/64", "dummy", "RFC 9780", 0},
	{"200::/7", unassigned, "RFC 4048", 0},
	{"400::/6", unassigned, addrSpace6, 0},
	{"800::/5", unassigned, addrSpace6, 0},
	{"1000::/4", unassigned, addrSpace6, 0},
	{"2001::/23", protocols, "RFC 2928", 0},
	{"2001::/32", "Teredo", "RFC 4380", 0},
	{"2001:1::1/128", anycast, "RFC 7723", 0},
	{"2001:1::2/128", anycast, "RFC 8155", 0},
	{"2001:1::3/128", anycast, "RFC 9665", 0},
	{"2001:2::/48", benchmarking, "RFC 5180", 0},
	{"2001:3::/32", "multicast tunnels (AMT)", "RFC 7450", 0},
	{"2001:4:112::/48", "AS112", "RFC 7535", 0},
	{"2001:10::/28", "ORCHID", "RFC 4843", 0},
	{"2001:20::/28", "ORCHIDv2", "RFC 7343", 0},
	{"2001:30::/28", "remote identification of drones", "RFC 9374", 0},
	{"2001:db8::/32", documentation, "RFC 3849", 0},
	{"2002::/16", "6to4", "RFC 3056", 0},
	{"2620:4f:8000::/48", "AS112", "RFC 7534", 0},
	{"3fff::/20", documentation, "RFC 9637", 0},
	{"4000::/3", unassigned, addrSpace6, 0},
	{"5f00::/16", "SRv6 segments", "RFC 9602", 0},
	{"6000::/3", unassigned, addrSpace6, 0},
	{"8000::/3", unassigned, addrSpace6, 0},
	{"a000::/3", unassigned, addrSpace6, 0},
	{"c000::/3", unassigned, addrSpace6, 0},
	{"e000::/4", unassigned, addrSpace6, 0},
	{"f000::/5", unassigned, addrSpace6, 0},
	{"f800::/6", unassigned, addrSpace6, 0},
	{"fc00::/7", private, "RFC 4193", 0},
	{"fd00:42::42/128", metadata, "instance metadata of Scaleway", cloud},
	{"fd00:c1::a9fe:a9fe/128", metadata, "instance metadata of Oracle Cloud", cloud},
	{"fd00:100::100:200/128", metadata, "instance metadata of Alibaba Cloud", cloud},
	{"fd00:ec2::23/128", metadata, "pod identity of AWS EKS", cloud},
	{"fd00:ec2::254/128", metadata, "instance metadata of AWS", cloud},
	{"fd00:a9fe:a9fe::1/128", metadata, "instance metadata of Akamai", cloud},
	{"fd20:ce::254/128", metadata, "instance metadata of Google Cloud", cloud},
	{"fe00::/9", unassigned, addrSpace6, 0},
	{"fe80::/10", linkLocal, rfc4291, 0},
	{"fe80::a9fe:a9fe/128", metadata, "instance metadata of OpenStack and Akamai", cloud},
	{"fec0::/10", "site-local", "RFC 3879", 0},
	{"ff00::/8", multicast, rfc4291, never},
}

func (r row) read() Range {
	return Range{Prefix: netip.MustParsePrefix(r.prefix), Kind: r.kind, Source: r.source, Never: r.only == never, Metadata: r.only == cloud}
}
