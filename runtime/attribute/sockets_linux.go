package attribute

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// sockets finds sockets of the sandbox's network by both their addresses. Asked for
// one socket the kernel looks it up (sock_diag(7)); where that is impossible, the
// whole list is read, which walks through the table of all networks of the machine
// and takes milliseconds.
type sockets struct {
	process int // the directory in /proc of a process in that network
	network int // the network
	server  netip.AddrPort

	opening sync.Once
	lock    sync.Mutex
	diag    int // a socket of NETLINK_SOCK_DIAG in that network; -1: there is none
	last    uint32
}

// openSockets is for the network of the process whose directory in /proc is at, where
// somebody listens at server.
func openSockets(at string, server netip.AddrPort) (*sockets, error) {
	process, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("the sandbox's sockets cannot be seen: %w", err)
	}
	network, err := unix.Openat(process, "ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(process)
		return nil, fmt.Errorf("the sandbox's network cannot be opened: %w", err)
	}
	return &sockets{process: process, network: network, server: server, diag: -1}, nil
}

// open makes the socket of sock_diag, once somebody asks: most runs never do.
func (s *sockets) open() {
	s.opening.Do(func() {
		var err error
		if s.diag, err = diagSocket(s.network); err == nil && !s.answers() {
			unix.Close(s.diag)
			s.diag = -1
		}
	})
}

func (s *sockets) close() {
	s.opening.Do(func() {})
	for _, fd := range []int{s.process, s.network, s.diag} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// inode is that of the socket with these addresses, as it has them: its own and its
// peer's.
func (s *sockets) inode(own, peer netip.AddrPort) (uint64, error) {
	s.open()
	own, peer = plain(own), plain(peer)
	inode, err := s.ask(own, peer)
	if errors.Is(err, errNoDiag) {
		inode, err = s.read(own, peer)
	}
	switch {
	case err != nil:
		return 0, ambiguous("the connection's socket cannot be found: %v", err)
	case inode == 0:
		return 0, ambiguous("the connection's socket is closed")
	}
	return inode, nil
}

func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// errNoDiag is a kernel that does not say.
var errNoDiag = errors.New("the kernel has no sock_diag for TCP")

// What is said in sock_diag (linux/sock_diag.h, linux/inet_diag.h): a header of
// netlink(7), then a request or an answer with both addresses at the same distance
// from its beginning.
const (
	headerBytes   = 16
	requestBytes  = headerBytes + 56
	answerBytes   = headerBytes + 72
	byFamily      = 20 // SOCK_DIAG_BY_FAMILY
	requestID     = headerBytes + 8
	answerID      = headerBytes + 4
	answerInode   = answerBytes - 4
	stateListen   = 10 // TCP_LISTEN (linux/tcp_states.h)
	allStates     = 1<<32 - 1
	noCookie      = 1<<32 - 1
	sourceAt      = 4 // in an ID, behind two ports; a peer's address follows
	addressBytes  = 16
	cookieAt      = sourceAt + 2*addressBytes + 4
	maxDiagAnswer = 4096
)

// answers reports whether the kernel knows the socket that listens: its part
// for TCP is a module of its own (CONFIG_INET_TCP_DIAG), and without it no socket is
// known.
func (s *sockets) answers() bool {
	answer, err := s.exchange(s.server, netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
	return err == nil && binary.NativeEndian.Uint16(answer[4:]) == byFamily
}

// ask looks one socket up; 0 when there is none.
func (s *sockets) ask(own, peer netip.AddrPort) (uint64, error) {
	answer, err := s.exchange(own, peer)
	if err != nil {
		return 0, err
	}
	return diagAnswer(answer, own, peer)
}

// exchange has the kernel look one socket up, and returns its answer.
func (s *sockets) exchange(own, peer netip.AddrPort) ([]byte, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.diag < 0 {
		return nil, errNoDiag
	}
	s.last++
	if err := unix.Sendto(s.diag, diagRequest(own, peer, s.last), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, errNoDiag
	}
	// The kernel has answered by the time sendto returns; what comes late answers what
	// was asked before.
	answer := make([]byte, maxDiagAnswer)
	for {
		n, from, err := unix.Recvfrom(s.diag, answer, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, errNoDiag
		}
		sender, ok := from.(*unix.SockaddrNetlink)
		if ok && sender.Pid == 0 && n >= headerBytes && binary.NativeEndian.Uint32(answer[8:]) == s.last {
			return answer[:n], nil
		}
	}
}

// diagRequest asks for the socket with these addresses.
func diagRequest(own, peer netip.AddrPort, number uint32) []byte {
	m := make([]byte, requestBytes)
	binary.NativeEndian.PutUint32(m, requestBytes)
	binary.NativeEndian.PutUint16(m[4:], byFamily)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(m[8:], number)
	m[headerBytes], m[headerBytes+1] = unix.AF_INET, unix.IPPROTO_TCP
	if own.Addr().Is6() {
		m[headerBytes] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(m[headerBytes+4:], allStates)
	id := m[requestID:]
	binary.BigEndian.PutUint16(id, own.Port())
	binary.BigEndian.PutUint16(id[2:], peer.Port())
	copy(id[sourceAt:], own.Addr().AsSlice())
	copy(id[sourceAt+addressBytes:], peer.Addr().AsSlice())
	binary.NativeEndian.PutUint32(id[cookieAt:], noCookie)
	binary.NativeEndian.PutUint32(id[cookieAt+4:], noCookie)
	return m
}

// diagAnswer reads the inode from an answer; 0 when it is about no such socket. Where
// nothing is connected, the kernel answers with a listener at that address.
func diagAnswer(m []byte, own, peer netip.AddrPort) (uint64, error) {
	switch kind := binary.NativeEndian.Uint16(m[4:]); {
	case kind == unix.NLMSG_ERROR && len(m) >= headerBytes+4:
		errno := unix.Errno(-int32(binary.NativeEndian.Uint32(m[headerBytes:])))
		if errno == unix.ENOENT {
			return 0, nil
		}
		return 0, fmt.Errorf("sock_diag: %w", errno)
	case kind != byFamily || len(m) < answerBytes:
		return 0, errors.New("sock_diag answers something else")
	}
	address := func(at int) netip.Addr {
		text := m[answerID+at:]
		if m[headerBytes] == unix.AF_INET6 {
			return netip.AddrFrom16([16]byte(text)).Unmap()
		}
		return netip.AddrFrom4([4]byte(text))
	}
	port := func(at int) uint16 { return binary.BigEndian.Uint16(m[answerID+at:]) }
	if m[headerBytes+1] == stateListen || netip.AddrPortFrom(address(sourceAt), port(0)) != own ||
		netip.AddrPortFrom(address(sourceAt+addressBytes), port(2)) != peer {
		return 0, nil
	}
	return uint64(binary.NativeEndian.Uint32(m[answerInode:])), nil
}

// read looks for one socket in the lists; 0 when there is none.
func (s *sockets) read(own, peer netip.AddrPort) (uint64, error) {
	for _, list := range []string{"net/tcp", "net/tcp6"} {
		fd, err := unix.Openat(s.process, list, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // no IPv6
		}
		if err != nil {
			return 0, err
		}
		file := os.NewFile(uintptr(fd), list)
		inode, err := listed(file, own, peer)
		file.Close()
		if err != nil || inode != 0 {
			return inode, err
		}
	}
	return 0, nil
}

// listed looks for one socket in a list.
func listed(list *os.File, own, peer netip.AddrPort) (uint64, error) {
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[1] == "local_address" {
			continue
		}
		local, ok := listAddress(f[1])
		remote, also := listAddress(f[2])
		if ok && also && local == own && remote == peer {
			return strconv.ParseUint(f[9], 10, 64)
		}
	}
	return 0, lines.Err()
}

// listAddress reads "0100007F:0C38": words of the machine's own order, then the port.
func listAddress(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, failed := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || failed != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}
