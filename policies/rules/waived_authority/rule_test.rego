package obspc.rules.waived_authority_test

import data.obspc.rules.waived_authority

waiving(feature) := {"waivers": [{"target": "seatbelt", "feature": feature, "reason": "r"}]}

test_authority if count(waived_authority.deny) == 1 with input as waiving("filesystem.deny")

test_limit if count(waived_authority.deny) == 0 with input as waiving("limits.memory")
