# The version grows when the meaning changes.
package obspc.rules.version_grows

deny contains {"message": message} if {
	change := obspc.change()
	change.verdict != "same"
	input.version <= change.version
	message := sprintf("the meaning changed (%s) and the version did not grow: it is %d and was %d", [change.verdict, input.version, change.version])
}
