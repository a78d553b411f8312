package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/policies/library"
	"github.com/obspc/obspc/targets"
)

// kit is a directory with the stand-in for sandbox-exec under every name it has,
// and a copy of this program, which attempts. It lies outside /tmp, where Linux has
// the tmp slot.
type kit struct {
	t   *testing.T
	dir string
}

// kitDir is where the kit is made, once for all tests.
var kitDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "obspc-kit-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "sandbox-exec"), "./testdata/sandbox-exec")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	for _, name := range []string{"leaky", "shut", "nested", "deaf"} {
		if err := os.Symlink("sandbox-exec", filepath.Join(dir, name)); err != nil {
			return dir, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return dir, err
	}
	return dir, copyTool(self, filepath.Join(dir, "attempts"))
})

func newKit(t *testing.T) kit {
	t.Helper()
	dir, err := kitDir()
	if err != nil {
		t.Fatal(err)
	}
	return kit{t, dir}
}

// seatbelt is a launcher that uses the stand-in of that name.
func (k kit) seatbelt(name string) Seatbelt { return NewSeatbelt(filepath.Join(k.dir, name)) }

// bench is one that uses the launcher.
func (k kit) bench(l Launcher) *Bench {
	k.t.Helper()
	self, err := filepath.EvalSymlinks(filepath.Join(k.dir, "attempts"))
	if err != nil {
		k.t.Fatal(err)
	}
	b, err := New(k.t.Context(), Options{
		Launcher: l, Self: self, Own: []ir.Root{ir.Home, ir.Tmp, ir.Workspace}, Staged: []ir.Path{ir.MustPath("/srv")},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		b.Close()
		if _, err := os.Stat(b.dir.String()); !errors.Is(err, os.ErrNotExist) {
			k.t.Errorf("the bench leaves %s behind: %v", b.dir, err)
		}
	})
	return b
}

// honest is a bench whose kernel keeps to the profile.
func honest(t *testing.T) *Bench {
	k := newKit(t)
	return k.bench(k.seatbelt("sandbox-exec"))
}

// compiled is the one policy of a text.
func compiled(t *testing.T, text string) compiler.Result {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	results, more := compiler.Compile(config, compiler.Options{Library: library.Template, LibraryNames: policies.Names()})
	if diags.Add(more...); diags.HasErrors() || len(results) != 1 {
		t.Fatalf("%s: %v", text, diags)
	}
	return results[0]
}

func request(t *testing.T, text string) ir.Request {
	t.Helper()
	q, err := ir.ParseRequest(strings.Fields(text))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

const sample = `policy "p" {
  version = 1
  targets = ["seatbelt"]
  extends = ["std/base"]
  filesystem {
    write   = [workspace, "/srv/scratch"]
    read    = ["${workspace}/.git", "/srv/data", home]
    deny    = ["${workspace}/.env", "/srv/data/private", "${home}/.ssh"]
    execute = ["${workspace}/tool", "/usr/bin/env"]
  }
}
`

var wanted = map[string]Verdict{
	"read ${workspace}/a":                     Allow,
	"read ${workspace}/.env":                  Deny,
	"write ${workspace}/.git/config":          Deny,
	"write ${workspace}/a":                    Allow,
	"create ${workspace}/new":                 Allow,
	"create ${workspace}/.env":                Deny,
	"remove ${workspace}/a":                   Allow,
	"rename ${workspace}/a ${workspace}/b":    Allow,
	"rename ${workspace}/.git ${workspace}/x": Deny,
	"link ${workspace}/a ${workspace}/b":      Allow,
	"list ${workspace}":                       Allow,
	"stat ${workspace}/.env":                  Allow,
	"execute ${workspace}/tool":               Allow,
	"execute ${workspace}/other":              Deny,
	"write ${tmp}/x":                          Allow,
	"read ${home}/.bashrc":                    Allow,
	"read ${home}/.ssh/id":                    Deny,
	"create ${home}/x":                        Deny,
	"read /srv/data/a":                        Allow,
	"read /srv/data/private/key":              Deny,
	"stat /srv/other":                         Deny,
	"rename /srv/scratch/a ${workspace}/b":    Allow,
	"rename /srv/data/a ${workspace}/b":       Deny,
	"write /dev/null":                         Allow,
	"list /":                                  Allow,
	"list /etc":                               Deny,
}

// TestSeatbelt tries requests through a stand-in that keeps to the profile: model
// and kernel say what the policy means, wherever the paths lie on the bench.
func TestSeatbelt(t *testing.T) {
	b, r := honest(t), compiled(t, sample)
	for text, want := range wanted {
		got := b.Observe(r, ir.Binding{}, request(t, text))
		if got.Decide != want || got.Model != want || got.Kernel != want || got.Control != "allow" || got.Why != "" {
			t.Errorf("Observe(%s) = %+v, want %s", text, got, want)
		}
		if want == Deny && got.Errno != "EPERM" {
			t.Errorf("Observe(%s) is refused with %q, want EPERM", text, got.Errno)
		}
	}
	if added, err := b.Added(r); added != "program" {
		t.Errorf("Added() = %q, %v, want the program alone: the policy has std/base", added, err)
	}
}

// TestSeatbeltThatMisbehaves: what the kernel does is seen, whatever it is.
func TestSeatbeltThatMisbehaves(t *testing.T) {
	k, r := newKit(t), compiled(t, sample)
	read, secret := request(t, "read ${workspace}/a"), request(t, "read ${workspace}/.env")
	for _, tt := range []struct {
		name         string
		q            ir.Request
		kernel       Verdict
		why          string
		escapes, bad bool
	}{
		{"leaky", secret, Allow, "", true, true},
		{"leaky", read, Allow, "", false, false},
		{"shut", secret, Deny, "", false, false},
		{"shut", read, Deny, "", false, true},
		{"nested", read, "", "sandbox_apply: Operation not permitted", false, false},
		{"deaf", secret, "", "it failed with EIO, and the sandbox refuses it with EPERM or EACCES", false, false},
		{"missing", read, "", "no such file", false, false},
	} {
		got := k.bench(k.seatbelt(tt.name)).Observe(r, ir.Binding{}, tt.q)
		bad := got.Judge(got.Decide == Allow).Status == "fail"
		if got.Kernel != tt.kernel || !strings.Contains(got.Why, tt.why) || (got.Why == "") != (tt.why == "") || got.Escapes() != tt.escapes || bad != tt.bad {
			t.Errorf("%s: Observe(%s) = %+v, escapes %v, fails %v; want %+v", tt.name, tt.q, got, got.Escapes(), bad, tt)
		}
	}
}

// TestLoaderIsAdded: under a policy that lets no dynamic program start, the loader
// is added, and what it reads is not asked for.
func TestLoaderIsAdded(t *testing.T) {
	b := honest(t)
	r := compiled(t, "policy \"p\" {\n  version = 1\n  targets = [\"seatbelt\"]\n  filesystem {\n    write = [workspace]\n  }\n}\n")
	if got := b.Observe(r, ir.Binding{}, request(t, "write ${workspace}/a")); got.Kernel != Allow {
		t.Errorf("Observe(write) = %+v, want it allowed", got)
	}
	if got := b.Observe(r, ir.Binding{}, request(t, "list /")); got.Kernel != "" || !strings.Contains(got.Why, "the policy says allow") || got.Decide != Deny {
		t.Errorf("Observe(list /) = %+v, want it untried, for the loader decides it", got)
	}
	if got := b.Observe(r, ir.Binding{}, request(t, "read /etc/passwd")); got.Kernel != Deny {
		t.Errorf("Observe(read /etc/passwd) = %+v, want it denied", got)
	}
	if added, err := b.Added(r); added != "loader" {
		t.Errorf("Added() = %q, %v, want the loader", added, err)
	}
}

// TestUntried: what is not tried says why, and every request is one or the other.
func TestUntried(t *testing.T) {
	b, r := honest(t), compiled(t, sample)
	elsewhere := ir.Binding{}.With(ir.Workspace, ir.MustPath("/opt/w"))
	for text, want := range map[string]string{
		"remove ${workspace}":         "it fails outside the sandbox as well, with ENOTEMPTY",
		"connect example.com:443":     "connections are not tried",
		"connect-unix /srv/data/s":    "sockets are not tried",
		"write /usr/lib/x":            "only what lies in ${home}, ${tmp}, ${workspace} is changed",
		"read /opt/w/a":               "it lies where the test binds workspace",
		"read /nonexistent/x":         "it fails outside the sandbox as well, with ENOENT",
		"read ${config}/p.policy.hcl": "nothing lies in ${config} here",
	} {
		if got := b.Observe(r, elsewhere, request(t, text)); got.Kernel != "" || !strings.Contains(got.Why, want) || got.Decide == "" {
			t.Errorf("Observe(%s) = %+v, want %q", text, got, want)
		}
	}
	linux := compiled(t, "policy \"p\" {\n  version = 1\n  targets = [\"bwrap\"]\n}\n")
	if got := b.Observe(linux, ir.Binding{}, request(t, "read /usr/x")); got.Why != "the policy is not for macOS" {
		t.Errorf("Observe of a policy for Linux = %+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	b.ctx = ctx
	if got := b.Observe(r, ir.Binding{}, request(t, "list /")); got.Why != "interrupted" {
		t.Errorf("Observe after an interrupt = %+v", got)
	}
}

// TestHostProgramsAreAskedAbout: a program of the host is not started.
func TestHostProgramsAreAskedAbout(t *testing.T) {
	if err := wouldStart("/usr/bin/env"); err == unix.EINVAL {
		t.Skip("host feature missing: AT_EXECVE_CHECK (Linux 6.14)")
	}
	k, r := newKit(t), compiled(t, sample)
	for name, want := range map[string]struct{ env, id Verdict }{"sandbox-exec": {Allow, Deny}, "leaky": {Allow, Allow}} {
		b := k.bench(k.seatbelt(name))
		if got := b.Observe(r, ir.Binding{}, request(t, "execute /usr/bin/env")); got.Kernel != want.env {
			t.Errorf("%s: Observe(execute /usr/bin/env) = %+v, want %s", name, got, want.env)
		}
		if got := b.Observe(r, ir.Binding{}, request(t, "execute /usr/bin/id")); got.Kernel != want.id {
			t.Errorf("%s: Observe(execute /usr/bin/id) = %+v, want %s", name, got, want.id)
		}
	}
}

// broken makes every profile one that cannot be read.
type broken struct{ Seatbelt }

func (b broken) Prepare(r compiler.Result, artifacts []targets.Artifact) (Sandbox, error) {
	for i := range artifacts {
		artifacts[i].Data = []byte("(version 1)\n(deny defalt)\n")
	}
	return b.Seatbelt.Prepare(r, artifacts)
}

// TestRejectedProfile: a profile that macOS refuses is a failure of every
// expectation, never a skip.
func TestRejectedProfile(t *testing.T) {
	k := newKit(t)
	got := k.bench(broken{k.seatbelt("sandbox-exec")}).Observe(compiled(t, sample), ir.Binding{}, request(t, "read ${workspace}/a"))
	if !got.Rejected || !strings.Contains(got.Why, "macOS refuses the artifact: ") || got.Judge(true).Status != "fail" {
		t.Errorf("Observe under a profile that cannot be read = %+v", got)
	}
}

// TestCall: the profile is one argument, slots are parameters in order, and the
// command stands behind them.
func TestCall(t *testing.T) {
	s, err := NewSeatbelt(SandboxExec).Prepare(compiler.Result{}, []targets.Artifact{{Name: "seatbelt.sb", Kind: "seatbelt", Data: []byte("(version 1)")}})
	if err != nil {
		t.Fatal(err)
	}
	at := ir.Binding{}.With(ir.Workspace, ir.MustPath("/private/w")).With(ir.Tmp, ir.MustPath("/private/t"))
	call, err := s.Call(at, []string{"/bin/x", "-p"})
	want := []string{"-p", "(version 1)", "-D", "TMP=/private/t", "-D", "WORKSPACE=/private/w", "--", "/bin/x", "-p"}
	if err != nil || call.Program != "/usr/bin/sandbox-exec" || !slices.Equal(call.Args, want) {
		t.Errorf("Call() = %+v, %v, want %q", call, err, want)
	}
	if _, err := NewSeatbelt(SandboxExec).Prepare(compiler.Result{}, nil); err == nil {
		t.Error("a policy without a profile is prepared")
	}
}

// TestFault: whose fault it was is told by how the process ended.
func TestFault(t *testing.T) {
	ended := func(script string) error { return exec.Command("/bin/sh", "-c", script).Run() }
	for _, tt := range []struct {
		err        error
		said, want string
		rejected   bool
	}{
		{ended("exit 65"), "sandbox-exec: unbound variable: defalt", "macOS refuses the artifact: unbound variable: defalt", true},
		{ended("exit 71"), "sandbox-exec: sandbox_apply: Operation not permitted", "sandbox-exec: sandbox_apply: Operation not permitted", false},
		{ended("kill -ABRT $$"), "", "what was started ended by SIGABRT before it could attempt anything", false},
		{ended("exit 1"), "no such word", "no such word", false},
		{errors.New("no such file"), "", "no such file", false},
	} {
		err := (&profile{}).Fault(tt.said, tt.err)
		var rejected *RejectedError
		if err == nil || err.Error() != tt.want || errors.As(err, &rejected) != tt.rejected {
			t.Errorf("Fault(%q, %v) = %v, want %q", tt.said, tt.err, err, tt.want)
		}
	}
}
