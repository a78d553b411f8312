package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// standIns are what a bubblewrap may do wrong, by the name of its file. The
// test's own binary plays them: TestMain asks standIn first.
var standIns = map[string]func() int{
	"bwrap-apparmor": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: setting up uid map: Permission denied")
		return 1
	},
	"bwrap-forbidden": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.")
		return 1
	},
	"bwrap-loopback": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted")
		return 1
	},
	"bwrap-exhausted": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)")
		return 1
	},
	"bwrap-old-exhausted": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: Creating new namespace failed: No space left on device")
		return 1
	},
	"bwrap-unfiltered": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: prctl(PR_SET_SECCOMP): Operation not permitted")
		return 1
	},
	"bwrap-ancient": func() int {
		fmt.Fprintln(os.Stderr, "bwrap: Unknown option --disable-userns")
		return 1
	},
	"bwrap-silent": func() int { return 1 },
	"bwrap-lies": func() int {
		// Names a process that is not the sandbox's: nobody may kill that.
		unix.Write(runtime.StatusFD, []byte(fmt.Sprintf("{\"child-pid\": %d}\n", os.Getppid())))
		return 1
	},
	"bwrap-claims": func() int {
		unix.Write(runtime.StatusFD, []byte("{\"exit-code\": 0}\n"))
		return 0
	},
	"bwrap-garbage": func() int {
		unix.Write(runtime.StatusFD, []byte("}{\n"))
		return 0
	},
}

// standIn plays the part that the file's name says.
func standIn() {
	path, err := os.Readlink("/proc/self/exe")
	if play := standIns[filepath.Base(path)]; err == nil && play != nil && len(os.Args) > 1 && os.Args[1] == "--args" {
		os.Exit(play())
	}
}

// standInAt puts the test's own binary at a place that only root can change.
func standInAt(t *testing.T, name string, mode os.FileMode) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to make a program that only root can change")
	}
	path := filepath.Join(labDir(t), name)
	text, err := os.ReadFile(probePath)
	must(t, err)
	must(t, os.WriteFile(path, text, 0o755))
	must(t, os.Chmod(path, mode))
	return path
}

func with(t *testing.T, bwrap string) ran {
	t.Helper()
	return start(t, context.Background(), development(t, policy(t, plain)), runtime.Job{
		Argv: []string{probePath, probeWord, "stat", "."}, Development: true, Workspace: runtime.Workspace{Fresh: true}, Bwrap: bwrap,
	})
}

// TestLiveFailingBwrap: a set-up that fails is told from the command's own exit 1.
func TestLiveFailingBwrap(t *testing.T) {
	needSandbox(t)
	for name, says := range map[string]string{
		"bwrap-apparmor": "AppArmor", "bwrap-forbidden": "unprivileged_userns_clone", "bwrap-loopback": "AppArmor",
		"bwrap-silent": "said nothing", "bwrap-lies": "said nothing", "bwrap-claims": "said nothing", "bwrap-garbage": "no JSON",
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t, standInAt(t, name, 0o755))
			refusal := r.refusal()
			if refusal == nil || r.Exit != runtime.ExitRefused || r.Evidence.Outcome != runtime.SetupFailed || refusal.Code != runtime.Machine ||
				!strings.Contains(refusal.Error(), says) || !r.Evidence.Cleanup.WorkspaceRemoved {
				t.Errorf("want set-up failed, saying %q; %s", says, r)
			}
		})
	}
}

// TestLiveBwrapRefused: one that somebody else could replace, or that is setuid.
func TestLiveBwrapRefused(t *testing.T) {
	needSandbox(t)
	if r := with(t, ""); r.Exit != 0 {
		t.Fatalf("the default: %s", r)
	}
	refusedWith(t, with(t, "/no/such/bwrap"), runtime.Machine, "/no/such/bwrap", "apt install bubblewrap")
	refusedWith(t, with(t, "bwrap"), runtime.Input, "not absolute")
	refusedWith(t, with(t, "/usr/bin"), runtime.Machine, "no regular file")
	for _, tt := range []struct {
		name, says string
		change     func(path string) error
	}{
		{"setuid", "is setuid", func(p string) error { return os.Chmod(p, 0o4755|os.ModeSetuid) }},
		{"others write", "others may write to it", func(p string) error { return os.Chmod(p, 0o777) }},
		{"somebody's", "belongs to user 65534", func(p string) error { return os.Chown(p, 65534, 65534) }},
		{"somebody's directory", "its directory", func(p string) error { return os.Chown(filepath.Dir(p), 65534, 65534) }},
		{"open directory", "others may write to its directory", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }},
		{"not executable", "not executable", func(p string) error { return os.Chmod(p, 0o644) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := standInAt(t, "bwrap-silent", 0o755)
			must(t, tt.change(path))
			refusedWith(t, with(t, path), runtime.Machine, path, tt.says)
		})
	}
}
