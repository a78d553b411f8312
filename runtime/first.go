package runtime

// firstWord makes obsrun the first process of a sandbox when it is its only
// argument but the number of the socket. Nobody types it.
const firstWord = "first-process"

// IsFirst reports whether args (the program's name included) are those of the
// first process. A program that starts sandboxes asks before anything else, and
// calls First.
func IsFirst(args []string) bool { return len(args) == 3 && args[1] == firstWord }
