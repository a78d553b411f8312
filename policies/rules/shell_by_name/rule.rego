# A shell is started only where a policy says so.
package obspc.rules.shell_by_name

import data.obspc.paths

directories := ["/bin", "/usr/bin", "/usr/local/bin"]

shells := ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"]

# A list that names a shell, or that std/shell brings in, says so. A directory does
# not: it admits a shell beside what was meant.
deny contains {"message": message, "path": ["execute", i]} if {
	some i, rule in input.execute
	not rule.only
	not startswith(rule.origin, "std/shell/")
	some directory in directories
	some shell in shells
	program := concat("/", [directory, shell])
	rule.path != program
	paths.above(rule.path, program)
	message := sprintf("execute of %s admits shells; name the programs, or the shell itself", [rule.path])
}
