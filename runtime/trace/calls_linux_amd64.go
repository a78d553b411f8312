package trace

import "golang.org/x/sys/unix"

const (
	newfstatat  = unix.SYS_NEWFSTATAT
	sysRenameat = unix.SYS_RENAMEAT
)

// older are the calls of this architecture that newer ones lack.
var older = []row{
	one("open", unix.SYS_OPEN, opens, none, 0, 1, follow),
	{"creat", unix.SYS_CREAT, opens, none, 0, none, follow, none, none},
	one("stat", unix.SYS_STAT, stats, none, 0, none, follow),
	one("lstat", unix.SYS_LSTAT, stats, none, 0, none, noFollow),
	one("readlink", unix.SYS_READLINK, stats, none, 0, none, noFollow),
	one("access", unix.SYS_ACCESS, asks, none, 0, 1, follow),
	one("chmod", unix.SYS_CHMOD, writes, none, 0, none, follow),
	one("chown", unix.SYS_CHOWN, writes, none, 0, none, follow),
	one("lchown", unix.SYS_LCHOWN, writes, none, 0, none, noFollow),
	one("utime", unix.SYS_UTIME, writes, none, 0, none, follow),
	one("utimes", unix.SYS_UTIMES, writes, none, 0, none, follow),
	one("futimesat", unix.SYS_FUTIMESAT, writes, 0, 1, none, follow),
	one("mkdir", unix.SYS_MKDIR, creates, none, 0, none, noFollow),
	one("mknod", unix.SYS_MKNOD, creates, none, 0, none, noFollow),
	one("symlink", unix.SYS_SYMLINK, creates, none, 1, none, noFollow),
	one("unlink", unix.SYS_UNLINK, removes, none, 0, none, noFollow),
	one("rmdir", unix.SYS_RMDIR, removes, none, 0, none, noFollow),
	{"rename", unix.SYS_RENAME, renames, none, 0, none, noFollow, none, 1},
	{"link", unix.SYS_LINK, links, none, 0, none, noFollow, none, 1},
}
