package obspc.rules.shell_by_name_test

import data.obspc.rules.shell_by_name

execute(path) := {"execute": [{"path": path, "origin": "p/filesystem.execute[0]"}]}

test_directories if {
	every path in ["/", "/usr", "/usr/bin", "/bin"] {
		count(shell_by_name.deny) == 1 with input as execute(path)
	}
}

test_by_name if {
	every path in ["/usr/bin/curl", "/bin/sh", "/usr/lib/git-core"] {
		count(shell_by_name.deny) == 0 with input as execute(path)
	}
}

test_template if count(shell_by_name.deny) == 0 with input as {"execute": [{"path": "/usr/bin", "origin": "std/shell/filesystem.execute[0]"}]}
