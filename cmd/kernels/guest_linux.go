package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	guestWord = "guest"
	bootWord  = "obspc.boot=" // on the kernel's command line
	programs  = "/opt/obspc"
	userID    = 1000
	passwd    = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n"
	group     = "root:x:0:\nuser:x:1000:\n"
	hosts     = "127.0.0.1 localhost\n" // the demo's server, whose address the proxy looks up
)

// first is the guest's PID 1. It makes the machine ready, starts the cases as a
// process of its own, reaps whatever is left to it, and switches the machine off.
func first() {
	err := ready()
	if err == nil {
		err = reap()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernels: guest:", err)
	}
	unix.Sync()
	err = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Fprintln(os.Stderr, "kernels: power off:", err)
	os.Exit(1) // the kernel panics, and QEMU ends
}

func reap() error {
	self, err := os.StartProcess("/init", []string{"/init", guestWord}, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/sbin:/usr/bin"}, Files: []*os.File{nil, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == nil && pid == self.Pid {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// ready mounts what a system has. The root comes first: below the initial one
// pivot_root(2) works for nobody, so it is bound over itself.
func ready() error {
	if err := errors.Join(
		os.MkdirAll("/mnt", 0o755),
		unix.Mount("/", "/mnt", "", unix.MS_BIND, ""),
		unix.Chdir("/mnt"),
		unix.Mount(".", "/", "", unix.MS_MOVE, ""),
		unix.Chroot("."),
		unix.Chdir("/"),
	); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	for _, m := range []struct{ kind, at, options string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devtmpfs", "/dev", "mode=0755"},
		{"devpts", "/dev/pts", "mode=0620,ptmxmode=0666"},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"tmpfs", "/run", "mode=0755"},
		{"tmpfs", "/tmp", "mode=1777"},
		{"tmpfs", "/var/tmp", "mode=1777"},
		{"cgroup2", "/sys/fs/cgroup", ""},
	} {
		err := os.MkdirAll(m.at, 0o755)
		if err == nil {
			err = unix.Mount(m.kind, m.at, m.kind, unix.MS_NOSUID, m.options)
		}
		if err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	if err := os.Chown("/home/user", userID, userID); err != nil {
		return err
	}
	return loopback()
}

// loopback switches the loopback interface on.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// guest runs the cases of this boot, and reports each on the second serial line.
func guest() {
	if err := cases(); err != nil {
		fmt.Fprintln(os.Stderr, "kernels: guest:", err)
		os.Exit(1)
	}
}

func cases() error {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	var b *boot
	for _, word := range strings.Fields(string(line)) {
		if name, ok := strings.CutPrefix(word, bootWord); ok {
			b = bootNamed(name)
		}
	}
	if b == nil {
		return fmt.Errorf("no boot of the table on the command line %q", line)
	}
	if err := os.WriteFile("/opt/cases.policy.hcl", []byte(policiesText), 0o644); err != nil {
		return err
	}
	serial, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	for i, t := range b.cases {
		r := report{Case: t.name()}
		if err := r.about(t); err != nil {
			r.Fault = err.Error()
		}
		line, err := reportLine(i, len(b.cases), r)
		if err != nil {
			return err
		}
		if _, err := serial.Write(line); err != nil {
			return err
		}
	}
	// Until all of it has left the machine (tcdrain(3)).
	return unix.IoctlSetInt(int(serial.Fd()), unix.TCSBRK, 1)
}

// about runs one case.
func (r *report) about(t trial) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	r.Kernel = unix.ByteSliceToString(name.Release[:])
	version, err := exec.Command("/usr/bin/bwrap", "--version").Output()
	if err != nil {
		return err
	}
	r.Bwrap = strings.TrimPrefix(strings.TrimSpace(string(version)), "bubblewrap ")
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 {
		r.ABI = int(abi)
	}
	s, err := newStage(t)
	if err != nil {
		return err
	}
	err = s.fill(r)
	return errors.Join(err, s.close())
}

// fill asks all that there is to ask.
func (s *stage) fill(r *report) error {
	var err error
	if r.Doctor, err = s.run("obsrun", "doctor", "--format", "json"); err != nil {
		return err
	}
	r.Runs = map[string]ran{}
	for _, name := range policyNames {
		if r.Runs[name], err = s.policy(name); err != nil {
			return err
		}
	}
	if s.trial.demo {
		demo, err := s.run("obspc-demo", "-bin", programs)
		if err != nil {
			return err
		}
		r.Demo = &demo
	}
	if len(s.trial.tests) > 0 {
		tests, err := s.run("runtime.test", "-test.v", "-test.run=^("+strings.Join(s.trial.tests, "|")+")$")
		if err != nil {
			return err
		}
		r.Tests = &tests
	}
	return nil
}

// policy is one run of a program that does nothing.
func (s *stage) policy(name string) (ran, error) {
	file := filepath.Join(s.home, "evidence.json")
	out, err := s.run("obspc", "exec", "/opt/cases.policy.hcl", "--policy", name, "--evidence", file, "--", "/usr/bin/true")
	if err != nil {
		return out, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return out, fmt.Errorf("%w\n%s", err, out.Stderr)
	}
	evidence := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &evidence); err != nil {
		return out, err
	}
	delete(evidence, "facts")
	if out.Evidence, err = json.Marshal(evidence); err != nil {
		return out, err
	}
	return out, os.Remove(file)
}

// maxShown bounds each stream in a report, in bytes: the end of it.
const maxShown = 16 << 10

// run is one program as the caller of the case.
func (s *stage) run(program string, args ...string) (ran, error) {
	cmd := exec.Command(filepath.Join(programs, program), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, s.home
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.home, "TMPDIR=" + s.tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.trial.as == user {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: userID, Gid: userID}
	}
	if s.group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(s.group.Fd())
	}
	start := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ran{}, fmt.Errorf("%s: %w", program, err)
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("kernels: %s: %s: exit %d, %.1f s\n", s.trial.name(), program, cmd.ProcessState.ExitCode(), seconds)
	return ran{Exit: cmd.ProcessState.ExitCode(), Stdout: tail(stdout.String()), Stderr: tail(stderr.String()), Seconds: seconds}, nil
}

func tail(text string) string { return text[max(0, len(text)-maxShown):] }
