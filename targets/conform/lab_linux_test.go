package conform

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// TestMain lets the test's own binary be what obsrun is inside a sandbox, the
// victim there, and one caller's half of the test.
func TestMain(m *testing.M) {
	switch {
	case runtime.IsFirst(os.Args):
		runtime.First(os.Args)
	case len(os.Args) > 1 && os.Args[1] == victimWord:
		os.Exit(victim())
	case os.Getenv(labVariable) != "":
		if err := becomeCaller(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// Variables that tell a child which caller it is.
const (
	labVariable  = "OBSPC_CONFORM_LAB"  // the caller's directory
	userVariable = "OBSPC_CONFORM_USER" // whom to become, still to be done
	homeVariable = "OBSPC_CONFORM_HOME" // the user database can be changed: the slot home is tested
)

// nobody is an ordinary user that no machine gives anything to.
const nobody = 65534

// becomeCaller makes the user database one that the test writes, as only it tells
// where a home is, and then becomes the user. It is a mount of this process and
// its children only.
func becomeCaller() error {
	user, pending := os.LookupEnv(userVariable)
	if !pending {
		return nil
	}
	os.Unsetenv(userVariable)
	if err := unix.Mount(passwdPath(), "/etc/passwd", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("put a user database in place: %w", err)
	}
	uid, err := strconv.Atoi(user)
	if err != nil || uid == os.Getuid() {
		return err
	}
	for _, drop := range []error{unix.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid)} {
		if drop != nil {
			return drop
		}
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

func passwdPath() string { return filepath.Join(os.Getenv(labVariable), "passwd") }

// caller is who runs half of the policies.
type caller struct {
	name string
	uid  int
	home bool
}

// callers are this user, and an ordinary one beside root.
func callers() []caller {
	if os.Getuid() != 0 {
		return []caller{{"self", os.Getuid(), false}}
	}
	return []caller{{"root", 0, true}, {"nobody", nobody, true}}
}

// policiesOf is how many policies each caller has to run, and how many are drawn
// for that: the machine's state refuses some. A soak draws as many as its time
// lets run.
func policiesOf(callers int) (run, draw int) {
	run = 210 / callers
	if os.Getenv(soakVariable) != "" {
		return run, 1_000_000
	}
	return run, run * 2
}

// soakVariable is how long policies are drawn ("90m"), instead of a number of them.
const soakVariable = "OBSPC_SOAK"

// TestModelAgainstKernel runs generated policies in real sandboxes: what the kernel
// does, what the policy means and what the model of the artifacts says agree on
// every request (design 10). Each caller is a process of its own; all run at once.
func TestModelAgainstKernel(t *testing.T) {
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		t.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
	who := callers()
	run, draw := policiesOf(len(who))
	mixes := make([]*Mix, len(who))
	var work sync.WaitGroup
	for i, c := range who {
		work.Go(func() { mixes[i] = runAs(t, c, draw) })
	}
	work.Wait()
	total := &Mix{}
	for i, m := range mixes {
		if m == nil {
			continue
		}
		t.Logf("as %s: %s", who[i].name, m)
		for _, short := range m.Short(run) {
			t.Errorf("as %s: %s", who[i].name, short)
		}
		total.Join(m)
	}
	t.Logf("in all: %s", total)
}

// runAs runs the policies of one caller and returns what was tried; nil when that
// failed.
func runAs(t *testing.T, c caller, draw int) *Mix {
	lab, err := makeLab(c)
	defer os.RemoveAll(lab)
	if err != nil {
		t.Error(err)
		return nil
	}
	cmd := exec.Command(filepath.Join(lab, "victim"), "-test.run=^TestCaller$", "-test.v", "-test.timeout=0",
		"-rapid.checks="+strconv.Itoa(draw), "-rapid.nofailfile")
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() != "0" {
		cmd.Args = append(cmd.Args, "-rapid.seed="+f.Value.String())
	}
	cmd.Dir = "/"
	cmd.Env = []string{labVariable + "=" + lab, "PATH=/usr/bin:/bin", "TMPDIR=" + lab, soakVariable + "=" + os.Getenv(soakVariable)}
	if c.home {
		cmd.Env = append(cmd.Env, homeVariable+"=1", userVariable+"="+strconv.Itoa(c.uid))
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as %s: %v\n%s", c.name, err, text)
		return nil
	}
	data, err := os.ReadFile(mixPath(lab))
	mix := &Mix{}
	if err == nil {
		err = json.Unmarshal(data, mix)
	}
	if err != nil {
		t.Errorf("as %s: %v\n%s", c.name, err, text)
		return nil
	}
	return mix
}

func mixPath(lab string) string { return filepath.Join(lab, "mix.json") }

// makeLab makes a caller's directory, outside /tmp, which a sandbox with a tmp
// slot does not show: a copy of this binary that everyone may start, a user
// database, and the tree, which belongs to the caller.
func makeLab(c caller) (string, error) {
	lab, err := os.MkdirTemp("/var/tmp", "obspc-conform-")
	if err != nil {
		return lab, err
	}
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return lab, err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(lab, "victim"), text, 0o755), os.Chmod(filepath.Join(lab, "victim"), 0o755),
		os.WriteFile(filepath.Join(lab, "passwd"), nil, 0o644), os.WriteFile(mixPath(lab), nil, 0o644),
		os.Mkdir(filepath.Join(lab, "tree"), 0o755), os.Chmod(lab, 0o755))
	for _, name := range []string{"passwd", "tree", "mix.json"} {
		err = errors.Join(err, os.Chown(filepath.Join(lab, name), c.uid, c.uid))
	}
	return lab, err
}

// wantHome makes dir the home of this user.
func wantHome(dir string) error {
	line := fmt.Sprintf("conform:x:%d:%d::%s:/bin/sh\n", os.Getuid(), os.Getgid(), dir)
	have, err := os.ReadFile(passwdPath())
	if err != nil || strings.TrimSpace(string(have)) == strings.TrimSpace(line) {
		return err
	}
	return os.WriteFile(passwdPath(), []byte(line), 0o644)
}
