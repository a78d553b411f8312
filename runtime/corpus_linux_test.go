package runtime_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/runtime"
)

func init() {
	standIns["corpus-mounts"] = func() int {
		if err := privateMounts(); err != nil {
			fmt.Println(err)
			return 1
		}
		// What the policies name there is made by the test, and goes with this namespace.
		for _, at := range []string{"/srv", "/root"} {
			if err := unix.Mount("none", at, "tmpfs", 0, "mode=755"); err != nil {
				fmt.Println(at, err)
				return 1
			}
		}
		for _, id := range []uint32{0, nobody} {
			cmd := exec.Command(os.Getenv("OBSPC_TEST_PROBE"), "-test.run=^TestCorpusMountsInside$", "-test.v")
			cmd.Dir, cmd.Env = "/", os.Environ()
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
			if err := cmd.Run(); err != nil {
				return 1
			}
		}
		return 0
	}
}

// privateMounts keeps what is mounted from now on in this process's namespace.
func privateMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// inNamespace runs a stand-in in a mount namespace of its own, and wants so many
// passes of the test that it runs.
func inNamespace(t *testing.T, name, test string, passes int, env ...string) {
	t.Helper()
	cmd := exec.Command(standInAt(t, name, 0o755), "--args")
	cmd.Env = append(env, "OBSPC_TEST_PROBE="+probePath, "PATH=/usr/bin:/bin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	text, err := cmd.CombinedOutput()
	if n := strings.Count(string(text), "--- PASS: "+test); err != nil || n != passes {
		t.Errorf("%d of %d passed: %v\n%s", n, passes, err, text)
	}
}

// TestCorpusMounts starts a sandbox of every policy of the corpus, as root and as
// somebody else: what is mounted so that it can be written is what the policy lets
// be written.
func TestCorpusMounts(t *testing.T) {
	needSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to mount")
	}
	dir := labDir(t)
	must(t, os.Chmod(dir, 0o777))
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "mountinfo"), "./testdata/mountinfo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	all, err := filepath.Glob("../testdata/corpus/*/*.policy.hcl")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "corpus"), 0o755))
	for _, path := range all {
		text, err := os.ReadFile(path)
		must(t, err)
		write(t, filepath.Join(dir, "corpus", filepath.Base(path)), string(text))
	}
	inNamespace(t, "corpus-mounts", "TestCorpusMountsInside", 2, "OBSPC_TEST_CORPUS="+dir, "TMPDIR="+dir)
}

// TestCorpusMountsInside is what TestCorpusMounts runs.
func TestCorpusMountsInside(t *testing.T) {
	dir := os.Getenv("OBSPC_TEST_CORPUS")
	if dir == "" {
		t.Skip("no test by itself: TestCorpusMounts starts it")
	}
	all, err := fs.Glob(os.DirFS(dir), "corpus/*.policy.hcl")
	must(t, err)
	if len(all) < 15 {
		t.Fatalf("the corpus has %q", all)
	}
	writable, tried := 0, 0
	for _, path := range all {
		text, err := os.ReadFile(filepath.Join(dir, path))
		must(t, err)
		for _, p := range parsed(t, string(text)) {
			if !p.HasTarget(ir.Bwrap) {
				continue
			}
			if os.Getuid() != 0 && usesHome(p) {
				continue // nobody has none
			}
			workspace := runtime.Workspace{Fresh: true}
			if p.Workspace != ir.FreshWorkspace {
				workspace = runtime.Workspace{Dir: labDir(t)}
			}
			makePaths(t, p, workspace.Dir)
			err := runtime.InRehearsal(development(t, string(text)), p.Name, workspace, func(stream, seccomp []byte, bound *ir.Policy) {
				tried++
				writable += checkWritable(t, bound, mountsOf(t, dir, stream, seccomp))
			})
			var refusal *runtime.Refusal
			switch {
			case errors.As(err, &refusal) && refusal.Code == runtime.No && strings.Contains(refusal.Message, "is a link to"):
				t.Logf("%s: refused on this machine: %v", p.Name, err)
			case err != nil:
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	if tried < 12 || writable < 10 {
		t.Errorf("%d sandboxes with %d mounts that can be written prove nothing", tried, writable)
	}
	t.Logf("%d sandboxes, %d mounts that can be written", tried, writable)
}

// checkWritable holds the mounts that can be written against the policy, and the
// policy's writes against the mounts. It gives the number of the former.
func checkWritable(t *testing.T, p *ir.Policy, mounts map[string]bool) (writable int) {
	t.Helper()
	decider := ir.NewDecider(p)
	for at, readOnly := range mounts {
		if readOnly {
			continue
		}
		writable++
		if d := decider.Decide(ir.Request{Kind: ir.WriteRequest, Path: ir.MustPath(at)}); !d.Allow {
			t.Errorf("%s: what is mounted at %s can be written, and %s is denied there", p.Name, at, ir.WriteRequest)
		}
	}
	for _, r := range p.Files {
		if readOnly, mounted := mounts[r.Path.String()]; r.Level == ir.Write && r.Backing == ir.HostFile && (!mounted || readOnly) {
			t.Errorf("%s: the write of %s cannot be written (mounted: %v)", p.Name, r.Path, mounted)
		}
	}
	return writable
}

// mountsOf starts bwrap as a run would, with a program that says what is mounted:
// where, and whether it is read-only.
func mountsOf(t *testing.T, dir string, stream, seccomp []byte) map[string]bool {
	t.Helper()
	cmd := bareBwrap(t, stream, seccomp)
	tool, err := os.Open(filepath.Join(dir, "mountinfo"))
	must(t, err)
	null, err := os.Open(os.DevNull)
	must(t, err)
	cmd.ExtraFiles = append(cmd.ExtraFiles, tool, null)
	for range strings.Count(string(stream), "\x00--ro-bind-data\x00") {
		cmd.ExtraFiles = append(cmd.ExtraFiles, null)
	}
	cmd.Args[len(cmd.Args)-1] = "/proc/self/fd/6"
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	mounts, err := runtime.Mounts(string(text))
	must(t, err)
	return mounts
}

func parsed(t *testing.T, text string) []*ir.Policy {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatalf("lang.Parse = %v", diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: library(t), LibraryNames: policies.Names()})
	if diags.HasErrors() {
		t.Fatalf("compiler.Compile = %v", diags)
	}
	var out []*ir.Policy
	for _, r := range results {
		out = append(out, r.Policy)
	}
	return out
}

func usesHome(p *ir.Policy) bool {
	for _, r := range p.Files {
		if r.Path.Root() == ir.Home {
			return true
		}
	}
	return false
}

// makePaths makes what a policy needs to find, in a workspace and in the places that
// are this namespace's own. What is denied stays missing.
func makePaths(t *testing.T, p *ir.Policy, workspace string) {
	t.Helper()
	need := func(at ir.Path) {
		switch path := at.String(); {
		case at.Root() == ir.Workspace && workspace != "":
			must(t, os.MkdirAll(filepath.Join(workspace, at.Rel()), 0o755))
		case os.Getuid() != 0: // root has made the others
		case at.Root() == ir.Home:
			home, err := runtime.Home(os.Getuid())
			must(t, err)
			must(t, os.MkdirAll(home.Join(at.Rel()).String(), 0o755))
		case strings.HasPrefix(path, "/srv/"):
			must(t, os.MkdirAll(path, 0o755))
		}
	}
	for _, r := range p.Files {
		if r.Level > ir.Deny {
			need(r.Path)
		}
	}
	for _, r := range p.Execute {
		need(r.Path)
	}
}
