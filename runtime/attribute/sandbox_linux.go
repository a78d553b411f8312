package attribute

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sandbox is where connections are attributed: the processes of one PID namespace
// and the sockets of one network. It is safe for concurrent use.
type Sandbox struct {
	server    netip.AddrPort // whom the connections lead to
	processes int            // its /proc
	sockets   *sockets
	digests   digests
}

// Open is for the sandbox whose PID 1 is process init, and for connections inside to
// server. The caller holds init to be alive and the one that is meant. An error is
// the machine's.
func Open(init int, server netip.AddrPort) (*Sandbox, error) {
	at := fmt.Sprintf("/proc/%d", init)
	fd, err := unix.Open(at+"/root/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc of the sandbox: %w", err)
	}
	s := &Sandbox{server: server, processes: fd}
	var stat unix.Statfs_t
	if err := unix.Fstatfs(fd, &stat); err != nil || stat.Type != unix.PROC_SUPER_MAGIC {
		unix.Close(fd)
		return nil, fmt.Errorf("/proc of the sandbox is not what was mounted there: %v", err)
	}
	if s.sockets, err = openSockets(at, server); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return s, nil
}

// Close ends what Open began.
func (s *Sandbox) Close() {
	unix.Close(s.processes)
	s.sockets.close()
}

// Program is the program behind the connection that comes from client. The error is
// an *Ambiguous when there is not exactly one.
func (s *Sandbox) Program(client netip.AddrPort) (Program, error) {
	inode, err := s.sockets.inode(client, s.server)
	if err != nil {
		return Program{}, err
	}
	socket := socketName(inode)
	holders, err := s.holders(socket)
	if err != nil {
		return Program{}, err
	}
	first, err := s.same(holders)
	if err != nil {
		return Program{}, err
	}
	out := Program{File: first.File}
	out.Path, out.Unnamed = s.named(holders[0], first)
	out.SHA256, out.Unhashed = s.digests.of(first, func() (int, error) { return s.open(holders[0].pid+"/exe", unix.O_RDONLY) })
	// Whoever held it has not become another program, or handed it on, meanwhile.
	if again, err := s.same(holders); err != nil || again.File != first.File {
		return Program{}, ambiguous("the program that held the connection has become another")
	}
	for _, h := range holders {
		if !leads(s.processes, h.pid+"/fd/"+h.fd, socket) {
			return Program{}, ambiguous("the connection was handed on")
		}
	}
	if again, err := s.sockets.inode(client, s.server); err != nil || again != inode {
		return Program{}, ambiguous("the connection was closed")
	}
	return out, nil
}

// same is the executable that all holders have.
func (s *Sandbox) same(holders []holder) (version, error) {
	var all version
	for i, h := range holders {
		one, err := s.executable(h.pid)
		switch {
		case err != nil:
			return version{}, ambiguous("process %s of the sandbox holds the connection and cannot be read: %v", h.pid, err)
		case i == 0:
			all = one
		case one.File != all.File:
			return version{}, ambiguous("different programs hold the connection: %s and %s", s.shownName(holders[0]), s.shownName(h))
		}
	}
	if len(holders) == 0 {
		return version{}, ambiguous("no process of the sandbox holds the connection")
	}
	return all, nil
}

// holder is a process that has a socket open, and under which number.
type holder struct{ pid, fd string }

// holders are the processes of the sandbox that have the socket of that name.
func (s *Sandbox) holders(socket string) ([]holder, error) {
	buffer := make([]byte, 16<<10)
	pids, err := s.list(".", buffer)
	if err != nil {
		return nil, ambiguous("the sandbox's processes cannot be listed: %v", err)
	}
	var out []holder
	for _, pid := range pids {
		if pid[0] < '1' || pid[0] > '9' {
			continue
		}
		fd, err := s.holding(pid, socket, buffer)
		switch {
		case gone(err) || err != nil && s.ended(pid):
		case err != nil:
			return nil, ambiguous("process %s of the sandbox cannot be asked whether it holds the connection: %v", pid, err)
		case fd != "":
			out = append(out, holder{pid, fd})
		}
	}
	return out, nil
}

// holding is the number under which a process has the socket; "" when it has not.
func (s *Sandbox) holding(pid, socket string, buffer []byte) (string, error) {
	dir, err := s.open(pid+"/fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	fds, err := listOf(dir, buffer)
	if err != nil {
		return "", err
	}
	for _, fd := range fds {
		if leads(dir, fd, socket) {
			return fd, nil
		}
	}
	return "", nil
}

// open opens something in the sandbox's /proc.
func (s *Sandbox) open(name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(s.processes, name, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// list is the names in a directory of the sandbox's /proc.
func (s *Sandbox) list(name string, buffer []byte) ([]string, error) {
	dir, err := s.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return listOf(dir, buffer)
}

func listOf(dir int, buffer []byte) ([]string, error) {
	var out []string
	for {
		n, err := unix.ReadDirent(dir, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return out, err
		}
		_, _, out = unix.ParseDirent(buffer[:n], -1, out)
	}
}

// leads reports whether the link of that name leads to target.
func leads(dir int, name, target string) bool {
	var text [64]byte // the name of a socket is shorter
	n, err := unix.Readlinkat(dir, name, text[:])
	return err == nil && string(text[:n]) == target
}

// ended reports whether a process is only waited for by its parent. Such a process
// has no descriptors, and its directory in /proc is root's (task_dump_owner,
// fs/proc/base.c).
func (s *Sandbox) ended(pid string) bool {
	fd, err := s.open(pid+"/stat", unix.O_RDONLY)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(fd)
	var text [4096]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return gone(err)
	}
	// "12 (its name, whatever is in it) Z 1 …" (proc_pid_stat(5))
	_, state, ok := bytes.Cut(text[bytes.LastIndexByte(text[:n], ')')+1:n], []byte(" "))
	return ok && len(state) > 0 && (state[0] == 'Z' || state[0] == 'X')
}

// gone reports whether an error is that of a process that has ended.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }
