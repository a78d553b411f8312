package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func init() {
	attempts["terminals"] = func([]string) error { return listTerminals() }
	attempts["whoami"] = func([]string) error {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
		size, failed := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		session, _ := unix.Getsid(0)
		fmt.Fprintf(f, "leader %v foreground %v size %dx%d TERM %s\n", session == os.Getpid(), group == unix.Getpgrp(), size.Row, size.Col, os.Getenv("TERM"))
		return nil
	}
	attempts["type-into"] = func([]string) error {
		key := [...]byte{'x'}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&key)))
		if errno != 0 {
			return errno
		}
		return unix.IoctlSetInt(0, unix.TCFLSH, unix.TCIFLUSH)
	}
	attempts["echo"] = func([]string) error {
		line := make([]byte, 64)
		fmt.Println("type")
		n, err := os.Stdin.Read(line)
		fmt.Printf("read %q\n", line[:n])
		return err
	}
	attempts["die"] = func([]string) error {
		fmt.Println("type")
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	attempts["await"] = func([]string) error {
		fmt.Println("type")
		time.Sleep(time.Minute)
		return nil
	}
}

// listTerminals prints every terminal that can be found from here: by name, and
// behind descriptors of whatever process shows them.
func listTerminals() error {
	names, _ := filepath.Glob("/dev/pts/*")
	behind, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, at := range behind {
		if target, err := os.Readlink(at); err == nil && strings.Contains(target, "/pts/") {
			names = append(names, target)
		}
	}
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] && !strings.HasSuffix(n, "/ptmx") {
			fmt.Println(n)
		}
		seen[n] = true
	}
	return nil
}

// console is a terminal of this machine, as a caller sits at one.
type console struct {
	keys *os.File // the other side
	file *os.File
	name string
}

// newConsole makes one whose number is not 0, so that it cannot be taken for the
// first terminal of a sandbox.
func newConsole(t testing.TB) *console {
	t.Helper()
	for {
		keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		must(t, err)
		t.Cleanup(func() { keys.Close() })
		n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
		must(t, err)
		if n == 0 {
			continue
		}
		must(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
		c := &console{keys: keys, name: fmt.Sprintf("/dev/pts/%d", n)}
		c.file, err = os.OpenFile(c.name, os.O_RDWR|unix.O_NOCTTY, 0)
		must(t, err)
		t.Cleanup(func() { c.file.Close() })
		must(t, unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
		return c
	}
}

func (c *console) settings(t testing.TB) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(c.file.Fd()), unix.TCGETS)
	must(t, err)
	return *s
}

// job is a run of the probe at the console.
func (c *console) job(t testing.TB, dir string, words ...string) runtime.Job {
	t.Helper()
	terminal, err := runtime.OpenTerminal(c.file, "test-1.0")
	must(t, err)
	return runtime.Job{
		Argv: append([]string{probePath, probeWord}, words...), Development: true,
		Workspace: runtime.Workspace{Dir: dir}, Terminal: terminal,
	}
}

// TestLiveTerminal: the command's terminal is the sandbox's own, it is all the
// command's, and the caller's is nowhere.
func TestLiveTerminal(t *testing.T) {
	needSandbox(t)
	c, dir := newConsole(t), labDir(t)
	v := development(t, policy(t, plain))
	at := func(words ...string) string {
		t.Helper()
		r := start(t, context.Background(), v, c.job(t, dir, words...))
		if e := r.Evidence; !e.Terminal || e.Stderr != nil || e.Stdout == nil || e.Outcome != runtime.Exited {
			t.Errorf("%q: want evidence of one stream of a terminal; %s", words, r)
		}
		return strings.ReplaceAll(r.stdout, "\r\n", "\n")
	}
	if got, want := at("whoami"), "leader true foreground true size 33x77 TERM test-1.0\nok\n"; got != want {
		t.Errorf("at a terminal: %q, want %q", got, want)
	}
	if err := touch(c.name, os.O_RDWR|unix.O_NOCTTY); err != nil {
		t.Fatalf("the control: opening %s outside: %v", c.name, err)
	}
	if got := at("open-both", c.name); got != "ENOENT\n" {
		t.Errorf("opening the caller's %s inside is %q, want ENOENT", c.name, got)
	}
	if got := at("terminals"); got != "/dev/pts/0\nok\n" {
		t.Errorf("terminals inside are %q, want /dev/pts/0 alone", got)
	}
	if got := at("look-into", "1"); got != "EACCES\n" && got != "EPERM\n" {
		t.Errorf("looking into PID 1, which bubblewrap started at the caller's, is %q", got)
	}
	t.Run("TIOCSTI", func(t *testing.T) {
		cmd := exec.Command(probePath, probeWord, "type-into")
		cmd.Stdin, cmd.SysProcAttr = c.file, &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if text, err := cmd.Output(); string(text) == "EIO\n" {
			t.Skip("host feature missing: dev.tty.legacy_tiocsti=1, or root")
		} else if err != nil {
			t.Fatalf("the control: typing into a terminal outside is %q, %v", text, err)
		}
		if got := at("type-into"); got != "EPERM\n" {
			t.Errorf("typing into a terminal inside is %q, want EPERM", got)
		}
	})
	// Without a terminal there is none, and nothing is added to the environment.
	if r := probed(t, v, dir, "whoami"); strings.TrimSpace(r.stdout) != "ENXIO" || contains(r.Evidence.Environment, "TERM") {
		t.Errorf("without a terminal: %s", r)
	}
}

// TestLiveTyping: keys arrive while the caller's terminal is raw, and the
// terminal is as before however the command ends.
func TestLiveTyping(t *testing.T) {
	needSandbox(t)
	t.Cleanup(runtime.Hurry(100*time.Millisecond, 200*time.Millisecond))
	for _, tt := range []struct {
		attempt, keys, body string
		cancel              bool
		want                runtime.Word
		exit                int
		says                string
	}{
		{attempt: "echo", keys: "hello\r", want: runtime.Exited, says: `read "hello\n"`},
		{attempt: "await", keys: "\x03", want: runtime.Signaled, exit: 130, says: "^C"},
		{attempt: "die", want: runtime.Signaled, exit: 137},
		{attempt: "await", body: "\nlimits {\n timeout = \"300ms\"\n}", want: runtime.Timeout, exit: runtime.ExitTimeout},
		{attempt: "await", cancel: true, want: runtime.Cancelled, exit: 128 + 15},
	} {
		t.Run(fmt.Sprintf("%s-%s", tt.attempt, tt.want), func(t *testing.T) {
			c := newConsole(t)
			before := c.settings(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			job := c.job(t, labDir(t), tt.attempt)
			said, out := &strings.Builder{}, &meanwhile{}
			out.do = func(text []byte) {
				if said.Write(text); !strings.Contains(said.String(), "type") || out.done {
					return
				}
				out.done = true
				if now := c.settings(t); now.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
					t.Errorf("while the command runs the caller's terminal has %+v", now)
				}
				io.WriteString(c.keys, tt.keys)
				if tt.cancel {
					cancel(runtime.Interrupt{Signal: 15})
				}
			}
			job.Stdout = out
			r := start(t, ctx, development(t, policy(t, plain+tt.body)), job)
			if r.Evidence.Outcome != tt.want || r.Exit != tt.exit || !strings.Contains(said.String(), tt.says) {
				t.Errorf("want %s, exit %d, %q; said %q, %s", tt.want, tt.exit, tt.says, said, r)
			}
			if after := c.settings(t); after != before {
				t.Errorf("the caller's terminal has %+v, before it had %+v", after, before)
			}
		})
	}
}

// meanwhile is a reader of output that acts on it.
type meanwhile struct {
	do   func([]byte)
	done bool
}

func (m *meanwhile) Write(p []byte) (int, error) { m.do(p); return len(p), nil }

// TestLiveTerminalLimit: the limit of standard output bounds what passes, and
// everything is counted.
func TestLiveTerminalLimit(t *testing.T) {
	needSandbox(t)
	const written = 300_000
	for limit, passed := range map[string]int64{"": written, "limits {\n stdout = \"1000B\"\n}": 1000} {
		c := newConsole(t)
		r := start(t, context.Background(), development(t, policy(t, plain+"\n"+limit)), c.job(t, labDir(t), "fill", fmt.Sprint(written)))
		out := r.Evidence.Stdout
		if out == nil || out.Bytes != written+int64(len("ok\r\n")) || min(out.Passed, written) != passed || out.Passed != int64(len(r.stdout)) {
			t.Errorf("limits %q: %+v, %d bytes came", limit, out, len(r.stdout))
		}
	}
}

// TestLiveTerminalGranted: a terminal is granted by the policy, and asked for from
// one.
func TestLiveTerminalGranted(t *testing.T) {
	needSandbox(t)
	c := newConsole(t)
	bare := `policy "p" {
  version = 1
  targets = ["bwrap"]
  filesystem {
    read    = [` + fmt.Sprintf("%q", probePath) + `]
    execute = [` + fmt.Sprintf("%q", probePath) + `]
  }
}`
	refusedWith(t, start(t, context.Background(), development(t, bare), c.job(t, labDir(t), "whoami")), runtime.Input, "/dev/pts", "devices")
	file, err := os.Open("/dev/null")
	must(t, err)
	defer file.Close()
	var refusal *runtime.Refusal
	if _, err := runtime.OpenTerminal(file, ""); !errors.As(err, &refusal) || refusal.Code != runtime.Input || refusal.Exit != runtime.ExitRefused {
		t.Errorf("OpenTerminal(/dev/null) = %v, want a refusal of the call", err)
	}
	long := strings.Repeat("x", 64)
	for kind, want := range map[string]string{"xterm-256color": "xterm-256color", "../../etc/x": "", "a b": "", "": "", ".x": "", "x/y": "", "é": "", long: long, long + "x": ""} {
		terminal, err := runtime.OpenTerminal(c.file, kind)
		if must(t, err); runtime.KindOf(terminal) != want {
			t.Errorf("OpenTerminal with TERM=%q passes %q on, want %q", kind, runtime.KindOf(terminal), want)
		}
	}
}

// TestMaster: what the first process hands out has to be the master of a terminal
// that is not this machine's.
func TestMaster(t *testing.T) {
	c := newConsole(t)
	null, err := os.Open("/dev/null")
	must(t, err)
	defer null.Close()
	for file, name := range map[*os.File]string{null: "no pseudo-terminal's master", c.file: "no pseudo-terminal's master", hostMaster(t, c): "the command's terminal is"} {
		if err := runtime.CheckMaster(int(file.Fd())); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("checkMaster(%s) = %v, want it to say %q", file.Name(), err, name)
		}
	}
}

// hostMaster is a master of the machine's own devpts: opened there if its mode lets
// this user, else through /dev.
func hostMaster(t *testing.T, c *console) *os.File {
	file, err := os.OpenFile("/dev/pts/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return c.keys
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestFirstWord: a ready byte with any other number of descriptors is none.
func TestFirstWord(t *testing.T) {
	null, err := os.Open("/dev/null")
	must(t, err)
	defer null.Close()
	for _, tt := range []struct {
		listens, terminal bool
		text              string
		fds               int
		ok                bool
	}{
		{false, false, "r", 0, true}, {false, false, "r", 1, false}, {false, false, "r", 2, false}, {false, false, "r", 3, false},
		{false, true, "r", 0, false}, {false, true, "r", 1, false}, {false, true, "r", 2, false},
		{true, false, "r", 0, false}, {true, false, "r", 1, false}, {true, false, "r", 2, false},
		{true, true, "r", 0, false}, {true, true, "r", 1, false}, {true, true, "r", 2, false}, {true, true, "r", 9, false},
		{false, false, "rr", 0, false}, {false, false, "x", 0, false}, {false, false, "", 0, false}, {true, true, "x", 2, false},
	} {
		fds := make([]int, tt.fds)
		for i := range fds {
			fds[i] = int(null.Fd())
		}
		before := openFiles(t)
		if err := runtime.FirstWord(tt.listens, tt.terminal, []byte(tt.text), fds); (err == nil) != tt.ok {
			t.Errorf("listener %v, terminal %v, %q with %d descriptors: %v, want ok %v", tt.listens, tt.terminal, tt.text, tt.fds, err, tt.ok)
		}
		if after := openFiles(t); after != before {
			t.Errorf("%q with %d descriptors: %d files are open, %d were before", tt.text, tt.fds, after, before)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestTerminalPanic: a fault of ours leaves the terminal as it was.
func TestTerminalPanic(t *testing.T) {
	c := newConsole(t)
	terminal, err := runtime.OpenTerminal(c.file, "")
	must(t, err)
	before := c.settings(t)
	must(t, runtime.Enter(terminal))
	if c.settings(t) == before {
		t.Fatal("the terminal did not become raw")
	}
	io.WriteString(c.keys, "left over\n")
	func() {
		defer func() { recover() }()
		runtime.Guarded(terminal, func() { panic("fault") })
	}()
	if after := c.settings(t); after != before {
		t.Errorf("after a panic the terminal has %+v, before it had %+v", after, before)
	}
	p := []unix.PollFd{{Fd: int32(c.file.Fd()), Events: unix.POLLIN}}
	if n, _ := unix.Poll(p, 0); n != 0 {
		t.Error("what was typed meanwhile is left for the caller's shell")
	}
}
