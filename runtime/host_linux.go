package runtime

import (
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime/domain"
)

// landlockVersion is the kernel's Landlock ABI.
var landlockVersion = domain.Version

// describeHost adds what only the kernel tells.
func describeHost(h *HostEvidence) {
	h.Landlock, _ = landlockVersion()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Release[:])
	}
}
