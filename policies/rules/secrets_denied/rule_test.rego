package obspc.rules.secrets_denied_test

import data.obspc.rules.secrets_denied

denied := [{"path": concat("/", ["${home}", secret]), "level": "deny"} | some secret in secrets_denied.secrets]

test_whole_home if count(secrets_denied.deny) == count(secrets_denied.secrets) with input as {"files": [{"path": "${home}", "level": "read"}]}

test_denied if count(secrets_denied.deny) == 0 with input as {"files": array.concat([{"path": "${home}", "level": "write"}], denied)}

test_part_of_home if count(secrets_denied.deny) == 0 with input as {"files": [{"path": "${home}/.cache", "level": "write"}]}

test_homes if {
	every path in ["/", "/home", "/root"] {
		count(secrets_denied.deny) == 1 with input as {"files": [{"path": path, "level": "read"}]}
	}
	count(secrets_denied.deny) == 0 with input as {"files": [{"path": "/", "level": "read", "only": true}]}
}
