package obspc.rules.limits_set_test

import data.obspc.rules.limits_set

test_none if {
	count(limits_set.deny) == 1 with input as {"policy": "p"}
	count(limits_set.warn) == 4 with input as {"policy": "p"}
}

test_all if {
	limits := [{"name": name, "value": 1} | some name in ["timeout", "memory", "processes", "stdout", "stderr"]]
	count(limits_set.deny) == 0 with input as {"limits": limits}
	count(limits_set.warn) == 0 with input as {"limits": limits}
}
