package runtime

import "golang.org/x/sys/unix"

// describeHost adds what only the kernel tells.
func describeHost(h *HostEvidence) {
	h.Landlock, _ = landlockVersion()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Release[:])
	}
}
