package obspc.rules.execute_closed_test

import data.obspc.rules.execute_closed

policy(path) := {
	"files": [{"path": "/usr", "level": "read"}, {"path": "${workspace}", "level": "write"}, {"path": "${workspace}/vendor", "level": "read"}],
	"execute": [{"path": path}],
}

test_written if {
	count(execute_closed.deny) == 1 with input as policy("${workspace}")
	count(execute_closed.deny) == 1 with input as policy("${workspace}/bin")
}

test_read_only_part if count(execute_closed.deny) == 0 with input as policy("${workspace}/vendor")

test_system if count(execute_closed.deny) == 0 with input as policy("/usr/bin")

test_everything if count(execute_closed.deny) == 1 with input as policy("/")

test_around_a_write if count(execute_closed.deny) == 1 with input as {
	"files": [{"path": "/opt", "level": "read"}, {"path": "/opt/spool", "level": "write"}],
	"execute": [{"path": "/opt"}],
}
