package attribute

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var server = netip.MustParseAddrPort("127.0.0.1:3128")

// insideWord makes the test's binary PID 1 of namespaces of its own, connectWord a
// program that connects, holdWord one that holds what it got.
const insideWord, connectWord, holdWord = "obspc-inside", "obspc-connect", "obspc-hold"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		roles := map[string]func([]string) error{insideWord: inside, connectWord: connect, holdWord: hold}
		if role := roles[os.Args[1]]; role != nil {
			if err := role(os.Args[2:]); err != nil {
				fmt.Println("failed:", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// inside serves at the proxy's address, and starts what it is told to on standard
// input: a line each, whose output follows.
func inside([]string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	l, err := net.Listen("tcp4", server.String())
	if err != nil {
		return err
	}
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println("failed:", err)
		}
	}
	return nil
}

// connect makes a connection and prints its address, once it is in the hands it is
// to be in. How: "alone"; "mapped", from a socket of IPv6; "forked", by a child with
// the same program as well; "shared", by one with another, which a[1] is; "became",
// by that program alone, in the same process; "closed", by nobody; "hidden", by
// this process, into which only root outside can look.
func connect(a []string) error {
	family, to := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()})
	if a[0] == "mapped" {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: int(server.Port()), Addr: netip.AddrFrom16(server.Addr().As16()).As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	port := 0
	switch n := name.(type) {
	case *unix.SockaddrInet4:
		port = n.Port
	case *unix.SockaddrInet6:
		port = n.Port
	}
	said := fmt.Sprintf("127.0.0.1:%d", port)
	hand := func(program string) error {
		cmd := exec.Command(program, holdWord, said)
		cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{os.NewFile(uintptr(fd), "connection")}
		if err := cmd.Start(); err != nil {
			return err
		}
		return cmd.Wait()
	}
	switch a[0] {
	case "forked":
		return hand("/proc/self/exe")
	case "shared":
		return hand(a[1])
	case "became":
		return unix.Exec(a[1], []string{a[1], holdWord, said}, nil)
	case "closed":
		unix.Close(fd)
	case "hidden":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
	}
	return hold([]string{said})
}

// hold prints its argument and stays.
func hold(a []string) error {
	fmt.Println(a[0])
	return unix.Pause()
}

// lab is a sandbox of a user's, and programs that it may start.
type lab struct {
	*Sandbox
	to         io.Writer
	from       *bufio.Scanner
	one, other string // alike but for their names and files
	init       int
}

// newLab starts PID 1 of a sandbox as user uid.
func newLab(t testing.TB, uid int) *lab {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "obspc-attribute-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chown(dir, uid, uid))
	x := &lab{one: filepath.Join(dir, "one"), other: filepath.Join(dir, "other")}
	text, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(x.one, text, 0o755))
	must(t, os.WriteFile(x.other, append(text, "other"...), 0o755))

	cmd := exec.Command(x.one, insideWord)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		// As bubblewrap maps its caller, so that there is no root inside.
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN},
	}
	x.to, err = cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	if err := cmd.Start(); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skip("host feature missing: user namespaces")
	} else {
		must(t, err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	x.from = bufio.NewScanner(out)
	if said := x.line(t); said != "ready" {
		t.Fatalf("PID 1 said %q", said)
	}
	x.init = cmd.Process.Pid
	x.Sandbox, err = Open(x.init, server)
	must(t, err)
	t.Cleanup(x.Close)
	return x
}

func (x *lab) line(t testing.TB) string {
	t.Helper()
	if !x.from.Scan() {
		t.Fatalf("PID 1 ended: %v", x.from.Err())
	}
	return x.from.Text()
}

// connection is one made in the sandbox by a program.
func (x *lab) connection(t testing.TB, words ...string) netip.AddrPort {
	t.Helper()
	fmt.Fprintln(x.to, strings.Join(words, " "))
	client, err := netip.ParseAddrPort(x.line(t))
	must(t, err)
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func file(t *testing.T, at string) (File, string) {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Stat(at, &stat))
	text, err := os.ReadFile(at)
	must(t, err)
	sum := sha256.Sum256(text)
	return File{stat.Dev, stat.Ino}, hex.EncodeToString(sum[:])
}

// TestProgram: by sock_diag and by the list alike, a connection has the one program
// that holds it, or none.
func TestProgram(t *testing.T) {
	for _, list := range []bool{false, true} {
		x := newLab(t, os.Getuid())
		if list {
			x.sockets.opening.Do(func() {})
		} else if x.sockets.open(); x.sockets.diag < 0 {
			t.Log("this kernel has no sock_diag")
		}
		ambiguous := ""
		for _, tt := range []struct{ how, by, why string }{
			{"alone", x.one, ""}, {"alone", x.other, ""}, {"mapped", x.one, ""}, {"forked", x.other, ""}, {"became", x.other, ""},
			{"shared", ambiguous, "different programs hold the connection: "}, {"closed", ambiguous, "is closed"},
		} {
			start := x.one
			if tt.how == "alone" || tt.how == "forked" {
				start = tt.by
			}
			client := x.connection(t, start, connectWord, tt.how, x.other)
			p, err := x.Program(client)
			if tt.by == ambiguous {
				if none := (*Ambiguous)(nil); !errors.As(err, &none) || !strings.Contains(none.Why, tt.why) {
					t.Errorf("list %v, a connection that is %s: %+v, %v; want it ambiguous: %q", list, tt.how, p, err, tt.why)
				}
				continue
			}
			want := Program{Path: tt.by}
			want.File, want.SHA256 = file(t, tt.by)
			if err != nil || p != want {
				t.Errorf("list %v, a connection that is %s: %+v, %v; want %+v", list, tt.how, p, err, want)
			}
		}
		// Neither the address of the server nor one of nobody is a client's.
		for _, client := range []netip.AddrPort{server, netip.MustParseAddrPort("127.0.0.1:9")} {
			if p, err := x.Program(client); err == nil {
				t.Errorf("list %v, Program(%v) = %+v", list, client, p)
			}
		}
	}
}

// TestProgramNames: a name counts only while it leads to the file that runs.
func TestProgramNames(t *testing.T) {
	x := newLab(t, os.Getuid())
	client := x.connection(t, x.one, connectWord, "alone")
	runs, sum := file(t, x.one)
	for _, tt := range []struct {
		name, why string
		change    func() error
	}{
		{x.one, "", func() error { return nil }},
		{x.one + "-moved", "", func() error { return os.Rename(x.one, x.one+"-moved") }},
		{"", "another file by now", func() error {
			return errors.Join(os.Rename(x.one+"-moved", x.one+"-kept"), os.Link(x.other, x.one+"-kept-2"), os.Rename(x.one+"-kept-2", x.one+"-kept"))
		}},
	} {
		must(t, tt.change())
		p, err := x.Program(client)
		if err != nil || p.Path != tt.name || p.File != runs || !strings.Contains(p.Unnamed, tt.why) && !strings.Contains(p.Unnamed, "removed") {
			t.Errorf("want the name %q, or none because it is %q: %+v, %v", tt.name, tt.why, p, err)
		}
		if p.SHA256 != sum {
			t.Errorf("%+v: want the digest of what runs, %s", p, sum)
		}
	}
}

// TestProgramHidden: a process that cannot be looked into may hold any connection.
func TestProgramHidden(t *testing.T) {
	x := newLab(t, os.Getuid())
	before := x.connection(t, x.one, connectWord, "alone")
	if _, err := x.Program(before); err != nil {
		t.Fatalf("the control: %v", err)
	}
	x.connection(t, x.other, connectWord, "hidden")
	_, err := x.Program(before)
	if none := (*Ambiguous)(nil); (os.Getuid() == 0) != (err == nil) || err != nil && (!errors.As(err, &none) || !strings.Contains(none.Why, "cannot be asked")) {
		t.Errorf("beside a process that cannot be looked into: %v", err)
	}
}

// TestUnprivileged: the same as an ordinary user.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to become another user")
	}
	dir, err := os.MkdirTemp("/var/tmp", "obspc-attribute-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	text, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "test"), text, 0o755))
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run=^TestProgram", "-test.v")
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if text, err := cmd.CombinedOutput(); err != nil || strings.Count(string(text), "--- PASS") != 3 {
		t.Errorf("as an ordinary user: %v\n%s", err, text)
	} else if strings.Contains(string(text), "no sock_diag") {
		t.Logf("as an ordinary user there is no sock_diag here")
	}
}

// BenchmarkProgram is one attribution of a connection whose program is known.
func BenchmarkProgram(b *testing.B) {
	for _, list := range []bool{false, true} {
		b.Run(fmt.Sprintf("list=%v", list), func(b *testing.B) {
			x := newLab(b, os.Getuid())
			if list {
				x.sockets.opening.Do(func() {})
			}
			client := x.connection(b, x.one, connectWord, "alone")
			for b.Loop() {
				if _, err := x.Program(client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is what a run with programs to tell apart pays before its command
// starts.
func BenchmarkOpen(b *testing.B) {
	x := newLab(b, os.Getuid())
	for b.Loop() {
		s, err := Open(x.init, server)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
