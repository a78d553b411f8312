package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func init() {
	attempts["make-sockets"] = func(a []string) error { return makeSockets(a) }
	for name, forgery := range forgeries {
		standIns["bwrap-"+name] = func() int { return forge(forgery.sends) }
	}
}

// socketKinds are descriptors that a first process could hand out as the proxy's
// socket, and why they are not taken; "" for the one that is.
var socketKinds = []struct {
	name, why string
	make      func() (int, error)
}{
	{"the proxy's", "", func() (int, error) { return tcpAt(runtime.ProxyPort, 127, 0, 0, 1) }},
	{"at another port", "not bound to 127.0.0.1:3128", func() (int, error) { return tcpAt(runtime.ProxyPort+1, 127, 0, 0, 1) }},
	{"at another address", "not bound to 127.0.0.1:3128", func() (int, error) { return tcpAt(runtime.ProxyPort, 127, 0, 0, 2) }},
	{"at every address", "not bound to 127.0.0.1:3128", func() (int, error) { return tcpAt(runtime.ProxyPort+2, 0, 0, 0, 0) }},
	{"bound and no more", "does not listen", func() (int, error) {
		return bound(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: runtime.ProxyPort, Addr: [4]byte{127, 0, 0, 3}})
	}},
	{"of UDP", "is no stream", func() (int, error) {
		return bound(unix.AF_INET, unix.SOCK_DGRAM, 0, &unix.SockaddrInet4{Port: runtime.ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"of IPv6", "is no socket of IPv4", func() (int, error) {
		return listening(bound(unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Port: runtime.ProxyPort, Addr: [16]byte{15: 1}}))
	}},
	{"of Unix", "is no socket of IPv4", func() (int, error) {
		return listening(bound(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "@proxy"}))
	}},
	{"sharing its port", "shares its port", func() (int, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Port: runtime.ProxyPort, Addr: [4]byte{127, 0, 0, 4}})
		}
		return listening(fd, err)
	}},
	{"no socket", "is none", func() (int, error) { return unix.Open("/dev/null", unix.O_RDWR, 0) }},
}

func bound(family, kind, protocol int, at unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		err = unix.Bind(fd, at)
	}
	return fd, err
}

func listening(fd int, err error) (int, error) {
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	return fd, err
}

func tcpAt(port int, a, b, c, d byte) (int, error) {
	return listening(bound(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: port, Addr: [4]byte{a, b, c, d}}))
}

// makeSockets makes one of each kind in the network of this process, and sends them
// to descriptor 3, each with its name, after its own judgement of the first.
func makeSockets([]string) error {
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up)
	}
	if err != nil {
		return err
	}
	for i, kind := range socketKinds {
		fd, err := kind.make()
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		if i == 0 {
			if _, err := unix.Write(3, fmt.Append(nil, runtime.CheckListener(fd, os.Getpid()))); err != nil {
				return err
			}
		}
		if err := unix.Sendmsg(3, []byte(kind.name), unix.UnixRights(fd), nil, 0); err != nil {
			return err
		}
	}
	return unix.Pause()
}

// network is a process in a network of its own, and the sockets that it made there.
type network struct {
	pid     int
	own     string // what it says of the first of them itself
	sockets []int
}

// makeNetwork starts such a process, in these namespaces besides. It dies with close.
func makeNetwork(namespaces uintptr) (n *network, end func(), err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "pair")
	cmd := exec.Command("/proc/self/exe", probeWord, "make-sockets")
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{theirs}, os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | namespaces, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, nil, err
	}
	n = &network{pid: cmd.Process.Pid}
	end = func() {
		cmd.Process.Kill()
		cmd.Wait()
		for _, fd := range n.sockets {
			unix.Close(fd)
		}
	}
	text := make([]byte, 4096)
	m, err := unix.Read(pair[0], text)
	n.own = string(text[:max(m, 0)])
	for range socketKinds {
		control := make([]byte, unix.CmsgSpace(4))
		_, m, _, _, failed := unix.Recvmsg(pair[0], text, control, unix.MSG_CMSG_CLOEXEC)
		messages, _ := unix.ParseSocketControlMessage(control[:max(m, 0)])
		if failed != nil || len(messages) != 1 {
			end()
			return nil, nil, fmt.Errorf("a socket did not come: %w", errors.Join(err, failed))
		}
		fds, _ := unix.ParseUnixRights(&messages[0])
		n.sockets = append(n.sockets, fds...)
	}
	return n, end, nil
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n, end, err := makeNetwork(0)
	must(t, err)
	t.Cleanup(end)
	return n
}

// TestLiveListener: what the first process hands out has to be the proxy's socket, of
// the network of this sandbox and of no other.
func TestLiveListener(t *testing.T) {
	one, other := newNetwork(t), newNetwork(t)
	for i, kind := range socketKinds {
		if err := runtime.CheckListener(one.sockets[i], one.pid); (err == nil) != (kind.why == "") || err != nil && !strings.Contains(err.Error(), kind.why) {
			t.Errorf("a socket %s: %v, want it to say %q", kind.name, err, kind.why)
		}
	}
	if err := runtime.CheckListener(one.sockets[0], other.pid); err == nil || !strings.Contains(err.Error(), "not of the sandbox's network") {
		t.Errorf("the proxy's socket of another sandbox: %v", err)
	}
	if !strings.Contains(one.own, "this machine's own network") {
		t.Errorf("a socket of the runtime's own network: %s", one.own)
	}
}

// forgeries are what a first process may send with its ready byte in the place of the
// proxy's socket, given what two networks have, of which the first is the sandbox's;
// and what the run is refused with.
var forgeries = map[string]struct {
	sends func(own, other *network) []int
	says  string
}{
	"sends-none":   {func(_, _ *network) []int { return nil }, "sent 0 descriptors"},
	"sends-two":    {func(own, _ *network) []int { return own.sockets[:2] }, "sent 2 descriptors"},
	"sends-many":   {func(own, _ *network) []int { return own.sockets }, "the first process"},
	"sends-other":  {func(_, other *network) []int { return other.sockets[:1] }, "not of the sandbox's network"},
	"sends-port":   {func(own, _ *network) []int { return own.sockets[1:2] }, "not bound to 127.0.0.1:3128"},
	"sends-a-file": {func(own, _ *network) []int { return own.sockets[len(own.sockets)-1:] }, "is none"},
	// The control: it is taken, and what is refused is that nothing is mounted.
	"sends-it": {func(own, _ *network) []int { return own.sockets[:1] }, "mounted"},
}

// forge is a bubblewrap whose sandbox has the namespaces, and whose first process
// sends what it likes.
func forge(sends func(own, other *network) []int) int {
	own, _, err := makeNetwork(syscall.CLONE_NEWPID)
	if err == nil {
		var other *network
		if other, _, err = makeNetwork(0); err == nil {
			unix.Write(runtime.StatusFD, fmt.Appendf(nil, "{\"child-pid\": %d}\n", own.pid))
			err = unix.Sendmsg(runtime.SocketFD, []byte("r"), unix.UnixRights(sends(own, other)...), nil, 0)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	unix.Pause()
	return 1
}

// TestLiveForgedListener: whatever comes in the place of the proxy's socket, nothing is
// started, and nothing is left open.
func TestLiveForgedListener(t *testing.T) {
	needSandbox(t)
	s := newService(t)
	t.Cleanup(runtime.Hurry(100*time.Millisecond, 200*time.Millisecond))
	v := development(t, policy(t, plain+s.endpoint("")))
	for name, forgery := range forgeries {
		t.Run(name, func(t *testing.T) {
			job := runtime.Job{
				Argv: []string{probePath, probeWord, "stat", "."}, Development: true, Workspace: runtime.Workspace{Fresh: true}, Bwrap: standInAt(t, "bwrap-"+name, 0o755),
			}
			before := openFiles(t)
			r := start(t, context.Background(), v, job)
			refusal := r.refusal()
			if refusal == nil || r.Evidence.Outcome != runtime.SetupFailed || !strings.Contains(refusal.Message, forgery.says) || r.stdout != "" || !r.Evidence.Cleanup.TreeDead {
				t.Errorf("want set-up failed, saying %q; %s", forgery.says, r)
			}
			for range 1000 { // what hashes the executable ends a little later
				if openFiles(t) <= before {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("%d files are open, %d were before", openFiles(t), before)
		})
	}
}
