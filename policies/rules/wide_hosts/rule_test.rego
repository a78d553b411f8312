package obspc.rules.wide_hosts_test

import data.obspc.rules.wide_hosts

endpoint(host) := {"endpoints": [{"name": "e", "host": host}]}

test_any_depth if count(wide_hosts.deny) == 1 with input as endpoint("**.example.com")

test_one_label if {
	count(wide_hosts.warn) == 1 with input as endpoint("*.example.com")
	count(wide_hosts.deny) == 0 with input as endpoint("*.example.com")
}

test_exact if {
	count(wide_hosts.deny) == 0 with input as endpoint("example.com")
	count(wide_hosts.warn) == 0 with input as endpoint("example.com")
}
