package trace_test

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/trace"
)

// TestMain lets the test's own binary be what is traced.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "obspc-traced" {
		traced(os.Args[2:])
	}
	os.Exit(m.Run())
}

// traced waits for a byte and becomes itself with the rest of the words, as the
// first process becomes a command; then it does what they say.
func traced(words []string) {
	if words[0] == "parent" {
		os.Exit(parent(words[1:]))
	}
	if words[0] == "wait" {
		// More threads than one, of which any may call execve.
		for range 4 {
			go func() { runtime.LockOSThread(); select {} }()
		}
		time.Sleep(time.Millisecond)
		if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 {
			os.Exit(96)
		}
		err := syscall.Exec("/proc/self/exe", append([]string{os.Args[0], "obspc-traced"}, words[1:]...), os.Environ())
		fmt.Println(err)
		os.Exit(98)
	}
	scripts[words[0]](words[1:])
	os.Exit(7)
}

// parent starts the words and ends as they end. What is traced is nobody's child
// who traces it, in a sandbox as here: its parent is another process.
func parent(words []string) int {
	cmd := exec.Command("/proc/self/exe", append([]string{"obspc-traced"}, words...)...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	if err := cmd.Start(); err != nil {
		return 97
	}
	fmt.Println(cmd.Process.Pid)
	cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// begin starts the words under a parent, up to where they wait.
func begin(t *testing.T, words ...string) (parent *exec.Cmd, pid int, stdin io.WriteCloser) {
	t.Helper()
	parent = exec.Command("/proc/self/exe", append([]string{"obspc-traced", "parent", "wait"}, words...)...)
	parent.Stderr = os.Stderr
	stdin, err := parent.StdinPipe()
	must(t, err)
	stdout, err := parent.StdoutPipe()
	must(t, err)
	// A child belongs to the thread that started it, which must not be the tracer's.
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- parent.Start()
		<-over
	}()
	t.Cleanup(func() { close(over) })
	must(t, <-started)
	_, err = fmt.Fscan(stdout, &pid)
	must(t, err)
	return parent, pid, stdin
}

var scripts = map[string]func([]string){
	"rows":   func(a []string) { callRows(a[0]) },
	"shell":  func(a []string) { unix.Exec("/bin/sh", append([]string{"sh", "-c"}, a...), os.Environ()) },
	"socket": func([]string) { unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0) },
}

// watched runs words and returns what failed, and the exit code.
func watched(t *testing.T, words ...string) ([]trace.Attempt, int) {
	t.Helper()
	cmd, pid, in := begin(t, words...)
	var out []trace.Attempt
	tracer, err := trace.Attach(pid, func(a trace.Attempt) { out = append(out, a) })
	if err != nil {
		in.Close()
		cmd.Wait()
		t.Skipf("host feature missing: ptrace (%v)", err)
	}
	io.WriteString(in, "g")
	tracer.Wait()
	cmd.Wait()
	return out, cmd.ProcessState.ExitCode()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// callRows makes every call of the tables with a path that is not there.
func callRows(missing string) {
	paths := map[bool]*byte{}
	for second, name := range map[bool]string{false: missing, true: missing + "/second"} {
		paths[second], _ = unix.BytePtrFromString(name)
	}
	attribute, _ := unix.BytePtrFromString("user.x")
	how := unix.OpenHow{Flags: unix.O_RDONLY}
	address := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i := range missing {
		address.Path[i] = int8(missing[i])
	}
	message := unix.Msghdr{Name: (*byte)(unsafe.Pointer(&address)), Namelen: unix.SizeofSockaddrUnix}
	atCwd := -100 // AT_FDCWD, as an argument
	for _, r := range trace.Rows() {
		var args [6]uintptr
		if r.Dir >= 0 {
			args[r.Dir] = uintptr(atCwd)
		}
		if r.Path >= 0 {
			args[r.Path] = uintptr(unsafe.Pointer(paths[false]))
		}
		if r.OtherAt >= 0 {
			args[r.OtherAt] = uintptr(unsafe.Pointer(paths[true]))
			if r.OtherDir >= 0 {
				args[r.OtherDir] = uintptr(atCwd)
			}
		}
		switch r.Verb {
		case trace.OpensHow:
			args[r.Flags], args[3] = uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how)
		case trace.Asks:
			args[r.Flags] = unix.R_OK
		case trace.Connects, trace.Binds, trace.Sends, trace.SendsMsg:
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				continue
			}
			args[0], args[r.Path] = uintptr(fd), uintptr(unsafe.Pointer(&address))
			if r.Verb == trace.SendsMsg {
				args[r.Path] = uintptr(unsafe.Pointer(&message))
			} else {
				args[r.Flags] = unix.SizeofSockaddrUnix
			}
		}
		switch r.Name {
		case "symlink", "symlinkat":
			args[0] = uintptr(unsafe.Pointer(paths[false])) // what the link would say
		case "readlink", "readlinkat":
			args[r.Path+1], args[r.Path+2] = uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how)
		case "setxattr", "lsetxattr", "getxattr", "lgetxattr", "removexattr", "lremovexattr":
			args[1], args[2], args[3] = uintptr(unsafe.Pointer(attribute)), uintptr(unsafe.Pointer(&how)), 4
			if r.Verb != trace.Writes {
				args[3] = 0
			}
		case "inotify_add_watch":
			fd, _ := unix.InotifyInit1(unix.IN_CLOEXEC)
			args[0], args[2] = uintptr(fd), unix.IN_MODIFY
		}
		unix.RawSyscall6(r.Number, args[0], args[1], args[2], args[3], args[4], args[5])
	}
	runtime.KeepAlive(paths)
}

// kinds are the words that each call of callRows asks for.
var kinds = map[string]ir.RequestKind{
	"openat": ir.ReadRequest, "openat2": ir.ReadRequest, "open": ir.ReadRequest, "creat": ir.CreateRequest,
	"faccessat": ir.ReadRequest, "faccessat2": ir.ReadRequest, "access": ir.ReadRequest, "inotify_add_watch": ir.ReadRequest,
	"execve": ir.ExecuteRequest, "execveat": ir.ExecuteRequest,
	"mkdirat": ir.CreateRequest, "mknodat": ir.CreateRequest, "symlinkat": ir.CreateRequest, "mkdir": ir.CreateRequest, "mknod": ir.CreateRequest, "symlink": ir.CreateRequest,
	"unlinkat": ir.RemoveRequest, "unlink": ir.RemoveRequest, "rmdir": ir.RemoveRequest,
	"renameat": ir.RenameRequest, "renameat2": ir.RenameRequest, "rename": ir.RenameRequest, "linkat": ir.LinkRequest, "link": ir.LinkRequest,
	"connect": ir.ConnectUnixRequest, "sendto": ir.ConnectUnixRequest, "sendmsg": ir.ConnectUnixRequest, "bind": ir.CreateRequest,
	"truncate": ir.WriteRequest, "fchmodat": ir.WriteRequest, "fchmodat2": ir.WriteRequest, "fchownat": ir.WriteRequest, "utimensat": ir.WriteRequest,
	"setxattr": ir.WriteRequest, "lsetxattr": ir.WriteRequest, "removexattr": ir.WriteRequest, "lremovexattr": ir.WriteRequest,
	"chmod": ir.WriteRequest, "chown": ir.WriteRequest, "lchown": ir.WriteRequest, "utime": ir.WriteRequest, "utimes": ir.WriteRequest, "futimesat": ir.WriteRequest,
	"fchmod": "", "fchown": "", "fsetxattr": "", "fremovexattr": "", // about a descriptor
}

// TestRows: every call of the tables is seen, as the word and the path it is about.
func TestRows(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "x")
	seen, code := watched(t, "rows", missing)
	if code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	for _, r := range trace.Rows() {
		want, listed := kinds[r.Name]
		if !listed {
			want = ir.StatRequest
		}
		i := slices.IndexFunc(seen, func(a trace.Attempt) bool { return a.Call == r.Name && a.Path == missing })
		switch {
		case want == "":
		case i < 0:
			t.Errorf("%s was not seen", r.Name)
		case seen[i].Kind != want || seen[i].Exists || seen[i].Number != uint32(r.Number) || want.Pairs() && seen[i].To != missing+"/second":
			t.Errorf("%s is %+v, want %s", r.Name, seen[i], want)
		case unix.Errno(seen[i].Errno) != unix.ENOENT || !strings.HasSuffix(seen[i].Program, ".test"):
			t.Errorf("%s failed with %v, by %s", r.Name, unix.Errno(seen[i].Errno), seen[i].Program)
		}
	}
}

// TestTree: what a command starts is seen too, by its own name, and signals and job
// control are as they are without a tracer.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	script := `
cd ` + dir + `
/bin/cat deep/missing1 2>/dev/null
(exec 2>/dev/null; : < ./link/missing2)
(sleep 0.2; kill -CONT $$) & kill -STOP $$
trap 'echo trapped > out' USR1; kill -USR1 $$
: > made; /bin/cat < made
kill -TERM $$`
	must(t, os.Symlink("target", filepath.Join(dir, "link")))
	must(t, os.Mkdir(filepath.Join(dir, "target"), 0o700))
	seen, code := watched(t, "shell", script)
	if code != 128+15 {
		t.Errorf("exit code %d, want SIGTERM to end it", code)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(text) != "trapped\n" {
		t.Errorf("the handler of a signal left %q, %v", text, err)
	}
	for path, program := range map[string]string{"deep/missing1": "cat", "target/missing2": "sh"} {
		path = filepath.Join(dir, path)
		i := slices.IndexFunc(seen, func(a trace.Attempt) bool { return a.Path == path && a.Kind == ir.ReadRequest })
		if i < 0 || !isProgram(seen[i].Program, program) {
			t.Errorf("reading %s by %s was not seen: %+v", path, program, seen)
		}
	}
	if i := slices.IndexFunc(seen, func(a trace.Attempt) bool { return strings.HasSuffix(a.Path, "/made") }); i >= 0 {
		t.Errorf("what succeeded was noted: %+v", seen[i])
	}
}

// isProgram reports whether a path is that of the program of that name.
func isProgram(path, name string) bool {
	real, err := filepath.EvalSymlinks("/bin/" + name)
	return err == nil && path == real
}

// TestAttachFails: what is not there, and what somebody else traces.
func TestAttachFails(t *testing.T) {
	if _, err := trace.Attach(1<<30, nil); err == nil {
		t.Error("a process that is not there was traced")
	}
	cmd, pid, in := begin(t, "socket")
	defer cmd.Wait()
	defer in.Close()
	first, err := trace.Attach(pid, func(trace.Attempt) {})
	if err != nil {
		t.Skipf("host feature missing: ptrace (%v)", err)
	}
	if _, err := trace.Attach(pid, nil); err == nil {
		t.Error("a process was traced twice")
	}
	io.WriteString(in, "g")
	first.Wait()
}

// TestPanic: a fault of ours is not lost, and what is traced goes on.
func TestPanic(t *testing.T) {
	cmd, pid, in := begin(t, "shell", "cat /nowhere/x 2>/dev/null; cat /nowhere/y 2>/dev/null; exit 9")
	tracer, err := trace.Attach(pid, func(trace.Attempt) { panic("fault") })
	if err != nil {
		in.Close()
		cmd.Wait()
		t.Skipf("host feature missing: ptrace (%v)", err)
	}
	io.WriteString(in, "g")
	func() {
		defer func() {
			if p := recover(); p != "fault" {
				t.Errorf("Wait panicked with %v, want the fault", p)
			}
		}()
		tracer.Wait()
	}()
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
		t.Errorf("exit code %d, want 9", cmd.ProcessState.ExitCode())
	}
}

// TestResolve: paths as a sandbox with another root resolves them.
func TestResolve(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/b", "etc"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "a/b/f"), nil, 0o644))
	for name, target := range map[string]string{
		"abs": "/a/b", "a/rel": "b/f", "a/up": "../etc", "dangling": "/no/where", "loop": "loop", "out": "../../../../etc",
	} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	for _, tt := range []struct {
		dir, name string
		follow    bool
		want      string // "": nothing
		exists    bool
	}{
		{"/", "/a/b/f", true, "/a/b/f", true},
		{"/a", "b/./f", true, "/a/b/f", true},
		{"/a/b", "../../a//b/f", true, "/a/b/f", true},
		{"/", "../../..", true, "/", true},
		{"/", "abs/f", true, "/a/b/f", true},
		{"/", "abs", true, "/a/b", true},
		{"/", "abs", false, "/abs", true},
		{"/", "abs/", false, "/abs", true},
		{"/a", "rel", true, "/a/b/f", true},
		{"/a", "up/../a/rel", true, "/a/b/f", true},
		{"/", "out", true, "/etc", true},
		{"/", "dangling", true, "/no/where", false},
		{"/", "dangling", false, "/dangling", true},
		{"/", "no/such/../file", true, "/no/file", false},
		{"/", "a/b/f/x", true, "/a/b/f/x", false},
		{"/", "loop", true, "", false},
		{"", "a", true, "", false},
		{"pipe:[1]", "a", true, "", false},
	} {
		if got, exists, ok := trace.Resolve(root, tt.dir, tt.name, tt.follow); got != tt.want || exists != tt.exists || ok != (tt.want != "") {
			t.Errorf("%s from %q is %q (exists %v), want %q (%v)", tt.name, tt.dir, got, exists, tt.want, tt.exists)
		}
	}
	// /proc/self is another for each reader.
	if got, exists, ok := trace.Resolve("/", "/", "/proc/self/status", true); !ok || !exists || got != fmt.Sprintf("/proc/%d/status", os.Getpid()) {
		t.Errorf("/proc/self/status is %q, %v, %v", got, exists, ok)
	}
}

// TestPeers: addresses as programs give them.
func TestPeers(t *testing.T) {
	for name, tt := range map[string]struct {
		address []byte
		want    netip.AddrPort
	}{
		"IPv4":   {[]byte{2, 0, 1, 187, 192, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0}, netip.MustParseAddrPort("192.0.2.7:443")},
		"IPv6":   {append(append([]byte{10, 0, 0, 80, 0, 0, 0, 0}, netip.MustParseAddr("2001:db8::7").AsSlice()...), 0, 0, 0, 0), netip.MustParseAddrPort("[2001:db8::7]:80")},
		"mapped": {append(append([]byte{10, 0, 0, 80, 0, 0, 0, 0}, netip.MustParseAddr("::ffff:192.0.2.7").AsSlice()...), 0, 0, 0, 0), netip.MustParseAddrPort("192.0.2.7:80")},
		"short":  {[]byte{2, 0, 1, 187}, netip.AddrPort{}},
		"other":  {[]byte{16, 0, 1, 187, 192, 0, 2, 7}, netip.AddrPort{}},
	} {
		if got := trace.InetPeer(tt.address); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
