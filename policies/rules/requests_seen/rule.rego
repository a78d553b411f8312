# What is sent to an endpoint can be told.
package obspc.rules.requests_seen

warn contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	endpoint.protocol == "tcp"
	some port in endpoint.ports
	port in [80, 443, 8080, 8443]
	message := sprintf("endpoint %s lets anything be spoken on port %d, where HTTP and TLS are; leave protocol out, and the proxy holds the host name to the endpoint", [endpoint.name, port])
}

warn contains {"message": message, "path": ["endpoints", i]} if {
	some i, endpoint in input.endpoints
	some request in endpoint.requests
	request.answer == "allow"
	not request.methods
	request.path == "/**"
	message := sprintf("endpoint %s allows every request and ends TLS for it; name methods and paths, or leave protocol out", [endpoint.name])
}
