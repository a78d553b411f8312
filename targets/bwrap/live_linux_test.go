package bwrap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// probeArgument makes the test binary attempt its other arguments instead of
// testing: the same attempts run outside, as the control, and inside.
const probeArgument = "obspc-probe"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeArgument {
		for _, attempt := range os.Args[2:] {
			fmt.Println(try(strings.Split(attempt, " ")))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// try does one request and undoes it. It answers "ok" or the errno's text.
func try(words []string) string {
	err := attempt(words[0], words[1], words[len(words)-1])
	var no syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return no.Error()
	}
	return err.Error()
}

func attempt(verb, path, to string) error {
	switch verb {
	case "read", "list":
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.IsDir() {
			_, err = f.Readdirnames(-1)
			return err
		}
		if _, err = f.Read(make([]byte, 1)); err == io.EOF {
			return nil
		}
		return err
	case "stat":
		_, err := os.Lstat(path)
		return err
	case "write":
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.Chmod(path, info.Mode().Perm())
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if info.Mode()&os.ModeDevice != 0 {
			_, err = f.Write([]byte("x"))
		}
		return err
	case "mode": // part of write: what is masked must not be opened up again
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm())
	case "create":
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		f.Close()
		return os.Remove(path)
	case "remove":
		to = path + ".moved"
		fallthrough
	case "rename":
		if err := os.Rename(path, to); err != nil {
			return err
		}
		return os.Rename(to, path)
	case "link":
		if err := os.Link(path, to); err != nil {
			return err
		}
		return os.Remove(to)
	case "fill": // writes 2 MiB
		f, err := os.CreateTemp(path, "fill")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		_, err = f.Write(make([]byte, 2<<20))
		return err
	case "print":
		data, err := os.ReadFile(path)
		fmt.Printf("%s", data)
		return err
	}
	return fmt.Errorf("no attempt %q", verb)
}

// caller is a user that runs sandboxes.
type caller struct {
	name       string
	credential *syscall.Credential
}

// callers is this user, and an unprivileged one beside root.
func callers() []caller {
	out := []caller{{name: "self"}}
	if os.Geteuid() == 0 {
		out = append(out, caller{"unprivileged", &syscall.Credential{Uid: 65534, Gid: 65534}})
	}
	return out
}

// bench is a sandbox under test: its policy's set, a tree on disk, who runs it.
type bench struct {
	t     *testing.T
	who   caller
	bwrap string
	probe string // the test binary, readable by everyone
	dir   string // of the tree
	set   *Set
	bind  ir.Binding
	facts Facts
	table *Table
	extra []string // statements every sandbox has
}

func newBench(t *testing.T, who caller) *bench {
	t.Helper()
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("host feature missing: bwrap")
	}
	dir, err := os.MkdirTemp("", "obspc-bwrap-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, who: who, bwrap: path, dir: dir, probe: dir + "/probe/run"}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	b.make("probe/run", string(self))
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.probe, 0o755); err != nil {
		t.Fatal(err)
	}
	b.extra = []string{"read " + dir + "/probe"}
	return b
}

// make writes a file of the tree, its directories first; a name that ends in "/"
// is a directory. All of it belongs to the caller.
func (b *bench) make(name, content string) {
	b.t.Helper()
	full := filepath.Join(b.dir, name)
	parent := filepath.Dir(full)
	if strings.HasSuffix(name, "/") {
		parent = full
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if parent != full {
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	if b.who.credential == nil {
		return
	}
	for p := full; p != b.dir; p = filepath.Dir(p) {
		if err := os.Chown(p, int(b.who.credential.Uid), int(b.who.credential.Gid)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// compile makes the set of the statements; "W" in them is the tree's directory w.
func (b *bench) compile(statements ...string) {
	b.t.Helper()
	w := b.dir + "/w"
	b.set = compile(b.t, append(slices.Clone(b.extra), statements...)...)
	b.bind = ir.Binding{}.With(ir.Workspace, ir.MustPath(w)).With(ir.Tmp, ir.MustPath("/tmp")).With(ir.Home, ir.MustPath(b.dir+"/home"))
	b.look()
	wanted, err := b.set.Placeholders(b.bind, b.facts)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range wanted {
		name := strings.TrimPrefix(p.Path.String(), b.dir+"/")
		if p.Directory {
			name += "/"
		}
		b.make(name, "")
	}
	b.look()
	if b.table, err = b.set.Table(b.bind, b.facts); err != nil {
		b.t.Fatal(err)
	}
}

// look takes the facts, component by component, as Facts describes.
func (b *bench) look() {
	b.facts = Facts{}
	for _, p := range b.set.NamedPaths(b.bind) {
		b.lookAt(p)
	}
}

func (b *bench) lookAt(p ir.Path) {
	way := slices.Collect(p.Upward())
	slices.Reverse(way)
	for _, q := range way[1:] {
		info, err := os.Lstat(q.String())
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(q.String())
			if err != nil {
				b.t.Fatal(err)
			}
			b.facts[q] = Fact{Kind: Link, Target: ir.MustPath(target)}
			next, err := throughLink(p, q, ir.MustPath(target))
			if err != nil {
				b.t.Fatal(err)
			}
			b.lookAt(next)
			return
		}
		if q == p {
			b.facts[p] = Fact{Kind: kindOf(info, err)}
		}
	}
}

func kindOf(info os.FileInfo, err error) Kind {
	switch {
	case err != nil:
		return Missing
	case info.IsDir():
		return Directory
	case info.Mode()&os.ModeDevice != 0:
		return Device
	case info.Mode()&os.ModeSocket != 0:
		return Socket
	case info.Mode()&os.ModeNamedPipe != 0:
		return Fifo
	}
	return File
}

// expand puts the tree's paths for ${workspace} and ${dir}.
func (b *bench) expand(attempts []string) []string {
	r := strings.NewReplacer("${workspace}", b.dir+"/w", "${dir}", b.dir)
	out := make([]string, len(attempts))
	for i, a := range attempts {
		out[i] = r.Replace(a)
	}
	return out
}

// outside makes the attempts without a sandbox.
func (b *bench) outside(attempts []string) []string {
	b.t.Helper()
	return b.run(exec.Command(b.probe, append([]string{probeArgument}, b.expand(attempts)...)...))
}

// inside makes the attempts in the sandbox, from exactly the bytes of
// Materialise.
func (b *bench) inside(attempts []string) []string {
	b.t.Helper()
	// ExtraFiles[i] is descriptor 3+i: options, filter, status, then masks.
	n, err := MaskCount(b.set, b.bind, b.facts)
	if err != nil {
		b.t.Fatal(err)
	}
	fds := FDs{Seccomp: 4, Status: 5}
	for i := range n {
		fds.Masks = append(fds.Masks, 6+i)
	}
	data, err := Materialise(b.set, b.bind, b.facts, fds)
	if err != nil {
		b.t.Fatal(err)
	}
	status, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer status.Close()
	// One instruction, "allow" (linux/filter.h): the filter is not under test here.
	files := []*os.File{b.pipe(data), b.pipe([]byte{0x06, 0, 0, 0, 0, 0, 0xff, 0x7f}), status}
	for range n {
		files = append(files, b.pipe(nil))
	}
	cmd := exec.Command(b.bwrap, append([]string{"--args", "3", "--", b.probe, probeArgument}, b.expand(attempts)...)...)
	cmd.ExtraFiles = files
	return b.run(cmd)
}

// pipe is a descriptor from which data can be read, and then end of file.
func (b *bench) pipe(data []byte) *os.File {
	b.t.Helper()
	f, err := os.CreateTemp("", "obspc-bwrap-fd-")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { f.Close() })
	if err := os.Remove(f.Name()); err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *bench) run(cmd *exec.Cmd) []string {
	b.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Dir = "/"
	cmd.Env = []string{}
	if b.who.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.who.credential}
	}
	out, err := cmd.Output()
	if err != nil && strings.Contains(stderr.String(), "Creating new namespace failed") {
		b.t.Skip("host feature missing: user namespaces for this user")
	}
	if err != nil {
		b.t.Fatalf("%s: %v: %s", cmd.Args[0], err, stderr.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
