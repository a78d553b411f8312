package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
)

const shellText = `
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/bash", "/usr/bin/sleep", "/usr/bin/stty", "/usr/bin/tty"]
  }
  environment {
    PS1  = "ready> "
    HOME = "/nonexistent"
  }
}`

// seat is somebody at a terminal, in which obsrun runs.
type seat struct {
	t    *testing.T
	keys *os.File // the other side of the terminal
	file *os.File
	cmd  *exec.Cmd
	seen string // and not expected yet
}

// sit starts obsrun exec --tty at a terminal that is its controlling one.
func sit(t *testing.T, evidence string, flags []string, command ...string) *seat {
	t.Helper()
	if _, err := os.Stat("/usr/bin/bash"); err != nil {
		t.Skip("host feature missing: /usr/bin/bash")
	}
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		t.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
	dir := t.TempDir()
	files := filesOf(t, shellText, release.Input{})
	must(t, release.Write(filepath.Join(dir, "release"), files))
	must(t, os.WriteFile(filepath.Join(dir, "pins"), pins(files, release.LocalProduct).Format(), 0o644))
	work, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	s := &seat{t: t}
	s.keys, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { s.keys.Close() })
	raw, err := s.keys.SyscallConn()
	must(t, err)
	number := 0
	raw.Control(func(fd uintptr) {
		unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	must(t, err)
	s.file, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { s.file.Close() })
	s.resize(30, 90)
	words := append([]string{"exec", "--tty", "--policy", "p", "--workspace", work, "--evidence", evidence,
		"--release", filepath.Join(dir, "release"), "--pins", filepath.Join(dir, "pins")}, flags...)
	s.cmd = exec.Command("/proc/self/exe", append(append(words, "--"), command...)...)
	s.cmd.Env = []string{"OBSPC_TEST_AS_OBSRUN=1", "TERM=dumb"}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.file, s.file, s.file
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return s
}

func (s *seat) resize(rows, columns uint16) {
	must(s.t, unix.IoctlSetWinsize(int(s.file.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
}

func (s *seat) settings() unix.Termios {
	t, err := unix.IoctlGetTermios(int(s.file.Fd()), unix.TCGETS)
	must(s.t, err)
	return *t
}

// keys types.
func (s *seat) types(text string) {
	_, err := s.keys.WriteString(text)
	must(s.t, err)
}

// sees waits until the screen shows what matches, and forgets everything up to it.
func (s *seat) sees(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	s.keys.SetReadDeadline(time.Now().Add(20 * time.Second))
	buffer := make([]byte, 4096)
	for {
		if at := re.FindStringIndex(s.seen); at != nil {
			s.seen = s.seen[at[1]:]
			return
		}
		n, err := s.keys.Read(buffer)
		if s.seen += string(buffer[:n]); err != nil {
			s.t.Fatalf("waited for %q, saw %q: %v", pattern, s.seen, err)
		}
	}
}

// leaves waits for the end of obsrun.
func (s *seat) leaves() (code int) {
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// TestShell: an interactive shell has job control, its terminal follows the
// caller's size, and the caller's terminal is as it was afterwards; so it is with a
// trace.
func TestShell(t *testing.T) {
	t.Run("plain", func(t *testing.T) { shell(t) })
	t.Run("traced", func(t *testing.T) { shell(t, "--trace") })
}

func shell(t *testing.T, flags ...string) {
	evidence := filepath.Join(t.TempDir(), "evidence.json")
	s := sit(t, evidence, flags, "/usr/bin/bash", "--norc", "--noediting", "-i")
	before := s.settings()
	must(t, s.cmd.Start())
	s.sees("ready> ")
	if s.settings() == before {
		t.Error("the caller's terminal is not raw")
	}
	s.types("tty; stty size\r")
	s.sees("\n/dev/pts/0\r\n30 90\r\nready> ")
	s.resize(41, 101)
	// A key can overtake the news of a size.
	s.types("while [ \"$(stty size)\" != \"41 101\" ]; do sleep 0.1; done; stty size\r")
	s.sees("\n41 101\r\nready> ")

	s.types("sleep 101\r")
	waitFor(t, "the sleeper", func() bool { return len(asleep(t)) == 1 })
	s.types("\x1a") // Ctrl-Z
	s.sees(`Stopped +sleep 101\r\nready> `)
	s.types("jobs\r")
	s.sees(`Stopped +sleep 101\r\nready> `)
	s.types("fg\r")
	s.sees(`\nsleep 101\r\n`)
	// The shell gives the terminal away before it lets the job go on: only then does
	// Ctrl-C mean the sleeper.
	waitFor(t, "the sleeper to go on", func() bool { return sleeping(asleep(t)) })
	s.types("\x03") // Ctrl-C
	s.sees("ready> ")
	s.types("echo code $?\r")
	s.sees("code 130\r\nready> ")
	s.types("sleep 101 & kill %1; wait %1; echo code $?\r")
	s.sees("code 143\r\n")
	s.sees("ready> ")
	s.types("exit 7\r")
	if code := s.leaves(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if after := s.settings(); after != before {
		t.Errorf("the caller's terminal has %+v, before it had %+v", after, before)
	}
	var e runtime.Evidence
	data, err := os.ReadFile(evidence)
	must(t, err)
	must(t, json.Unmarshal(data, &e))
	if (e.Trace != nil) != (len(flags) > 0) || !e.Terminal || e.Stderr != nil || e.Stdout.Bytes == 0 || !e.Cleanup.TreeDead {
		t.Errorf("evidence %s", data)
	}
}

// asleep lists the sleepers of this test.
func asleep(t *testing.T) []string {
	t.Helper()
	var out []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && string(text) == "sleep\x00101\x00" {
			out = append(out, path)
		}
	}
	return out
}

// sleeping reports whether the only one of the processes sleeps, neither stopped nor
// held by a tracer (proc(5), stat: the letter behind the name).
func sleeping(processes []string) bool {
	if len(processes) != 1 {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(filepath.Dir(processes[0]), "stat"))
	_, state, found := strings.Cut(string(stat), ") ")
	return err == nil && found && strings.HasPrefix(state, "S")
}

// TestTerminalGivenBack: while obsrun is stopped, and after a signal ended it, the
// caller's terminal has the caller's settings.
func TestTerminalGivenBack(t *testing.T) {
	s := sit(t, filepath.Join(t.TempDir(), "evidence.json"), nil, "/usr/bin/bash", "--norc", "--noediting", "-i")
	before := s.settings()
	must(t, s.cmd.Start())
	s.sees("ready> ")
	raw := s.settings()
	must(t, s.cmd.Process.Signal(syscall.SIGTSTP))
	waitFor(t, "obsrun to stop", func() bool { return s.state() == "T" })
	if now := s.settings(); now != before {
		t.Errorf("while obsrun is stopped the terminal has %+v, before it had %+v", now, before)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGCONT))
	waitFor(t, "a raw terminal", func() bool { return s.settings() == raw })
	s.types("echo again\r")
	s.sees("again\r\nready> ")
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	if code := s.leaves(); code != 128+15 {
		t.Errorf("after SIGTERM: exit code %d, want 143", code)
	}
	if after := s.settings(); after != before {
		t.Errorf("after SIGTERM the terminal has %+v, before it had %+v", after, before)
	}
}

// state is obsrun's state (proc_pid_stat(5)).
func (s *seat) state() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	must(s.t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// TestNoTerminal: without one the call is wrong, and evidence says so.
func TestNoTerminal(t *testing.T) {
	evidence := filepath.Join(t.TempDir(), "evidence.json")
	args := []string{"exec", "--tty", "--policy", "p", "--release", "/nowhere", "--pins", "/nowhere", "--evidence", evidence}
	for name, more := range map[string][]string{"no terminal": nil, "leave --stdin out": {"--stdin"}} {
		null, err := os.Open("/dev/null")
		must(t, err)
		defer null.Close()
		var stdout, stderr strings.Builder
		code := start(append(append(args, more...), "--", "/bin/true"), null, &stdout, &stderr)
		var e runtime.Evidence
		data, err := os.ReadFile(evidence)
		must(t, err)
		must(t, json.Unmarshal(data, &e))
		if code != runtime.ExitRefused || e.Code != runtime.Input || !strings.Contains(stderr.String(), name) {
			t.Errorf("%q = exit %d, %s, evidence %s", more, code, stderr.String(), data)
		}
	}
}
