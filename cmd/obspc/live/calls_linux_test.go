package live

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/syscalls"
)

// TestCallTables: what the tables name, some architecture has, and nothing is in both.
func TestCallTables(t *testing.T) {
	for name := range unmade {
		if _, both := given[name]; both || len(syscalls.On(name)) == 0 {
			t.Errorf("%s: in both tables %v, on %q", name, both, syscalls.On(name))
		}
	}
	for name := range given {
		if len(syscalls.On(name)) == 0 {
			t.Errorf("no architecture has %s", name)
		}
	}
	// Where a part of a call is refused, the attempt is another part.
	for _, r := range syscalls.Refused() {
		if _, ok := given[r.Call]; !ok && r.Part != syscalls.All {
			t.Errorf("%s is made with arguments that are refused: %s", r.Call, r.Part)
		}
	}
}

// TestEveryCall makes each call that is tried, in a process without capabilities:
// each ends, nothing is done, and of most the kernel says what no filter says.
func TestEveryCall(t *testing.T) {
	told := 0
	for _, name := range syscalls.Names() {
		if callCannot(name) != "" {
			continue
		}
		ctx, stop := context.WithTimeout(context.Background(), AttemptTime)
		cmd := exec.CommandContext(ctx, os.Args[0], attemptWord, "syscall", name)
		cmd.Dir = t.TempDir()
		// Of its user namespace it has all capabilities, of the machine none.
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		out, err := cmd.Output()
		stop()
		if err != nil && strings.Contains(err.Error(), "fork/exec") {
			t.Skipf("host feature missing: user namespaces (%v)", err)
		}
		errno, parsed := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || parsed != nil {
			t.Errorf("%s: %v, it prints %q", name, err, out)
		}
		if e := syscall.Errno(errno); e != unix.EPERM && e != unix.ENOSYS {
			told++
		}
	}
	if told < 250 {
		t.Errorf("of %d calls the kernel says what no filter says, want 250", told)
	}
}
