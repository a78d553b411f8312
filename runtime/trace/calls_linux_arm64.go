package trace

import "golang.org/x/sys/unix"

const (
	newfstatat  = unix.SYS_FSTATAT
	sysRenameat = unix.SYS_RENAMEAT
)

// older is empty: this architecture never had the calls that name no directory.
var older []row
