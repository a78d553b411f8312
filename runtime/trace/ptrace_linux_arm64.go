package trace

import "golang.org/x/sys/unix"

// nativeArch is the token of this architecture's own system calls.
const nativeArch = unix.AUDIT_ARCH_AARCH64
