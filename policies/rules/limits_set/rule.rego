# Limits are set.
package obspc.rules.limits_set

stated := {limit.name | some limit in input.limits}

deny contains {"code": "timeout-set", "message": "the policy has no timeout; write one in its limits block"} if not "timeout" in stated

warn contains {"message": message} if {
	some name in ["memory", "processes", "stdout", "stderr"]
	not name in stated
	message := sprintf("the policy does not limit %s", [name])
}
