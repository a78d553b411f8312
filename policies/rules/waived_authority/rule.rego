# Nothing but a limit is waived.
package obspc.rules.waived_authority

deny contains {"message": message, "path": ["waivers", i]} if {
	some i, waiver in input.waivers
	not startswith(waiver.feature, "limits.")
	message := sprintf("%s is waived for %s; only limits may be", [waiver.feature, waiver.target])
}
