package trace

import "golang.org/x/sys/unix"

// verb is what a system call asks for.
type verb uint8

const (
	opens    verb = iota // flags: O_*
	opensHow             // openat2: flags in memory
	stats                // about the node
	asks                 // access: flags: R_OK, W_OK, X_OK
	writes               // contents or attributes
	reads                // contents, by its path
	creates              // a name
	removes              // a name
	renames              // two names
	links                // a file and a name
	starts               // a program
	connects             // sockaddr at path, its length at flags
	binds                // likewise
	sends                // like connects, if there is an address
	sendsMsg             // the address is in a msghdr
)

// How the last component of a path is looked up when it is a link.
type lastLink uint8

const (
	follow   lastLink = iota
	noFollow          // never
	atFlags           // unless AT_SYMLINK_NOFOLLOW is among flags
	atFollow          // only if AT_SYMLINK_FOLLOW is among flags
)

// none stands for an argument that a call does not have.
const none = -1

// row is one system call: which arguments hold what. Without dir a path is relative
// to the current directory; without path it is the descriptor dir itself.
type row struct {
	name             string
	number           uintptr
	verb             verb
	dir, path, flags int
	last             lastLink
	dir2, path2      int // of renames and links
}

// one is a row about one path.
func one(name string, number uintptr, v verb, dir, path, flags int, last lastLink) row {
	return row{name, number, v, dir, path, flags, last, none, none}
}

// calls are the system calls that both architectures have and that a request word
// is about: what a program does with a descriptor that it was given is none.
// (The manual page of each, section 2.)
var calls = []row{
	one("openat", unix.SYS_OPENAT, opens, 0, 1, 2, follow),
	one("openat2", unix.SYS_OPENAT2, opensHow, 0, 1, 2, follow),
	one("statx", unix.SYS_STATX, stats, 0, 1, 2, atFlags),
	one("newfstatat", newfstatat, stats, 0, 1, 3, atFlags),
	one("readlinkat", unix.SYS_READLINKAT, stats, 0, 1, none, noFollow),
	one("statfs", unix.SYS_STATFS, stats, none, 0, none, follow),
	one("chdir", unix.SYS_CHDIR, stats, none, 0, none, follow),
	one("getxattr", unix.SYS_GETXATTR, stats, none, 0, none, follow),
	one("lgetxattr", unix.SYS_LGETXATTR, stats, none, 0, none, noFollow),
	one("listxattr", unix.SYS_LISTXATTR, stats, none, 0, none, follow),
	one("llistxattr", unix.SYS_LLISTXATTR, stats, none, 0, none, noFollow),
	one("faccessat", unix.SYS_FACCESSAT, asks, 0, 1, 2, follow),
	one("faccessat2", unix.SYS_FACCESSAT2, asks, 0, 1, 2, follow),
	one("inotify_add_watch", unix.SYS_INOTIFY_ADD_WATCH, reads, none, 1, none, follow),

	one("truncate", unix.SYS_TRUNCATE, writes, none, 0, none, follow),
	one("fchmodat", unix.SYS_FCHMODAT, writes, 0, 1, none, follow),
	one("fchmodat2", unix.SYS_FCHMODAT2, writes, 0, 1, 3, atFlags),
	one("fchownat", unix.SYS_FCHOWNAT, writes, 0, 1, 4, atFlags),
	one("utimensat", unix.SYS_UTIMENSAT, writes, 0, 1, 3, atFlags),
	one("setxattr", unix.SYS_SETXATTR, writes, none, 0, none, follow),
	one("lsetxattr", unix.SYS_LSETXATTR, writes, none, 0, none, noFollow),
	one("removexattr", unix.SYS_REMOVEXATTR, writes, none, 0, none, follow),
	one("lremovexattr", unix.SYS_LREMOVEXATTR, writes, none, 0, none, noFollow),
	one("fchmod", unix.SYS_FCHMOD, writes, 0, none, none, follow),
	one("fchown", unix.SYS_FCHOWN, writes, 0, none, none, follow),
	one("fsetxattr", unix.SYS_FSETXATTR, writes, 0, none, none, follow),
	one("fremovexattr", unix.SYS_FREMOVEXATTR, writes, 0, none, none, follow),

	one("mkdirat", unix.SYS_MKDIRAT, creates, 0, 1, none, noFollow),
	one("mknodat", unix.SYS_MKNODAT, creates, 0, 1, none, noFollow),
	one("symlinkat", unix.SYS_SYMLINKAT, creates, 1, 2, none, noFollow),
	one("unlinkat", unix.SYS_UNLINKAT, removes, 0, 1, none, noFollow),
	{"renameat", sysRenameat, renames, 0, 1, none, noFollow, 2, 3},
	{"renameat2", unix.SYS_RENAMEAT2, renames, 0, 1, none, noFollow, 2, 3},
	{"linkat", unix.SYS_LINKAT, links, 0, 1, 4, atFollow, 2, 3},

	one("execve", unix.SYS_EXECVE, starts, none, 0, none, follow),
	one("execveat", unix.SYS_EXECVEAT, starts, 0, 1, 4, atFlags),

	one("connect", unix.SYS_CONNECT, connects, none, 1, 2, follow),
	one("bind", unix.SYS_BIND, binds, none, 1, 2, noFollow),
	one("sendto", unix.SYS_SENDTO, sends, none, 4, 5, follow),
	one("sendmsg", unix.SYS_SENDMSG, sendsMsg, none, 1, none, follow),
}

// table is every row of this architecture, by number.
var table = index(append(calls, older...))

func index(rows []row) map[uintptr]*row {
	m := make(map[uintptr]*row, len(rows))
	for i := range rows {
		m[rows[i].number] = &rows[i]
	}
	return m
}

// telling are the errors that refuse something; the others (EEXIST, EINVAL,
// ENOTDIR, ECONNREFUSED …) say that the program asked for something else.
var telling = map[uint16]bool{
	uint16(unix.ENOENT): true, uint16(unix.EACCES): true, uint16(unix.EPERM): true, uint16(unix.EROFS): true,
	uint16(unix.EXDEV): true, uint16(unix.EBUSY): true, uint16(unix.ENOSYS): true, uint16(unix.EAFNOSUPPORT): true,
	uint16(unix.ENETUNREACH): true, uint16(unix.EHOSTUNREACH): true,
}
