package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probeWord makes the test's own binary attempt something and say what came of
// it. The same attempt outside the sandbox is the control.
const probeWord = "obspc-probe"

// probe attempts words[0] on the rest and prints "ok", or the errno's name.
func probe(words []string) int {
	if len(words) == 0 {
		return 99
	}
	attempt, ok := attempts[words[0]]
	if !ok {
		fmt.Println("no such attempt")
		return 99
	}
	if err := attempt(words[1:]); err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			fmt.Println(unix.ErrnoName(errno))
		} else {
			fmt.Println(err)
		}
		return 1
	}
	fmt.Println("ok")
	return 0
}

var attempts = map[string]func([]string) error{
	"read":   func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"list":   func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"stat":   func(a []string) error { _, err := os.Lstat(a[0]); return err },
	"write":  func(a []string) error { return touch(a[0], os.O_WRONLY) },
	"create": func(a []string) error { return touch(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL) },
	"retry-create": func(a []string) error {
		for {
			if err := touch(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL); !errors.Is(err, unix.EEXIST) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	},
	"limit-first": func([]string) error {
		return unix.Prlimit(1, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 3600, Max: 3600}, nil)
	},
	// loosen gives directories the mode 0755 and goes on as retry-create.
	"loosen": func(a []string) error {
		for _, dir := range a[:2] {
			if err := os.Chmod(dir, 0o755); err != nil {
				return err
			}
		}
		for {
			if err := touch(a[2], os.O_WRONLY|os.O_CREATE|os.O_EXCL); !errors.Is(err, unix.EEXIST) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	},
	// insist makes a file and what leads to it, and tries again for a while.
	"insist": func(a []string) (err error) {
		for until := time.Now().Add(800 * time.Millisecond); time.Now().Before(until); time.Sleep(time.Millisecond) {
			os.MkdirAll(filepath.Dir(a[0]), 0o755)
			if err = touch(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
				return nil
			}
		}
		return err
	},
	"remove": func(a []string) error { return os.Remove(a[0]) },
	"rename": func(a []string) error { return os.Rename(a[0], a[1]) },
	"link":   func(a []string) error { return os.Link(a[0], a[1]) },
	"chmod": func(a []string) error {
		mode, err := strconv.ParseUint(a[1], 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(a[0], os.FileMode(mode))
	},
	"execute": func(a []string) error {
		cmd := exec.Command(a[0], a[1:]...)
		cmd.Stderr = os.Stderr
		return cmd.Run()
	},
	"connect": func(a []string) error {
		c, err := net.DialTimeout(a[0], a[1], 3*time.Second)
		if err == nil {
			c.Close()
		}
		return err
	},
	"unshare": func([]string) error {
		cmd := exec.Command("/proc/self/exe", probeWord, "sleep", "0s")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"mount": func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") },
	"remount": func(a []string) error {
		return unix.Mount("none", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "")
	},
	"fill": func(a []string) error {
		n, err := strconv.Atoi(a[0])
		if err == nil {
			_, err = io.CopyN(os.Stdout, endless{}, int64(n))
		}
		return err
	},
	"print": func(a []string) error {
		fmt.Fprintln(os.Stdout, strings.Join(a, " "))
		os.Exit(0)
		return nil
	},
	"descriptors": func([]string) error { return listDescriptors() },
	"environment": func([]string) error {
		env := os.Environ()
		sort.Strings(env)
		fmt.Println(strings.Join(env, "\n"))
		return nil
	},
	"read-init": func([]string) error {
		text, err := os.ReadFile("/proc/1/cmdline")
		fmt.Printf("%q\n", text)
		return err
	},
	"look-into": func(a []string) error {
		for _, name := range []string{"mem", "environ", "fd"} {
			if err := touch(filepath.Join("/proc", a[0], name), os.O_RDONLY); err != nil {
				return err
			}
		}
		return nil
	},
	"open-write":   func(a []string) error { return touch(a[0], os.O_WRONLY|unix.O_NONBLOCK) },
	"open-both":    func(a []string) error { return touch(a[0], os.O_RDWR|unix.O_NOCTTY) },
	"open-unnamed": func(a []string) error { return touch(a[0], os.O_RDWR|unix.O_TMPFILE) },
	"terminal": func([]string) error {
		f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0)
		}
		if err != nil {
			return err
		}
		return touch(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY)
	},
	"limit": func(a []string) error {
		n, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		var l unix.Rlimit
		err = unix.Getrlimit(n, &l)
		fmt.Println(l.Cur)
		return err
	},
	"status": func([]string) error {
		text, err := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") || strings.HasPrefix(line, "Seccomp:") {
				fmt.Print(line)
			}
		}
		return err
	},
	// stamp writes the time again and again, so that whoever kills it knows when it
	// last ran.
	"stamp": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_CREATE|os.O_WRONLY, 0o600)
		for err == nil {
			var now unix.Timespec
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
			_, err = f.WriteAt(fmt.Appendf(nil, "%020d", now.Nano()), 0)
		}
		return err
	},
	"sleep":         func(a []string) error { d, err := time.ParseDuration(a[0]); time.Sleep(d); return err },
	"beside":        beside,
	"forks":         forks,
	"deep":          deep,
	"shut-and-stay": shutAndStay,
	"bushy":         bushyProbe,
}

func touch(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// listDescriptors prints every descriptor that was open when this process began
// and what it leads to. Go's own are told by their kinds.
func listDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if target != "" && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") {
			fmt.Println(e.Name(), target)
		}
	}
	return err
}

// beside starts a process that outlives this one, with a mark in its arguments.
func beside(a []string) error {
	cmd := exec.Command("/proc/self/exe", probeWord, "sleep", "60s", a[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = os.Stdout
	return cmd.Start()
}

// forks starts processes that start processes, until one of them is killed.
func forks(a []string) error {
	for range 8 {
		if err := beside(a); err != nil {
			break
		}
	}
	time.Sleep(time.Minute)
	return nil
}

// deep leaves a tree that is hard to remove.
func deep(a []string) error {
	if err := os.Chdir(a[0]); err != nil {
		return err
	}
	for range 500 {
		if err := os.Mkdir("deeper", 0o700); err != nil {
			return err
		}
		if err := os.Chdir("deeper"); err != nil {
			return err
		}
	}
	if err := touch("file", os.O_CREATE|os.O_WRONLY); err != nil {
		return err
	}
	return os.Chmod(".", 0)
}

// bushyProbe leaves many directories in the workspace, says so, and stays.
func bushyProbe(a []string) error {
	for i := range 200 {
		if err := os.MkdirAll(filepath.Join(strconv.Itoa(i), "x"), 0o700); err != nil {
			return err
		}
	}
	if err := touch(a[0], os.O_CREATE|os.O_WRONLY); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return nil
}

// TestAttempts: two attempts of one name would be one of them, whoever asks for it.
func TestAttempts(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^\tattempts\["([^"]+)"\] = |^\t"([^"]+)": +func\(`).FindAllSubmatch(text, -1) {
			name := string(m[1]) + string(m[2])
			if before, twice := seen[name]; twice {
				t.Errorf("%s and %s both have an attempt %q", before, file, name)
			}
			seen[name] = file
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d attempts were found", len(seen))
	}
}
