package seccomp

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	for name, probe := range map[string]func() error{
		"chmod plain": func() error { return withFile(func(at string, _ int) error { return unix.Chmod(at, 0o755) }) },
		"chmod group": func() error { return withFile(func(at string, _ int) error { return unix.Chmod(at, 0o2755) }) },
		"open plain": func() error {
			return makeAt(func(at string) error { return opened(unix.Open(at, unix.O_CREAT, 0o755)) })
		},
		"open, no file": func() error { return opened(unix.Open("/tmp", unix.O_RDONLY, 0o4755)) },
		"mkdir":         func() error { return makeAt(func(at string) error { return unix.Mkdir(at, 0o4755) }) },
	} {
		probes[name] = probe
	}
}

// raw makes a call whose answer is an error number or nothing of interest.
func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func addKey() error {
	_, err := unix.AddKey("user", "obspc-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	return err
}

// requestKey asks for a key that is there, so that nobody starts a program to
// make one.
func requestKey() error {
	if err := addKey(); err != nil {
		return err
	}
	_, err := unix.RequestKey("user", "obspc-test", "", 0)
	return err
}

func keyctl() error {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
	return err
}

func copyOwnMemory(nr uintptr) error {
	from, to := byte(1), byte(0)
	source := unix.Iovec{Base: &from, Len: 1}
	target := unix.Iovec{Base: &to, Len: 1}
	return raw(nr, uintptr(os.Getpid()), uintptr(unsafe.Pointer(&target)), 1, uintptr(unsafe.Pointer(&source)), 1, 0)
}

func getfd() error {
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	return opened(unix.PidfdGetfd(pidfd, 0, 0))
}

func opened(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func makeAt(do func(at string) error) error {
	dir, err := os.MkdirTemp("/tmp", "obspc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return do(filepath.Join(dir, "x"))
}

func withFile(do func(at string, fd int) error) error {
	return makeAt(func(at string) error {
		file, err := os.Create(at)
		if err != nil {
			return err
		}
		defer file.Close()
		return do(at, int(file.Fd()))
	})
}

// TestLiveKept makes calls beside those that are refused, which stay: each without the
// filter, the control, and under it.
func TestLiveKept(t *testing.T) {
	for caller, s := range callers(t) {
		for _, probe := range []string{"chmod plain", "chmod group", "open plain", "open, no file", "mkdir", "unshare own files"} {
			t.Run(caller+" "+probe, func(t *testing.T) {
				if got := s.run(t, nil, probe); got != "done" {
					t.Skipf("host feature missing: leave to make the call (%s)", got)
				}
				for word, p := range sockets {
					if got := s.run(t, p, probe); got != "done" {
						t.Errorf("%s under unix %s = %q, want it done", probe, word, got)
					}
				}
			})
		}
	}
}

// TestLivePrograms starts interpreters, compilers and archivers under the filter:
// what it refuses are calls that ordinary programs do without.
func TestLivePrograms(t *testing.T) {
	callers(t) // or skips
	for _, tt := range [][]string{
		{"python3", "-c", "import subprocess, threading, multiprocessing; print(subprocess.run(['true']).returncode)"},
		{"node", "-e", "require('child_process').execSync('true'); console.log(process.version)"},
		{"java", "-version"},
		{"go", "list", "-deps", "net/http"},
		{"tar", "-C", "/usr/share/zoneinfo", "-cf", "/dev/null", "."},
		{"sh", "-c", "mkdir -p /tmp/a/b && chmod g+s /tmp/a/b && cp -a /tmp/a /tmp/c && tar -C /tmp -cpf /tmp/t c && mkdir /tmp/d && tar -C /tmp/d -xpf /tmp/t"},
		{"git", "init", "--shared", "/tmp/repository"},
	} {
		t.Run(tt[0], func(t *testing.T) {
			program, err := exec.LookPath(tt[0])
			if err != nil {
				t.Skipf("host feature missing: the program %s", tt[0])
			}
			if out, err := underFilter(t, program, tt[1:]...); err != nil {
				t.Errorf("%s = %v, %s", strings.Join(tt, " "), err, out)
			}
		})
	}
}

// underFilter runs a program with all of this machine readable and /tmp its own.
func underFilter(t *testing.T, program string, args ...string) ([]byte, error) {
	t.Helper()
	filter := memory(t, Compile(sockets["none"], hostArch(t)).Bytes())
	defer filter.Close()
	options := []string{
		"--unshare-user", "--unshare-pid", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/tmp", "--seccomp", "3", "--chdir", "/tmp", "--setenv", "HOME", "/tmp", "--", program,
	}
	cmd := exec.Command("/usr/bin/bwrap", append(options, args...)...)
	cmd.ExtraFiles = []*os.File{filter}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.Bytes(), err
}
