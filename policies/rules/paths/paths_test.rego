package obspc.paths_test

import data.obspc.paths

policy := {"files": [
	{"path": "/", "level": "read", "only": true},
	{"path": "/a", "level": "read"},
	{"path": "/a/b", "level": "deny"},
	{"path": "/a/b/c", "level": "write"},
]}

test_whole_components if {
	paths.above("/a", "/a")
	paths.above("/a", "/a/b")
	paths.above("/", "/a")
	not paths.above("/a", "/ab")
	not paths.above("/a/b", "/a")
}

test_the_longest_decides if {
	paths.level("/a/x") == "read" with input as policy
	paths.level("/a/b") == "deny" with input as policy
	paths.level("/a/b/x") == "deny" with input as policy
	paths.level("/a/b/c/d") == "write" with input as policy
	paths.level("/x") == "deny" with input as policy
	paths.level("/") == "read" with input as policy
}
