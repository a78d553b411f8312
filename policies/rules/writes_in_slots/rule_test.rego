package obspc.rules.writes_in_slots_test

import data.obspc.rules.writes_in_slots

test_outside if {
	some finding in writes_in_slots.deny with input as {"files": [{"path": "/srv/out", "level": "write"}]}
	finding.path == ["files", 0]
}

test_inside if {
	count(writes_in_slots.deny) == 0 with input as {"files": [
		{"path": "/srv/in", "level": "read"},
		{"path": "${workspace}/out", "level": "write"},
		{"path": "/dev/null", "level": "write", "backing": "dev"},
	]}
}
