package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/conform"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/seccomp"
)

// user is who makes attempts, and where: the test's own user and, beside root, one
// that no machine gives anything to.
type user struct {
	name string
	uid  int
}

func users() []user {
	if os.Getuid() != 0 {
		return []user{{"self", os.Getuid()}}
	}
	return []user{{"root", 0}, {"nobody", 65534}}
}

func (u user) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", []string{}, &syscall.SysProcAttr{}
	if u.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}
	}
	return cmd
}

// needABI skips on kernels that lack what is tested.
func needABI(t *testing.T, least int) int {
	t.Helper()
	abi, err := Version()
	if abi < least {
		t.Skipf("host feature missing: Landlock ABI %d (this kernel has %d, %v)", least, abi, err)
	}
	return abi
}

// tree is a new directory of the user's beside the probe, and in it files and, with
// a last slash, directories.
func (u user) tree(t *testing.T, nodes ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(probe), "tree-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, u.uid, -1))
	for _, n := range nodes {
		at := filepath.Join(dir, n)
		if strings.HasSuffix(n, "/") {
			err = errors.Join(err, os.Mkdir(at, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(at, []byte("content"), 0o644))
		}
		err = errors.Join(err, os.Chown(at, u.uid, -1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func compile(t *testing.T, statements ...string) *targets.Linux {
	t.Helper()
	p, err := conform.Policy(statements...)
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	linux, err := targets.ReadLinux(files)
	if err != nil {
		t.Fatal(err)
	}
	return linux
}

func text(t *testing.T, r *Request) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

var tmp = ir.Binding{}.With(ir.Tmp, ir.MustPath("/tmp"))

// requested is what the rules ask of a kernel of that ABI.
func requested(rules *landlock.Rules, abi int) *Request {
	// The minimal /dev has links that the machine's may not have.
	links := map[string]bool{"/dev/core": true, "/dev/fd": true, "/dev/ptmx": true, "/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true}
	return For(rules, abi, tmp, func(path string) bool { return links[path] || isLink(path) })
}

// mounted runs the attempt in a sandbox of exactly the argument set, behind the
// request's domain (nil: none).
func (u user) mounted(t *testing.T, set *targets.Linux, r *Request, attempt string) string {
	t.Helper()
	facts := bwrap.Facts{}
	for _, p := range set.Set.NamedPaths(tmp) {
		facts[p] = fact(p.String())
	}
	table, err := set.Set.Table(tmp, facts)
	if err != nil {
		t.Fatal(err)
	}
	const first = 3 // of the descriptors that a child gets beside its streams
	fds := bwrap.FDs{Seccomp: first + 1, Status: first + 2}
	stream, err := table.Stream(fds)
	if err != nil {
		t.Fatal(err)
	}
	arch := map[string]seccomp.Arch{"amd64": seccomp.X86_64, "arm64": seccomp.AArch64}[goruntime.GOARCH]
	cmd := u.command("/usr/bin/bwrap", "--args", strconv.Itoa(first), "--", probe, attemptWord, text(t, r), attempt)
	cmd.ExtraFiles = []*os.File{file(t, stream), file(t, set.Seccomp[arch].Bytes()), file(t, nil)}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", attempt, err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

func fact(path string) bwrap.Fact {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return bwrap.Fact{Kind: bwrap.Missing}
	case info.IsDir():
		return bwrap.Fact{Kind: bwrap.Directory}
	}
	return bwrap.Fact{Kind: bwrap.File}
}

func file(t *testing.T, data []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "test")
	t.Cleanup(func() { f.Close() })
	if _, err = f.Write(data); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
