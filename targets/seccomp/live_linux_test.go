package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/obspc/obspc/compiler/ir"
	"golang.org/x/sys/unix"
)

// probeVariable asks the test binary to make one attempt and say how it ended,
// instead of testing.
const probeVariable = "OBSPC_SECCOMP_PROBE"

func TestMain(m *testing.M) {
	if name := os.Getenv(probeVariable); name != "" {
		runtime.LockOSThread() // keyrings, credentials and namespaces are a thread's: keyrings(7)
		fmt.Printf("%s\n", outcome(probes[name]()))
		return
	}
	os.Exit(m.Run())
}

func outcome(err error) string {
	var n syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &n):
		return unix.ErrnoName(n)
	}
	return err.Error()
}

// probes are the attempts. Each uses one system call, or as few as it takes.
var probes = map[string]func() error{
	"true":            func() error { return nil },
	"unix stream":     func() error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) },
	"unix datagram":   func() error { return socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC) },
	"inet stream":     func() error { return socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC) },
	"inet datagram":   func() error { return socket(unix.AF_INET, unix.SOCK_DGRAM) },
	"inet6 stream":    func() error { return socket(unix.AF_INET6, unix.SOCK_STREAM) },
	"netlink":         func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) },
	"high bits":       func() error { return rawSocket(unix.AF_UNIX | 1<<40) },
	"pair stream":     func() error { return pair(unix.SOCK_STREAM | unix.SOCK_CLOEXEC) },
	"pair seqpacket":  func() error { return pair(unix.SOCK_SEQPACKET) },
	"pair datagram":   func() error { return pair(unix.SOCK_DGRAM | unix.SOCK_NONBLOCK) },
	"pair raw":        func() error { return pair(unix.SOCK_RAW) },
	"io_uring":        ioUring,
	"loopback":        loopback,
	"x32 getpid":      func() error { return number(x32Bit | 39) },
	"reconnect":       func() error { return reconnect(unix.SOCK_DGRAM) },
	"reconnect alive": func() error { return reconnect(unix.SOCK_STREAM) },
	"reconnect seq":   func() error { return reconnect(unix.SOCK_SEQPACKET) },
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func rawSocket(family uintptr) error {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, family, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err == nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
	return err
}

// number makes the call nr without arguments; an error of any kind but a signal
// means that the kernel looked at it.
func number(nr uintptr) error {
	if _, _, errno := unix.RawSyscall(nr, 0, 0, 0); errno != 0 && errno != unix.ENOSYS {
		return errno
	}
	return nil
}

// ioUring reports EFAULT where io_uring is open: the parameters are missing.
func ioUring() error {
	_, _, errno := unix.RawSyscall(425, 1, 0, 0)
	return errno
}

func loopback() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

// reconnect makes a pair, closes one end, and connects the other to a path where
// a socket of that type listens.
func reconnect(kind int) error {
	dir, err := os.MkdirTemp("", "obspc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at := &unix.SockaddrUnix{Name: filepath.Join(dir, "s")}
	server, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return fmt.Errorf("server: %s", outcome(err))
	}
	defer unix.Close(server)
	if err := unix.Bind(server, at); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if kind != unix.SOCK_DGRAM {
		if err := unix.Listen(server, 1); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return fmt.Errorf("pair: %w", err)
	}
	unix.Close(fds[1])
	defer unix.Close(fds[0])
	// What dissolves a datagram or TCP association (connect(2), AF_UNSPEC) is
	// tried first.
	unspec := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	unix.RawSyscall(unix.SYS_CONNECT, uintptr(fds[0]), uintptr(unsafe.Pointer(&unspec)), unsafe.Sizeof(unspec))
	return unix.Connect(fds[0], at)
}

// sandbox starts this test binary, or another program, the way releases do: the
// filter from a descriptor, loaded by bwrap last. A nil policy loads none: the
// control. It returns what the probe printed, or the signal that ended it.
type sandbox struct {
	user    *syscall.Credential
	program string
	where   where
}

// where tells which capabilities an attempt is made with: what a filter refuses
// has to be something that would succeed otherwise.
type where int

// plain: none, as in every sandbox of obspc, but that user namespaces may be made.
// namespace: all that a user namespace of one's own gives. machine: those of root,
// in namespaces of its own but for the user namespace.
const (
	plain where = iota
	namespace
	machine
)

func (w where) options() []string {
	switch w {
	case namespace:
		// Only root of a namespace keeps its capabilities over execve.
		return []string{"--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL"}
	case machine:
		return []string{"--cap-add", "ALL"}
	}
	return []string{"--unshare-user", "--cap-drop", "ALL"}
}

func (s sandbox) run(t *testing.T, p *ir.Policy, probe string) string {
	t.Helper()
	args := append(s.where.options(), "--unshare-pid", "--unshare-net",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", s.program, "/tmp/probe")
	var filter *os.File
	if p != nil {
		args = append(args, "--seccomp", "3")
		filter = memory(t, Compile(p, hostArch(t)).Bytes())
		defer filter.Close()
	}
	cmd := exec.Command("/usr/bin/bwrap", append(args, "--", "/tmp/probe")...)
	cmd.Dir = "/"
	cmd.Env = []string{probeVariable + "=" + probe, "TMPDIR=/tmp"}
	if filter != nil {
		cmd.ExtraFiles = []*os.File{filter}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		// bwrap reports a signal as 128 and its number.
		return strings.TrimSpace(fmt.Sprintf("exit %d %s", cmd.ProcessState.ExitCode(), problems.String()))
	}
	return strings.TrimSpace(out.String())
}

func memory(t *testing.T, data []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "filter")
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func hostArch(t *testing.T) Arch {
	t.Helper()
	switch runtime.GOARCH {
	case "amd64":
		return X86_64
	case "arm64":
		return AArch64
	}
	t.Skipf("host feature missing: an architecture with tables of system calls (this is %s)", runtime.GOARCH)
	return ""
}

// callers are the test's own user and, when that is root, an unprivileged one.
func callers(t *testing.T) map[string]sandbox {
	t.Helper()
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Skip("host feature missing: bubblewrap at /usr/bin/bwrap")
	}
	dir, err := os.MkdirTemp("", "obspc-seccomp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := copyProgram(t, filepath.Join(dir, "probe"))
	out := map[string]sandbox{"caller": {program: program}}
	if os.Getuid() == 0 {
		out["unprivileged"] = sandbox{user: &syscall.Credential{Uid: 65534, Gid: 65534}, program: program}
	}
	for name, s := range out {
		if got := s.run(t, nil, "true"); got != "done" {
			t.Skipf("host feature missing: user namespaces (%s: %s)", name, got)
		}
	}
	return out
}

// copyProgram puts the test binary where every user may start it.
func copyProgram(t *testing.T, to string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// exit32 is a whole i386 program (ELF32, one segment) that makes one call,
// exit(0), through int 0x80.
func exit32() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80}
	const base, headers = 0x08048000, 52 + 32
	size := uint32(headers + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01")
	b.Write(make([]byte, 9))
	for _, v := range []any{
		uint16(2), uint16(3), uint32(1), uint32(base + headers), uint32(52), uint32(0), uint32(0),
		uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(0), uint32(base), uint32(base), size, size, uint32(5), uint32(4096),
	} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.Write(code)
	return b.Bytes()
}

// exit64 is a whole x86_64 program that makes the same call of i386.
func exit64() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80}
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	for _, v := range []any{
		uint16(2), uint16(62), uint32(1), uint64(base + headers), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096),
	} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.Write(code)
	return b.Bytes()
}

func TestLiveForeignArchitecture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("host feature missing: x86_64, whose foreign programs these are")
	}
	for caller, s := range callers(t) {
		for name, program := range map[string][]byte{"i386 program": exit32(), "int 0x80 of an x86_64 program": exit64()} {
			if err := os.WriteFile(s.program, program, 0o755); err != nil {
				t.Fatal(err)
			}
			if got := s.run(t, nil, ""); got != "" {
				t.Skipf("host feature missing: IA32 emulation (%s)", got)
			}
			if got := s.run(t, sockets["visible"], ""); got != "exit 159" {
				t.Errorf("%s: %s = %q, want it killed by SIGSYS", caller, name, got)
			}
		}
	}
}

// TestLive holds the kernel to the model: every attempt once without a filter,
// the control, and once under each policy.
func TestLive(t *testing.T) {
	const killed = "exit 159" // 128 and SIGSYS
	x32 := killed
	if runtime.GOARCH != "amd64" {
		x32 = "done" // the number has no meaning there
	}
	for caller, s := range callers(t) {
		for _, tt := range []struct{ probe, control, none, visible string }{
			{"true", "done", "done", "done"},
			{"unix stream", "done", "EAFNOSUPPORT", "done"},
			{"unix datagram", "done", "EAFNOSUPPORT", "done"},
			{"high bits", "done", "EAFNOSUPPORT", "done"},
			{"inet stream", "done", "done", "done"},
			{"inet datagram", "done", "done", "done"},
			{"inet6 stream", "done", "done", "done"},
			{"netlink", "done", "EAFNOSUPPORT", "EAFNOSUPPORT"},
			{"loopback", "done", "done", "done"},
			{"pair stream", "done", "done", "done"},
			{"pair seqpacket", "done", "done", "done"},
			{"pair datagram", "done", "EAFNOSUPPORT", "done"},
			{"pair raw", "done", "EAFNOSUPPORT", "done"},
			{"x32 getpid", "done", x32, x32},
			{"reconnect", "done", "server: EAFNOSUPPORT", "done"},
			{"reconnect alive", "EISCONN", "server: EAFNOSUPPORT", "EISCONN"},
			{"reconnect seq", "EISCONN", "server: EAFNOSUPPORT", "EISCONN"},
		} {
			t.Run(caller+" "+tt.probe, func(t *testing.T) {
				for policy, want := range map[*ir.Policy]string{nil: tt.control, sockets["none"]: tt.none, sockets["visible"]: tt.visible} {
					if got := s.run(t, policy, tt.probe); got != want {
						t.Errorf("%s under unix %v = %q, want %q", tt.probe, policy, got, want)
					}
				}
			})
		}
		t.Run(caller+" io_uring", func(t *testing.T) {
			if got := s.run(t, nil, "io_uring"); got != "EFAULT" {
				t.Skipf("host feature missing: io_uring (%s)", got)
			}
			if got := s.run(t, sockets["visible"], "io_uring"); got != "ENOSYS" {
				t.Errorf("io_uring_setup = %q, want ENOSYS", got)
			}
		})
	}
}
