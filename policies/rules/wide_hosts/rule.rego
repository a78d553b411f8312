# Hosts are not too wide.
package obspc.rules.wide_hosts

deny contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	startswith(endpoint.host, "**.")
	message := sprintf("endpoint %s allows every name below %s; name the hosts, or one label with *.", [endpoint.name, trim_prefix(endpoint.host, "**.")])
}

warn contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	startswith(endpoint.host, "*.")
	message := sprintf("endpoint %s allows every host of %s", [endpoint.name, trim_prefix(endpoint.host, "*.")])
}
