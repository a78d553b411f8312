# No write outside slots.
package obspc.rules.writes_in_slots

deny contains {"message": message, "path": ["files", i]} if {
	some i, rule in input.files
	rule.level == "write"
	not startswith(rule.path, "${")
	not rule.backing
	message := sprintf("%s is written and lies in no slot; write below ${workspace} or ${tmp}", [rule.path])
}
