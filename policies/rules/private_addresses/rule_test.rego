package obspc.rules.private_addresses_test

import data.obspc.rules.private_addresses

test_private if {
	every address in ["10.2.0.7", "127.0.0.1", "169.254.169.254", "192.168.1.1", "fd00::1", "fe80::1", "::1"] {
		count(private_addresses.deny) == 1 with input as {"endpoints": [{"name": "e", "address": address}]}
	}
}

test_public_and_names if {
	count(private_addresses.deny) == 0 with input as {"endpoints": [
		{"name": "a", "address": "93.184.216.34"},
		{"name": "b", "host": "example.com"},
		{"name": "c", "address": "2606:2800:220:1::1"},
	]}
}

test_opened_ranges if {
	every range in ["10.2.0.0/16", "127.0.0.1/32", "0.0.0.0/0", "fd00:1::/32", "::/0"] {
		count(private_addresses.deny) == 1 with input as {"endpoints": [{"name": "e", "host": "a.example.com", "addresses": [range]}]}
	}
}

test_opened_public if {
	count(private_addresses.deny) == 0 with input as {"endpoints": [{"name": "e", "host": "a.example.com", "addresses": ["93.184.216.0/24"]}]}
}
