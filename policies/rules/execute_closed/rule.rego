# Lists of programs are closed: a run cannot add to them.
package obspc.rules.execute_closed

import data.obspc.paths

# what a run may write, as the policy says
written := {rule.path | some rule in input.files; rule.level == "write"; not rule.backing == "dev"}

deny contains {"message": message, "path": ["execute", i]} if {
	some i, rule in input.execute
	paths.level(rule.path) == "write"
	message := sprintf("%s may be written and executed: the command can bring its own programs", [rule.path])
}

deny contains {"message": message, "path": ["execute", i]} if {
	some i, rule in input.execute
	not rule.only
	some write in written
	write != rule.path
	paths.above(rule.path, write)
	message := sprintf("execute of %s covers %s, which may be written: the command can bring its own programs", [rule.path, write])
}

deny contains {"message": "execute of / is no list of programs; name directories or programs", "path": ["execute", i]} if {
	some i, rule in input.execute
	rule.path == "/"
	not rule.only
}
