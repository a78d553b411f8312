package obspc.rules.requests_seen_test

import data.obspc.rules.requests_seen

test_anything_on_443 if {
	count(requests_seen.warn) == 1 with input as {"endpoints": [{"name": "e", "host": "a.example.com", "ports": [443], "protocol": "tcp"}]}
}

test_tls_and_ssh if {
	count(requests_seen.warn) == 0 with input as {"endpoints": [
		{"name": "a", "host": "a.example.com", "ports": [443]},
		{"name": "b", "host": "b.example.com", "ports": [22], "protocol": "tcp"},
	]}
}

rest(requests) := {"endpoints": [{"name": "e", "host": "a.example.com", "ports": [443], "protocol": "rest", "requests": requests}]}

test_every_request if count(requests_seen.warn) == 1 with input as rest([{"answer": "allow", "path": "/**"}])

test_some_requests if {
	count(requests_seen.warn) == 0 with input as rest([{"answer": "allow", "methods": ["GET"], "path": "/**"}])
	count(requests_seen.warn) == 0 with input as rest([{"answer": "allow", "path": "/repos/**"}, {"answer": "deny", "path": "/**"}])
}
