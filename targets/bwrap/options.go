package bwrap

// arity is the number of arguments of every option that a stream of ours may
// hold (bwrap(1)). bwrap reads the element after an option's last argument as the
// next option, so one element too few would turn a path into an option.
var arity = map[string]int{
	"--unshare-user": 0, "--unshare-pid": 0, "--unshare-ipc": 0, "--unshare-uts": 0, "--unshare-net": 0, "--unshare-cgroup-try": 0,
	"--disable-userns": 0, "--die-with-parent": 0, "--new-session": 0, "--cap-drop": 1, "--clearenv": 0,
	"--hostname": 1, "--chdir": 1,
	"--perms": 1, "--size": 1, "--dir": 1, "--tmpfs": 1, "--symlink": 2, "--proc": 1, "--dev": 1,
	"--bind": 2, "--ro-bind": 2, "--dev-bind": 2, "--ro-bind-data": 2,
	"--remount-ro": 1, "--chmod": 2,
	"--seccomp": 1, "--json-status-fd": 1,
}

// argumentLimit is how many arguments the stream may hold. bwrap takes 9,000 in
// all (MAX_ARGS of bubblewrap 0.8.0: one more is "Exceeded maximum number of
// arguments 9000"); the rest is left for its own command line.
const argumentLimit = 9000 - 64

// wayReserve bounds the arguments for the directories that lead to the slots'
// bindings, which no artifact names: 4 for each of 16 components of 4 slots.
const wayReserve = 4 * 16 * 4
