# No private addresses without a reason.
package obspc.rules.private_addresses

# ranges are those that are not reachable from everywhere (RFC 6890 and the IANA
# special-purpose address registries).
ranges := [
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16",
	"198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "::1/128", "::/128", "fc00::/7", "fe80::/10", "ff00::/8",
]

deny contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	some range in ranges
	net.cidr_contains(range, endpoint.address)
	message := sprintf("endpoint %s reaches the private address %s (%s)", [endpoint.name, endpoint.address, range])
}

deny contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	some opened in endpoint.addresses
	met := [range | some range in ranges; net.cidr_intersects(range, opened)]
	count(met) > 0
	message := sprintf("endpoint %s lets %s lead to private addresses (%s)", [endpoint.name, endpoint.host, opened])
}
