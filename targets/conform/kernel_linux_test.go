package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// TestCaller is one caller's half of TestModelAgainstKernel, in a process of its
// own.
func TestCaller(t *testing.T) {
	lab := os.Getenv(labVariable)
	if lab == "" {
		return
	}
	b := &bench{lab: lab, tree: tree{top: filepath.Join(lab, "tree")}, home: os.Getenv(homeVariable) != "", port: listen(t)}
	ends := soakEnds(t)
	rapid.Check(t, func(t *rapid.T) {
		if !ends.IsZero() && time.Now().After(ends) {
			return
		}
		b.check(t, policies(b.tree.top, b.victim(), b.home).Draw(t, "policy"))
	})
	data, err := json.Marshal(b.mix)
	if err == nil {
		err = os.WriteFile(mixPath(lab), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// soakEnds is when no more policies are drawn, zero without a soak.
func soakEnds(t *testing.T) time.Time {
	text := os.Getenv(soakVariable)
	if text == "" {
		return time.Time{}
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Now().Add(long)
}

// listen is the port of a server on the host's loopback.
func listen(t *testing.T) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 4096))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return name.(*unix.SockaddrInet4).Port
}

// bench is one caller's tree, and what was counted.
type bench struct {
	lab  string
	tree tree
	home bool
	port int
	mix  Mix
}

func (b *bench) victim() string { return filepath.Join(b.lab, "victim") }

// trial is one policy on the tree.
type trial struct {
	*bench
	t       *rapid.T
	drawn   drawn
	policy  *ir.Policy
	linux   *targets.Linux
	files   []release.File
	binding ir.Binding
	carved  string // why the trusted directory refuses the run; "" when it does not
	probes  []Probe
	control [][]try
}

// check runs one policy, if this machine and the targets let it run, and judges
// every outcome.
func (b *bench) check(t *rapid.T, d drawn) {
	x := &trial{bench: b, t: t, drawn: d}
	if !x.compile() {
		b.mix.Refused++
		return
	}
	x.prepare()
	expected := x.refusal()
	if expected == "" {
		x.ask()
	}
	got, err := x.run()
	var refusal *runtime.Refusal
	switch {
	case errors.As(err, &refusal) && expected != "":
		b.mix.Refused++
		return
	case err != nil:
		t.Fatalf("the run was refused: %v\nexpected: %q%s", err, expected, x)
	case expected != "":
		t.Fatalf("the run was to be refused: %s%s", expected, x)
	case len(got) != len(x.probes):
		t.Fatalf("%d outcomes of %d probes%s", len(got), len(x.probes), x)
	}
	x.judge(got)
	b.mix.Policies++
}

func (x *trial) String() string {
	return fmt.Sprintf("\npolicy %q\nlayout %+v, trusted %q, caller %d", x.drawn.statements, x.drawn.at, x.drawn.trusted, os.Getuid())
}

// compile makes the release; false when the targets refuse the policy, as they say.
func (x *trial) compile() bool {
	var err error
	if x.policy, err = Policy(x.drawn.statements...); err != nil {
		x.t.Fatal(err)
	}
	for _, u := range x.policy.Uses() {
		if targets.Answers(ir.Bwrap, u.Feature).Capability == targets.Absent {
			return false
		}
	}
	artifacts, err := targets.Compile(x.policy)
	var unsupported *bwrap.UnsupportedError
	if errors.As(err, &unsupported) {
		return false
	}
	made := release.Policy{Name: x.policy.Name}
	files := map[string][]byte{}
	for _, a := range artifacts {
		made.Artifacts = append(made.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
		files[a.Name] = a.Data
	}
	if err == nil {
		x.files, err = release.Build(release.Input{Compiler: release.Version, Policies: []release.Policy{made}})
	}
	if err == nil {
		x.linux, err = targets.ReadLinux(files)
	}
	if err != nil {
		x.t.Fatalf("%v%s", err, x)
	}
	return true
}

// prepare makes the tree and binds the slots to it.
func (x *trial) prepare() {
	err := x.tree.build(x.drawn.at)
	at := func(dir string) string { return filepath.Join(x.tree.top, dir) }
	x.binding = ir.Binding{}.With(ir.Tmp, ir.MustPath("/tmp")).With(ir.Workspace, ir.MustPath(at(x.drawn.at.work)))
	if x.home {
		x.binding = x.binding.With(ir.Home, ir.MustPath(at(x.drawn.at.home)))
		err = errors.Join(err, wantHome(at(x.drawn.at.home)))
	}
	if err != nil {
		x.t.Fatal(err)
	}
	x.carve()
}

// carve binds the slot config where the trusted directory lies inside a write: all
// of it is then kept read-only. Where it is the write itself, the run is refused.
func (x *trial) carve() {
	bound, err := x.policy.Bind(x.binding)
	if err != nil || x.drawn.trusted == "" {
		return
	}
	dir := ir.MustPath(x.trustedDirectory())
	d := ir.Decide(bound, ir.Request{Kind: ir.WriteRequest, Path: dir})
	if rule, ok := d.Rule.(*ir.FileRule); !d.Allow || !ok || rule.Backing != ir.HostFile {
		return
	}
	if slices.ContainsFunc(bound.Files, func(r ir.FileRule) bool { return r.Level == ir.Write && r.Path == dir }) {
		x.carved = "a trusted directory that is a write: " + dir.String()
		return
	}
	x.binding = x.binding.With(ir.Config, dir)
}

func (x *trial) trustedDirectory() string { return filepath.Join(x.tree.top, x.drawn.trusted) }

// ask chooses the requests and tries each without a sandbox: the control.
func (x *trial) ask() {
	bound, err := x.policy.Bind(x.binding)
	if err != nil {
		x.t.Fatal(err)
	}
	loopback := ir.Request{Kind: ir.ConnectRequest, Host: "localhost", Port: uint16(x.port)}
	x.probes = Thin(Probes(x.tree.entries, x.drawn.shift), NewNames(bound), x.drawn.shift)
	x.probes = append(x.probes, Probe{Request: loopback, Real: loopback})
	x.control = x.unchanged(func() [][]try { return attemptAll(x.tasks()) })
}

// unchanged holds attempts to their promise that they are undone.
func (x *trial) unchanged(do func() [][]try) [][]try {
	before, err := x.tree.snapshot()
	out := do()
	after, again := x.tree.snapshot()
	if err = errors.Join(err, again); err != nil || before != after {
		x.tree.at = layout{}
		x.t.Fatalf("the tree is not what it was: %v\n%s%s", err, difference(before, after), x)
	}
	for i, tries := range out {
		for _, r := range tries {
			if r.Undo != "" {
				x.t.Fatalf("%s by %s could not be undone: %s%s", x.probes[i].Request, r.How, r.Undo, x)
			}
		}
	}
	return out
}

func difference(before, after string) string {
	have := strings.Split(before, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool { return slices.Contains(have, line) }), "\n")
}

func (x *trial) tasks() []task {
	links := map[ir.Path]string{}
	for _, e := range x.tree.entries {
		if e.Kind == Link {
			links[e.Path], _ = os.Readlink(e.Path.String())
		}
	}
	out := make([]task, len(x.probes))
	for i, p := range x.probes {
		r := p.Request
		out[i] = task{r.Kind, r.Path.String(), r.To.String(), p.Kind, p.Replaces, links[r.Path], x.port}
	}
	return out
}

// refusal is why this machine's state refuses the policy; "" when it does not.
func (x *trial) refusal() string {
	if _, err := x.policy.Bind(x.binding); err != nil {
		return err.Error()
	}
	if x.carved != "" {
		return x.carved
	}
	paths := x.linux.Set.NamedPaths(x.binding)
	for _, r := range x.policy.Execute {
		paths = append(paths, x.binding.Path(r.Path))
	}
	f, foreign := facts(paths)
	if foreign != "" {
		return "a link of the caller's: " + foreign
	}
	if _, err := x.linux.Set.Placeholders(x.binding, f); err != nil {
		return err.Error()
	}
	return x.executable(f)
}

// executable is what the runtime asks of execute rules: that they are there, and
// that what they lead to over links may start under its own name.
func (x *trial) executable(f bwrap.Facts) string {
	for _, r := range x.policy.Execute {
		at := x.binding.Path(r.Path)
		real, err := filepath.EvalSymlinks(at.String())
		switch {
		case err != nil && !r.Optional:
			return "missing: " + at.String()
		case err != nil || real == at.String():
		case !slices.ContainsFunc(x.policy.Execute, func(o ir.ExecuteRule) bool {
			o.Path = x.binding.Path(o.Path)
			return o.Covers(ir.MustPath(real))
		}):
			return "a link: " + at.String()
		}
	}
	return ""
}

// run starts the victim in a sandbox, by the whole chain.
func (x *trial) run() ([][]try, error) {
	pins := &release.Pins{Product: release.LocalProduct, NoExpiry: true}
	for _, f := range x.files {
		if f.Name == release.SumsName {
			pins.Sums = []release.Digest{release.Sum(f.Data)}
		}
	}
	v, report := verify.Open(verify.Memory(x.files), verify.Trust{Pins: pins, Now: time.Now(), Development: true})
	if v == nil {
		x.t.Fatalf("verify.Open = %s%s", report, x)
	}
	input, err := json.Marshal(x.tasks())
	if err != nil {
		x.t.Fatal(err)
	}
	var trusted []string
	if x.drawn.trusted != "" {
		trusted = []string{x.trustedDirectory()}
	}
	var stdout, stderr bytes.Buffer
	work, _ := x.binding.At(ir.Workspace)
	var out *runtime.Outcome
	return x.unchanged(func() (got [][]try) {
		out, err = runtime.Start(context.Background(), v, runtime.Job{
			Policy: x.policy.Name, Argv: []string{x.victim(), victimWord}, Development: true, Workspace: runtime.Workspace{Dir: work.String()},
			Stdin: bytes.NewReader(input), Stdout: &stdout, Stderr: &stderr, Trusted: trusted,
		})
		if err != nil {
			return nil
		}
		if out.Exit != 0 {
			x.t.Fatalf("the victim ended with %d: %s%s", out.Exit, &stderr, x)
		}
		if got, err = outcomes(&stdout); err != nil {
			x.t.Fatalf("the victim's outcomes: %v%s", err, x)
		}
		return got
	}), err
}
