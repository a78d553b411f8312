package runtime

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// A policy with endpoints has one way out: a listening socket on the loopback of
// the sandbox's own network, which has no other interface. The first process opens
// it, before anything else can run inside, and hands it out with its ready byte;
// whoever connects to it inside is accepted outside.

// ProxyPort is where programs of a sandbox find the proxy: 127.0.0.1, this port.
// The network is the sandbox's own, so one number does for all of them. It is the
// number that proxies commonly have (squid's).
const ProxyPort = 3128

// proxyAddress is that address.
var proxyAddress = unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}

// proxyBacklog is how many connections may wait to be accepted. The kernel lowers it
// to the network's net.core.somaxconn, 4,096 unless set otherwise (listen(2)).
const proxyBacklog = 1 << 16

// listen opens the socket in the network of this process. Without SO_REUSEPORT
// nobody else can take the address while it is open.
func listen() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, fmt.Errorf("make the proxy's socket: %w", err)
	}
	if err := unix.Bind(fd, &proxyAddress); err != nil {
		return -1, fmt.Errorf("bind the proxy's socket to 127.0.0.1:%d: %w", ProxyPort, err)
	}
	if err := unix.Listen(fd, proxyBacklog); err != nil {
		return -1, fmt.Errorf("listen on the proxy's socket: %w", err)
	}
	return fd, nil
}

// takeListener holds the descriptor that came with the ready byte to be the proxy's
// socket in the sandbox's own network.
func (s *sandbox) takeListener(fd int) error {
	err := checkListener(fd, s.lines.child)
	if err == nil && waitReadable(s.pidfd, 0) {
		err = errors.New("the sandbox ended while its proxy's socket was checked")
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	file := ours(fd, "proxy")
	defer file.Close() // the listener has a descriptor of its own
	if s.listener, err = net.FileListener(file); err != nil {
		return fmt.Errorf("the proxy's socket: %w", err)
	}
	return nil
}

// checkListener holds fd to be a TCP socket that listens at proxyAddress, alone, in
// the network namespace of process init and in no other.
func checkListener(fd, init int) error {
	for _, want := range []struct {
		option, value int
		otherwise     string
	}{
		{unix.SO_DOMAIN, unix.AF_INET, "is no socket of IPv4"},
		{unix.SO_TYPE, unix.SOCK_STREAM, "is no stream"},
		{unix.SO_PROTOCOL, unix.IPPROTO_TCP, "is not TCP's"},
		{unix.SO_ACCEPTCONN, 1, "does not listen"},
		{unix.SO_REUSEPORT, 0, "shares its port"},
	} {
		switch have, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want.option); {
		case err != nil:
			return fmt.Errorf("the proxy's socket is none: %w", err)
		case have != want.value:
			return fmt.Errorf("the proxy's socket %s", want.otherwise)
		}
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fmt.Errorf("the proxy's socket: %w", err)
	}
	at, ok := name.(*unix.SockaddrInet4)
	if !ok || at.Port != proxyAddress.Port || at.Addr != proxyAddress.Addr {
		return fmt.Errorf("the proxy's socket is not bound to 127.0.0.1:%d", ProxyPort)
	}
	return checkNetwork(fd, init)
}

// siocgskns asks which network namespace a socket belongs to, since Linux 4.10
// (linux/sockios.h). Whoever made the user namespace around may ask.
const siocgskns = 0x894c

// checkNetwork holds a socket to be of the network namespace of process init, and
// that to be another than this process's own.
func checkNetwork(fd, init int) error {
	of, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), siocgskns, 0)
	if errno != 0 {
		return fmt.Errorf("the network of the proxy's socket is not told: %w", errno)
	}
	defer unix.Close(int(of))
	var socket, sandbox, own unix.Stat_t
	err := errors.Join(unix.Fstat(int(of), &socket), unix.Stat(fmt.Sprintf("/proc/%d/ns/net", init), &sandbox),
		unix.Stat(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), &own))
	same := func(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
	switch {
	case err != nil:
		return fmt.Errorf("the network of the proxy's socket: %w", err)
	case same(&socket, &own):
		return errors.New("the proxy's socket is one of this machine's own network")
	case !same(&socket, &sandbox):
		return errors.New("the proxy's socket is not of the sandbox's network")
	}
	return nil
}

// handOut sends the ready byte, and what outsiders need with it, in this order: the
// proxy's socket, the master of a terminal, each where there is one (not negative).
// They are nobody's inside any more.
func handOut(socket int, fds ...int) error {
	var rights []int
	for _, fd := range fds {
		if fd >= 0 {
			rights = append(rights, fd)
		}
	}
	var message []byte
	if len(rights) > 0 {
		message = unix.UnixRights(rights...)
	}
	err := unix.Sendmsg(socket, []byte{readyByte}, message, nil, 0)
	for _, fd := range rights {
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
