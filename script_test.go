package obspc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs builds both programs once for the scripts, as make build does, where
// any user can start them.
func programs(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", dir+string(filepath.Separator), "./cmd/obspc", "./cmd/obsrun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return dir
}

// nobody is the user that scripts with "user nobody" run as: uid 65534 has no
// rights on any Debian, Ubuntu or macOS system.
const nobody = 65534

// TestScripts runs every testdata/script/*.txtar: exit codes, streams and files
// of both programs as a user sees them. Scripts of the folder live start
// sandboxes; as root they run a second time as an unprivileged user.
func TestScripts(t *testing.T) {
	if os.Getenv("OBSPC_UPDATE") == "1" {
		t.Error("the scripts' own files are rewritten where they differ; read the diff, then run without OBSPC_UPDATE")
	}
	bin := programs(t)
	t.Run("any", func(t *testing.T) { runScripts(t, bin, "testdata/script", os.Getuid()) })
	if runtime.GOOS != "linux" {
		t.Skip("host feature missing: Linux")
	}
	t.Run("live", func(t *testing.T) { runScripts(t, bin, "testdata/script/live", os.Getuid()) })
	if os.Getuid() == 0 {
		t.Run("live-unprivileged", func(t *testing.T) { runScripts(t, bin, "testdata/script/live", nobody) })
	}
}

func runScripts(t *testing.T, bin, dir string, uid int) {
	work, err := os.MkdirTemp("/var/tmp", "obspc-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	if err := os.Chmod(work, 0o755); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		WorkdirRoot:         work,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("OBSPC_UPDATE") == "1",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":/usr/sbin:/usr/bin:/sbin:/bin")
			env.Setenv("HOME", env.WorkDir)
			return chownTree(env.WorkDir, uid)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   func(ts *testscript.TestScript, neg bool, args []string) { runWithCode(ts, neg, args, uid) },
			"reseal": reseal,
		},
	})
}

// chownTree gives the script's files to the user it runs as.
func chownTree(dir string, uid int) error {
	if uid == os.Getuid() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
}

// runWithCode is `code N PROGRAM ARG…`: it runs the program as the script's user
// and fails unless the exit code is N. What it printed is in the script's stdout
// and stderr.
func runWithCode(ts *testscript.TestScript, neg bool, args []string, uid int) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	program, err := lookPath(ts, args[1])
	ts.Check(err)
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir = ts.Getenv("PWD")
	if dir := ts.MkAbs("."); dir != "" {
		cmd.Dir = dir
	}
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "NO_COLOR=" + ts.Getenv("NO_COLOR")}
	if password := ts.Getenv("OBSPC_PASSWORD"); password != "" {
		cmd.Env = append(cmd.Env, "OBSPC_PASSWORD="+password)
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	err = cmd.Run()
	if cmd.ProcessState == nil {
		ts.Fatalf("%v: %v", args, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if file := filepath.Join(dir, name); isExecutable(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

func isExecutable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
