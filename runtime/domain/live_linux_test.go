package domain

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/landlock"
)

// TestLiveBelowLooseMounts: the mounts are those of a policy that grants more, the
// domain is that of the one that is meant. What only the mounts kept in it is
// refused by the kernel all the same, from the ABI on that brought the right; what
// the policy allows goes on. The control is the same sandbox without the domain.
func TestLiveBelowLooseMounts(t *testing.T) {
	abi := needABI(t, landlock.ABI)
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Skip("host feature missing: bubblewrap at /usr/bin/bwrap")
	}
	for _, tt := range []struct {
		attempt string
		errno   string // "": allowed
		since   int
	}{
		{"write read/file", "EACCES", 2},
		{"both read/file", "EACCES", 2},
		{"again read/file", "EACCES", 2},
		{"create read/new", "EACCES", 2},
		{"mkdir read/new", "EACCES", 2},
		{"mkfifo read/new", "EACCES", 2},
		{"symlink read/new", "EACCES", 2},
		{"bind read/new", "EACCES", 2},
		{"remove read/file", "EACCES", 2},
		{"rmdir read/empty", "EACCES", 2},
		{"rename read/file read/other", "EACCES", 2},
		{"rename read/file read/empty/file", "EACCES", 2},
		{"link read/file read/other", "EACCES", 2},
		{"unnamed read read/new", "EACCES", 2},
		{"truncate read/file", "EACCES", 3},
		{"overwrite read/file", "EACCES", 2},
		{"read hidden/file", "EACCES", 2},
		{"read hidden", "EACCES", 2},
		{"create hidden/new", "EACCES", 2},
		{"ioctl /dev/ptmx", "EACCES", 5},
		{"both /dev/null", "EACCES", 2},

		{"read read/file", "", 0},
		{"read read", "", 0},
		{"read /dev/null", "", 0},
		{"write write/file", "", 0},
		{"again write/file", "", 0},
		{"overwrite write/file", "", 0},
		{"truncate write/file", "", 0},
		{"create write/new", "", 0},
		{"mkdir write/new", "", 0},
		{"mkfifo write/new", "", 0},
		{"symlink write/new", "", 0},
		{"serve write/new", "", 0},
		{"remove write/file", "", 0},
		{"rmdir write/empty", "", 0},
		{"rename write/file write/empty/file", "", 0},
		{"rename write/empty write/other", "", 0},
		{"link write/file write/empty/file", "", 0},
		{"unnamed write write/empty/new", "", 0},
		{"create /tmp/new", "", 0},
		{"memory -", "", 0},
	} {
		for _, u := range users() {
			t.Run(u.name+"/"+tt.attempt, func(t *testing.T) {
				t.Parallel()
				run := func(level int) string {
					dir := u.tree(t, "read/", "read/file", "read/empty/", "write/", "write/file", "write/empty/", "hidden/", "hidden/file")
					common := []string{"write " + dir + "/write", "only read " + probe, "execute /", "visible", "tmp"}
					meant := compile(t, append([]string{"read " + dir + "/read", "read /dev"}, common...)...)
					loose := compile(t, append([]string{"write " + dir + "/read", "write " + dir + "/hidden", "devices"}, common...)...)
					return u.mounted(t, loose, requested(meant.Landlock, level), inside(dir, tt.attempt))
				}
				if got := run(0); got != "ok" {
					t.Fatalf("control: %s without a domain is %s", tt.attempt, got)
				}
				for level := landlock.ABI; level <= abi; level++ {
					if level != landlock.ABI && level != tt.since-1 && level != tt.since && level != abi {
						continue
					}
					want := "ok"
					if tt.errno != "" && level >= tt.since {
						want = tt.errno
					}
					if got := run(level); got != want {
						t.Errorf("%s behind a domain of ABI %d is %s, want %s", tt.attempt, level, got, want)
					}
				}
			})
		}
	}
}

// inside puts relative paths of an attempt below dir.
func inside(dir, attempt string) string {
	words := strings.Fields(attempt)
	for i, w := range words[1:] {
		if !strings.HasPrefix(w, "/") && w != "-" {
			words[i+1] = filepath.Join(dir, w)
		}
	}
	return strings.Join(words, " ")
}

// TestLiveDevicesAndMemory: behind the domain of the same policy, devices and
// terminals of the minimal /dev and memory file systems are used as ever.
func TestLiveDevicesAndMemory(t *testing.T) {
	abi := needABI(t, landlock.ABI)
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Skip("host feature missing: bubblewrap at /usr/bin/bwrap")
	}
	for _, u := range users() {
		for _, a := range []string{"ioctl /dev/ptmx", "both /dev/ptmx", "both /dev/null", "overwrite /dev/null", "read /dev/urandom", "read /dev", "read /dev/pts",
			"read /proc/self/status", "read /proc/self/fd", "read /dev/stdin", "create /dev/shm/new", "mkdir /tmp/new", "unnamed /tmp /tmp/new", "read /"} {
			t.Run(u.name+"/"+a, func(t *testing.T) {
				t.Parallel()
				p := compile(t, "only read "+probe, "only execute "+probe, "only read /", "devices", "shm", "tmp")
				if got := u.mounted(t, p, requested(p.Landlock, abi), a); got != "ok" {
					t.Errorf("%s is %s", a, got)
				}
			})
		}
	}
}

// TestLiveStandardInput: where a policy has no devices, standard input is the
// machine's /dev/null all the same, and can be opened again, as without a domain.
func TestLiveStandardInput(t *testing.T) {
	abi := needABI(t, landlock.ABI)
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Skip("host feature missing: bubblewrap at /usr/bin/bwrap")
	}
	p := compile(t, "only read "+probe, "only execute "+probe)
	for _, u := range users() {
		for _, level := range []int{0, landlock.ABI, abi} {
			if got := u.mounted(t, p, requested(p.Landlock, level), "read /proc/self/fd/0"); got != "ok" {
				t.Errorf("as %s, behind a domain of ABI %d: opening standard input again is %s", u.name, level, got)
			}
		}
	}
}

// TestLiveScopes: who is in the domain reaches no abstract socket and no process
// outside, and its own as ever. Nothing else is between them here: no sandbox.
func TestLiveScopes(t *testing.T) {
	abi := needABI(t, 6)
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			dir := u.tree(t, "write/")
			name := filepath.Base(dir)
			other := u.command(probe, outsideWord, name)
			input, err := other.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := other.StdoutPipe()
			if err == nil {
				err = other.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { input.Close(); other.Wait() }()
			said := make([]byte, 6)
			if _, err := io.ReadFull(output, said); err != nil || string(said) != "ready\n" {
				t.Fatalf("outside said %q, %v", said, err)
			}
			rules := compile(t, "read /", "write "+dir+"/write", "execute /", "visible").Landlock
			for _, tt := range []struct{ attempt, want string }{
				{"connect @" + name, "EPERM"},
				{"signal " + strconv.Itoa(other.Process.Pid), "EPERM"},
				{"serve @" + name + "-inside", "ok"},
				{"signal 0", "ok"}, // its own process group
			} {
				for level, want := range map[int]string{0: "ok", 5: "ok", 6: tt.want, abi: tt.want} {
					if got := u.alone(t, requested(rules, level), tt.attempt); got != want {
						t.Errorf("%s behind a domain of ABI %d is %s, want %s", tt.attempt, level, got, want)
					}
				}
			}
		})
	}
}

// alone makes the attempt behind the request's domain, in no sandbox.
func (u user) alone(t *testing.T, r *Request, attempt string) string {
	t.Helper()
	cmd := u.command(probe, attemptWord, text(t, r), attempt)
	cmd.SysProcAttr.Setpgid = true
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestLiveStarts: what may start and what may move, where no mount helps.
func TestLiveStarts(t *testing.T) {
	abi := needABI(t, landlock.ABI)
	for _, tt := range []struct{ attempt, want string }{
		{"start bin/probe", ""},
		{"start lib/probe", "EACCES"},
		{"start bin/script", "EACCES"}, // its interpreter is lib/probe
		{"rename a/file b/file", "ok"},
		{"link a/file b/file", "ok"},
		{"rename a/file lib/file", "EACCES"},
		{"rename lib/file lib/other", "EACCES"},
		{"rename a/file bin/file", "EXDEV"}, // more is granted there
	} {
		for _, u := range users() {
			for _, level := range []int{landlock.ABI, abi} {
				t.Run(fmt.Sprintf("%s/%s/ABI %d", u.name, tt.attempt, level), func(t *testing.T) {
					run := func(restricted bool) string {
						dir := u.tree(t, "bin/", "lib/", "a/", "b/", "a/file", "lib/file")
						if strings.HasPrefix(tt.attempt, "start") {
							programs(t, dir)
						}
						rules := compile(t, "read "+dir, "write "+dir+"/a", "write "+dir+"/b", "write "+dir+"/bin", "execute "+dir+"/bin").Landlock
						var r *Request
						if restricted {
							r = requested(rules, level)
						}
						return u.alone(t, r, inside(dir, tt.attempt))
					}
					control := "ok"
					if strings.HasPrefix(tt.attempt, "start") {
						control = "" // what was started says nothing
					}
					if got := run(false); got != control {
						t.Fatalf("control: %s without a domain is %q", tt.attempt, got)
					}
					if got := run(true); got != tt.want {
						t.Errorf("%s is %q, want %q", tt.attempt, got, tt.want)
					}
				})
			}
		}
	}
}

// programs puts this binary into bin and lib, and a script for that in lib into
// bin. Copies: two names of one file would both be what a rule was opened for.
func programs(t *testing.T, dir string) {
	t.Helper()
	program, err := os.ReadFile(probe)
	script := filepath.Join(dir, "bin/script")
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "bin/probe"), program, 0o755), os.WriteFile(filepath.Join(dir, "lib/probe"), program, 0o755),
		os.WriteFile(script, []byte("#!"+dir+"/lib/probe "+startedWord+"\n"), 0o755), os.Chmod(script, 0o755))
	if err != nil {
		t.Fatal(err)
	}
}

// TestLiveFirstABIStopsMoves is why ABI 2 is the lowest: rules that do not handle
// refer refuse every rename into another directory.
func TestLiveFirstABIStopsMoves(t *testing.T) {
	needABI(t, 1)
	for _, u := range users() {
		dir := u.tree(t, "a/", "b/", "a/file")
		first := &Request{Files: landlock.Execute, Size: sizeFiles, Grants: []Grant{{Path: "/", Directory: landlock.Execute}}}
		if got := u.alone(t, first, inside(dir, "rename a/file b/file")); got != "EXDEV" {
			t.Errorf("as %s: renaming under EXECUTE alone is %s, want EXDEV", u.name, got)
		}
		if got := u.alone(t, nil, inside(dir, "rename a/file b/file")); got != "ok" {
			t.Errorf("as %s: renaming without a domain is %s", u.name, got)
		}
	}
}
