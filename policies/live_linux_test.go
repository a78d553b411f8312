package policies_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/obspc/obspc/runtime"
)

//go:embed testdata/programs.policy.hcl
var programPolicies []byte

// binVariable names a directory of obspc and obsrun. With it this test's binary
// runs where there is no Go, on another system's files (scripts/layouts).
const binVariable = "OBSPC_BIN"

// programsVariable makes a program that is not installed a failure: where all of
// them are installed (make programs) nothing is skipped.
const programsVariable = "OBSPC_PROGRAMS"

// lab is a directory outside /tmp, which a sandbox with a private one hides.
type lab struct {
	dir, bin, policies string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		t.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
	dir, err := os.MkdirTemp("/var/tmp", "obspc-policies-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &lab{dir, os.Getenv(binVariable), filepath.Join(dir, "programs.policy.hcl")}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.policies, programPolicies, 0o644); err != nil {
		t.Fatal(err)
	}
	if l.bin != "" {
		return l
	}
	l.bin = filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", l.bin+"/", "../cmd/obspc", "../cmd/obsrun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return l
}

// users are this user, and an unprivileged one beside root.
func users() []*syscall.Credential {
	if os.Geteuid() == 0 {
		return []*syscall.Credential{nil, {Uid: 65534, Gid: 65534}}
	}
	return []*syscall.Credential{nil}
}

func userName(c *syscall.Credential) string {
	if c != nil {
		return "unprivileged"
	}
	return "self"
}

// where lists the places of programs.
var where = []string{"/usr/local/go/bin", "/usr/lib/go/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// realPaths finds programs, the first of which is started; it skips the test when
// one is missing, unless all have to be there.
func realPaths(t *testing.T, names ...string) []string {
	t.Helper()
	var out []string
	for _, name := range names {
		i := slices.IndexFunc(where, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
		if i < 0 && os.Getenv(programsVariable) != "" {
			t.Fatalf("%s is not installed, and %s wants every program", name, programsVariable)
		}
		if i < 0 {
			t.Skip("host feature missing: the program " + name)
		}
		real, err := filepath.EvalSymlinks(filepath.Join(where[i], name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(out, real) { // one busybox is many programs
			out = append(out, real)
		}
	}
	return out
}

// run starts a command in a new directory of the user's own, with what the
// runtime adds to an environment, and returns stdout, stderr and the exit code.
func (l *lab) run(t *testing.T, who *syscall.Credential, command []string) (stdout, stderr string, code int) {
	t.Helper()
	work := l.work(t, who)
	defer os.RemoveAll(work)
	return l.runIn(t, who, work, command)
}

// work is a new directory of the user's own, by the same name outside and inside.
func (l *lab) work(t *testing.T, who *syscall.Credential) string {
	t.Helper()
	work := filepath.Join(l.dir, "w")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if who != nil {
		if err := os.Chown(work, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

// runIn is run in a directory that is there.
func (l *lab) runIn(t *testing.T, who *syscall.Credential, work string, command []string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + work, "TMPDIR=/tmp", "PATH=" + strings.Join(where, ":")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("%q: %v", command, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// inside is the command line that runs command under one of the policies.
func (l *lab) inside(policy string, programs, command []string) []string {
	list := strings.ReplaceAll(fmt.Sprintf("%q", programs), `" "`, `","`)
	return append([]string{
		filepath.Join(l.bin, "obspc"), "exec", l.policies, "--policy", policy, "--var", "programs=" + list, "--",
	}, command...)
}

// TestLivePrograms holds ordinary programs to the same words inside as outside.
func TestLivePrograms(t *testing.T) {
	l := newLab(t)
	for _, who := range users() {
		for _, p := range ordinary {
			t.Run(userName(who)+"/"+p.name, func(t *testing.T) {
				programs := realPaths(t, append([]string{"sh"}, p.programs...)...)
				command := []string{programs[0], "-euc", "exec 2>&1\n" + p.script, p.name}
				want, stderr, code := l.run(t, who, command)
				if code != 0 || want == "" {
					t.Fatalf("control of %s: exit %d, %s%s", p.name, code, want, stderr)
				}
				got, stderr, code := l.run(t, who, l.inside(p.policy, programs, command))
				if code != 0 || got != want {
					t.Errorf("%s inside: exit %d, %s, want %s\n%s", p.name, code, got, want, stderr)
				}
			})
		}
	}
}

// TestLiveBaseRefuses reads what std/base leaves out, by users who may.
func TestLiveBaseRefuses(t *testing.T) {
	l := newLab(t)
	programs := realPaths(t, "cat", "ls")
	for _, who := range users() {
		counted := 0
		for _, command := range [][]string{
			{"cat", "/etc/debian_version"}, {"cat", "/etc/fstab"}, {"cat", "/etc/shadow"}, {"ls", "/etc"},
			{"ls", "/home"}, {"ls", "/root"}, {"ls", "/run"}, {"ls", "/var/lib"}, {"ls", "/srv"}, {"ls", "/opt"}, {"ls", "/usr"},
			{"ls", "/usr/local"}, {"ls", "/usr/share"}, {"ls", "/var/tmp"}, {"cat", "/sys/devices/system/cpu/online"},
		} {
			command[0] = realPaths(t, command[0])[0]
			if _, _, code := l.run(t, who, command); code != 0 {
				continue // the control: this user may not, or it is not there
			}
			counted++
			stdout, stderr, code := l.run(t, who, l.inside("programs", programs, command))
			refused := strings.Contains(stderr, "Permission denied") || strings.Contains(stderr, "No such file or directory")
			if code == 0 || code >= 124 || stdout != "" || !refused {
				t.Errorf("%s: %q inside: exit %d, %s%s, want a refusal", userName(who), command, code, stdout, stderr)
			}
		}
		if counted < 10 {
			t.Errorf("%s: %d refusals had a control, want at least 10", userName(who), counted)
		}
	}
}
