package runtime_test

import (
	"bytes"
	"fmt"
)

// attack is one thing that a hostile command tries: what stops it, and what comes of
// it. An attempt is words of the probe, made inside, in a bare bubblewrap and
// outside; where that takes more than words, a test of its own makes it.
type attack struct {
	what, layer  string
	attempt      string
	control      string // the attempt outside, where it takes a namespace to be allowed at all
	inside, bare string // what comes of it; "ok" is that it works
	bareAsRoot   string // where that differs for root
	root         bool   // only root can do it outside
	test         string
}

func (a attack) bareResult(root bool) string {
	if root && a.bareAsRoot != "" {
		return a.bareAsRoot
	}
	return a.bare
}

const (
	byMounts     = "mounts"
	byFilter     = "seccomp"
	byDomain     = "Landlock"
	byProcesses  = "PID namespace"
	byNetwork    = "network namespace"
	byPrivileges = "no privileges"
	byRuntime    = "obsrun"
	byLimits     = "limits"
	byProxy      = "proxy"
)

// attackTable is the list; docs/attacks.md is made of it.
var attackTable = []attack{
	{what: "read a file that no rule names", layer: byMounts, attempt: "read beside/secret", inside: "ENOENT", bare: "ok"},
	{what: "read a masked file in the workspace", layer: byMounts, attempt: "read work/.env", inside: "EACCES", bare: "ok"},
	{what: "write a read-only part of the workspace", layer: byMounts, attempt: "append work/carve/f", inside: "EROFS", bare: "ok"},
	{what: "rename the parent of a protected file", layer: byMounts, attempt: "rename work/.git work/elsewhere", inside: "EBUSY", bare: "ok"},
	{what: "exchange a protected directory's parent for another", layer: byMounts, attempt: "exchange work/src work/.git", inside: "EBUSY", bare: "ok"},
	{what: "forge a missing ancestor of a protected file", layer: byMounts, attempt: "rename work/made work/elsewhere", inside: "EBUSY", bare: "ok"},
	{what: "hard-link a masked file to a new name", layer: byMounts, attempt: "link work/.env work/copy", inside: "EXDEV", bare: "ok"},
	{what: "follow a new symbolic link to a masked file", layer: byMounts, attempt: "through work/.env work/link", inside: "EACCES", bare: "ok"},
	{what: "reach a secret through /proc/self/root", layer: byMounts, attempt: "read /proc/self/root$ROOT/beside/secret", inside: "ENOENT", bare: "ok"},
	{what: "reach a secret through /proc/PID/root of another process", layer: byProcesses, attempt: "read /proc/$PID/root$ROOT/beside/secret", inside: "ENOENT", bare: "EACCES", bareAsRoot: "ok"},
	{what: "write a named pipe below a read", layer: byDomain, test: "TestLiveFifo"},
	{what: "read, write, make, remove, move, truncate and command what a mount shows by mistake", layer: byDomain, test: "TestLiveBelowLooseMounts"},
	{what: "open a file by its handle", layer: byFilter, attempt: "handle work/carve/f", inside: "EPERM", bare: "ok", root: true},
	{what: "links that an earlier run planted", layer: byRuntime, test: "TestLivePlantedLink"},
	{what: "a second name of a protected file, that an earlier run planted", layer: byRuntime, test: "TestLiveManyNames, TestLivePlaceholderMode"},
	{what: "mv, git config and atomic save over masked paths, outside, during the run", layer: byRuntime, test: "TestLiveProtectionLost, TestMountOutside"},
	{what: "two policies on one tree", layer: byRuntime, test: "TestLiveInTheWay"},
	{what: "exchange names while the sandbox is made", layer: byRuntime, test: "TestLiveSwappedAncestor, TestLiveSwappedCarveOut"},
	{what: "write obspc's own policy, pins or state", layer: byRuntime, test: "TestLiveTrusted"},

	{what: "bind a file over a masked one", layer: byPrivileges, attempt: "bind work/carve/f work/.env", control: "in-namespace bind work/carve/f work/.env", inside: "EPERM", bare: "EPERM", bareAsRoot: "ok"},
	{what: "the same in a new user namespace", layer: byFilter, attempt: "in-namespace bind work/carve/f work/.env", inside: "EPERM", bare: "ok"},
	{what: "remount a read-only part writable", layer: byPrivileges, attempt: "bound-writable work/carve", control: "in-namespace bound-writable work/carve", inside: "EPERM", bare: "EPERM", bareAsRoot: "ok"},
	{what: "unshare -Ur, then remount", layer: byFilter, attempt: "in-namespace bound-writable work/carve", inside: "EPERM", bare: "EPERM"},
	{what: "overlay", layer: byFilter, attempt: "in-namespace overlay work work/carve", inside: "EPERM", bare: "ok"},
	{what: "mount_setattr", layer: byFilter, attempt: "in-namespace mount-setattr /", inside: "EPERM", bare: "ok"},
	{what: "open_tree and move_mount", layer: byFilter, attempt: "in-namespace open-tree work/src work/carve", inside: "EPERM", bare: "ok"},
	{what: "fsopen", layer: byFilter, attempt: "in-namespace new-file-system", inside: "EPERM", bare: "ok"},
	{what: "chroot", layer: byPrivileges, attempt: "chroot work", control: "in-namespace chroot work", inside: "EPERM", bare: "EPERM", bareAsRoot: "ok"},
	{what: "pivot_root", layer: byFilter, attempt: "in-namespace pivot-root work", inside: "EPERM", bare: "ok"},
	{what: "a user namespace", layer: byFilter, attempt: "unshare", inside: "EPERM", bare: "ok"},

	{what: "signal a process outside", layer: byProcesses, attempt: "signal $PID", inside: "ESRCH", bare: "ok"},
	{what: "trace a process outside", layer: byFilter, attempt: "trace $PID", inside: "EPERM", bare: "EPERM", bareAsRoot: "ok"},
	{what: "read the memory of a process outside", layer: byFilter, attempt: "read-memory $PID", inside: "EPERM", bare: "EPERM", bareAsRoot: "ok"},
	{what: "memory, environment and descriptors of a process outside, in /proc", layer: byProcesses, attempt: "look-into $PID", inside: "ENOENT", bare: "EACCES", bareAsRoot: "ok"},
	{what: "look into PID 1 of the sandbox", layer: byDomain, test: "TestLiveInitUntouched, TestLiveInitHoldsNoSecret"},
	{what: "signals and abstract sockets to outside, were the namespaces shared", layer: byDomain, test: "TestLiveScopes"},
	{what: "descriptors that the caller left open", layer: byRuntime, test: "TestLiveDescriptors"},
	{what: "a child that outlives the command", layer: byProcesses, test: "TestLiveTree"},
	{what: "a caller that is killed", layer: byRuntime, test: "TestLiveKilled"},

	{what: "a server on the host's loopback", layer: byNetwork, attempt: "connect tcp $TCP", inside: "ECONNREFUSED", bare: "ok"},
	{what: "an abstract socket of the host", layer: byFilter, attempt: "connect unix $ABSTRACT", inside: "EAFNOSUPPORT", bare: "ok"},
	{what: "a socket with a path, as docker.sock is", layer: byFilter, attempt: "connect unix $SOCKET", inside: "EAFNOSUPPORT", bare: "ok"},
	{what: "a masked socket where others may be reached", layer: byMounts, test: "TestLiveMaskedSocket"},
	{what: "a netlink socket", layer: byFilter, attempt: "socket 16 3 0", inside: "EAFNOSUPPORT", bare: "ok"},
	{what: "a raw packet socket", layer: byFilter, attempt: "socket 17 3 0", inside: "EAFNOSUPPORT", bare: "ok", root: true},
	{what: "get out past the proxy: IPv6, UDP, a server of DNS, raw sockets, vsock", layer: byNetwork, test: "TestLiveOnlyWay"},
	{what: "take the proxy's port", layer: byRuntime, test: "TestLiveOnlyWay"},
	{what: "hand out another socket, or more, in the place of the proxy's", layer: byRuntime, test: "TestLiveForgedListener, TestLiveListener, TestFirstWord"},
	{what: "reach a host, a port or an address that no endpoint opens", layer: byProxy, test: "TestLiveEgress"},
	{what: "become another program after connecting, share a connection, replace a listed program", layer: byProxy, test: "TestLivePrograms"},
	{what: "send a denied request under another spelling, inside TLS as well", layer: byProxy, test: "TestLiveRequests"},
	{what: "keep a tunnel past the end of the run", layer: byRuntime, test: "TestLiveTunnelEnds"},
	{what: "go on when the proxy has failed", layer: byRuntime, test: "TestLiveProxyEnds"},

	{what: "set-user-ID programs", layer: byPrivileges, attempt: "start-privileged work/privileged", inside: "the-same", bare: "the-same", root: true},
	{what: "leave a set-user-ID program behind", layer: byFilter, attempt: "leave-privileged work/tool", inside: "EPERM", bare: "ok"},
	{what: "leave an empty set-user-ID file for root to copy over (openat2)", layer: byFilter, attempt: "leave-empty work/empty", inside: "ENOSYS", bare: "ok"},
	{what: "start a program that no rule lets start", layer: byDomain, attempt: "execute work/tool", inside: "EACCES", bare: "ok"},
	{what: "memfd_create and fexecve (is not execution: docs/threat-model.md)", layer: "none", attempt: "memory-execute", inside: "ok", bare: "ok"},
	{what: "the caller's keyrings", layer: byFilter, attempt: "keyring", inside: "ENOSYS", bare: "ok"},
	{what: "io_uring", layer: byFilter, attempt: "io-uring", inside: "ENOSYS", bare: "ok"},
	{what: "every other refused call (docs/syscalls.md)", layer: byFilter, test: "TestLiveRefused, TestLiveForeignArchitecture"},
	{what: "settings of the kernel in /proc/sys, as sysrq-trigger is", layer: byMounts, attempt: "open-write /proc/sys/kernel/core_pattern", inside: "EROFS", bare: "ok", root: true},
	{what: "open /dev/kmsg, as /dev/mem is", layer: byMounts, attempt: "open-both /dev/kmsg", inside: "ENOENT", bare: "ENOENT", root: true},
	{what: "type into the caller's terminal (TIOCSTI)", layer: byFilter, test: "TestLiveTyping"},
	{what: "core dumps", layer: byRuntime, test: "TestLiveCore"},

	{what: "fork bomb", layer: byLimits, test: "TestLiveBomb, TestLiveProcessCount"},
	{what: "memory", layer: byLimits, test: "TestLiveOverrun"},
	{what: "files without end in /tmp, /dev/shm, the workspace", layer: byLimits, test: "TestLiveFull, TestLiveOverrun"},
	{what: "descriptors without end", layer: byLimits, test: "TestLiveDescriptorFlood"},
	{what: "output without end", layer: byLimits, test: "TestLiveOutput, TestLiveStalledReader"},
}

// attackPage is docs/attacks.md.
func attackPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Attacks, and what stops them

Made from ` + "`attackTable`" + ` in runtime/attacktable_linux_test.go; tests hold one to the other. Where results are given,
` + "`TestLiveAttackTable`" + ` makes the attempt, as root and as an unprivileged user, three times: inside a sandbox; in a bare
` + "`bwrap --ro-bind / / --dev /dev --proc /proc --bind WORK WORK`" + `; and outside, where it works, else the refusal would prove
nothing. "Inside" and "bare" are what it got. The other tests do the same for what takes more than one attempt.
[docs/threat-model.md](threat-model.md) says what is not promised.

| attack | stopped by | inside | bare bwrap | test |
|---|---|---|---|---|
`)
	for _, a := range attackTable {
		inside, bare, test := "–", "–", a.test
		if a.attempt != "" {
			inside, bare, test = a.inside, a.bare, "TestLiveAttackTable"
		}
		if a.bareAsRoot != "" {
			bare += "; as root " + a.bareAsRoot
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", a.what, a.layer, inside, bare, test)
	}
	return b.Bytes()
}
