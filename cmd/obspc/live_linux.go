package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/expect"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// bench tries expectations in sandboxes of this machine. Each attempt has a new
// workspace, and is made twice by the same program and user: outside, the control,
// and inside. A refusal counts only if the control succeeded.
type bench struct {
	conf   *configuration
	runner runner
	self   string // this program, which attempts
	bwrap  string
	dir    string // holds the workspace of each attempt
	work   ir.Path
	home   ir.Path
	homely bool // home is known
	ready  map[string]*trial
}

// trial is a policy made ready for attempts, or why it has none.
type trial struct {
	why     string
	policy  *ir.Policy // with the statements that let the attempt start
	release *os.File
	pins    *os.File
}

func newLab(c *cli.Context, conf *configuration) (lab, error) {
	runner, err := runnerBeside()
	if err != nil {
		return nil, err
	}
	b := &bench{conf: conf, runner: runner, bwrap: c.String("bwrap"), ready: map[string]*trial{}}
	if b.self, err = os.Executable(); err == nil {
		b.self, err = filepath.EvalSymlinks(b.self)
	}
	if err == nil {
		err = static(b.self)
	}
	if err != nil {
		return nil, &exitError{exitMachine, err}
	}
	if b.home, err = runtime.Home(os.Getuid()); err == nil {
		b.homely = true
	}
	// Not below /tmp, which a policy with a tmp of its own hides.
	parent, err := filepath.EvalSymlinks("/var/tmp")
	if err == nil {
		b.dir, err = os.MkdirTemp(parent, "obspc-live-")
	}
	if err == nil {
		b.work, err = ir.ParsePath(filepath.Join(b.dir, "w"))
	}
	if err != nil {
		return nil, &exitError{exitMachine, err}
	}
	return b, nil
}

// static refuses a program that needs a loader: a policy need not let one start.
func static(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("--live wants an obspc that is linked statically, and %s is not; build it with CGO_ENABLED=0, as make build does", program)
	}
	return nil
}

func (b *bench) close() {
	for _, t := range b.ready {
		if t.release != nil {
			t.release.Close()
			t.pins.Close()
		}
	}
	os.RemoveAll(b.dir)
}

func skipped(format string, args ...any) expect.Live {
	return expect.Live{Status: expect.Skipped, Why: fmt.Sprintf(format, args...)}
}

// try tries one expectation, or says why it cannot.
func (b *bench) try(t compiler.Test, e compiler.Expectation) expect.Live {
	made := b.trial(t.Policy)
	if made.why != "" {
		return skipped("%s", made.why)
	}
	if why := b.cannot(t, e.Request, made.policy); why != "" {
		return skipped("%s", why)
	}
	word, args := b.words(e.Request)
	nodes := treeFor(made.policy, e.Request)
	outside, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.control(word, args) })
	switch {
	case err != nil:
		return skipped("the attempt outside the sandbox cannot be made: %v", err)
	case word == checkWord && outside == unix.EINVAL:
		return skipped("asking the kernel whether it would start a program of the host needs Linux 6.14")
	case outside != 0:
		return skipped("it fails outside the sandbox as well, with %s", unix.ErrnoName(outside))
	}
	inside, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.sandboxed(made, word, args) })
	if err != nil {
		return skipped("%v", err)
	}
	return judged(e.Allow, inside)
}

// refusals are the errors with which the layers of a sandbox refuse.
var refusals = []syscall.Errno{unix.EACCES, unix.EPERM, unix.EROFS, unix.ENOENT, unix.EXDEV, unix.EBUSY, unix.EEXIST, unix.ENOTEMPTY, unix.ENOTDIR, unix.EISDIR}

// judged is what an outcome inside says, when the same attempt succeeded outside.
func judged(want bool, inside syscall.Errno) expect.Live {
	out := expect.Live{Status: expect.Passed, Why: "the kernel allowed it"}
	if inside != 0 {
		out.Why = "the kernel refused it with " + unix.ErrnoName(inside) + ", and allowed it outside the sandbox"
	}
	switch {
	case inside != 0 && !slices.Contains(refusals, inside):
		return skipped("it failed with %s, which is no refusal", unix.ErrnoName(inside))
	case (inside == 0) != want:
		out.Status = expect.Failed
	}
	return out
}

// words are those of the attempt: the host's programs are not started, the kernel
// is asked whether it would.
func (b *bench) words(q ir.Request) (word string, args []string) {
	at := b.binding()
	word, args = string(q.Kind), []string{at.Path(q.Path).String()}
	if q.Kind == ir.ExecuteRequest && q.Path.Root() != ir.Workspace {
		word = checkWord
	}
	if pairs(q) {
		args = append(args, at.Path(q.To).String())
	}
	return word, args
}

// binding is that of the attempts.
func (b *bench) binding() ir.Binding {
	out := ir.Binding{}.With(ir.Workspace, b.work).With(ir.Tmp, ir.MustPath("/tmp"))
	if b.homely {
		out = out.With(ir.Home, b.home)
	}
	return out
}

// fresh makes the workspace, does the attempt and takes the workspace away.
func (b *bench) fresh(nodes tree, attempt func() (syscall.Errno, error)) (syscall.Errno, error) {
	work := b.work.String()
	if err := os.Mkdir(work, 0o755); err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	if err := nodes.make(work, b.self); err != nil {
		return 0, err
	}
	return attempt()
}

// attemptTime is how long an attempt may take.
const attemptTime = 30 * time.Second

func (b *bench) control(word string, args []string) (syscall.Errno, error) {
	return b.run(nil, b.self, append([]string{attemptWord, word}, args...))
}

// sandboxed makes the attempt in a sandbox of obsrun.
func (b *bench) sandboxed(t *trial, word string, args []string) (syscall.Errno, error) {
	for _, file := range []*os.File{t.release, t.pins} {
		if _, err := file.Seek(0, 0); err != nil {
			return 0, err
		}
	}
	call := []string{"exec", "--build", release.Version, "--policy", t.policy.Name, "--release-fd", "3", "--pins-fd", "4", "--workspace", b.work.String()}
	if b.bwrap != "" {
		call = append(call, "--bwrap", b.bwrap)
	}
	for _, path := range b.conf.trusted() {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return 0, err
		}
		call = append(call, "--config-dir", absolute)
	}
	call = append(append(call, "--", b.self, attemptWord, word), args...)
	return b.run([]*os.File{t.release, t.pins}, b.runner.path, call)
}

// run starts a program and reads the error that the attempt printed.
func (b *bench) run(files []*os.File, program string, args []string) (syscall.Errno, error) {
	ctx, stop := context.WithTimeout(context.Background(), attemptTime)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.ExtraFiles = b.dir, files
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	n, parsed := strconv.Atoi(strings.TrimSpace(out.String()))
	if err == nil && parsed == nil {
		return syscall.Errno(n), nil
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		return 0, errors.New(strings.TrimPrefix(text, "obsrun: "))
	}
	return 0, fmt.Errorf("%s printed %q: %w", filepath.Base(program), out.String(), errors.Join(err, parsed))
}

// trial makes the policy ready, once.
func (b *bench) trial(r compiler.Result) *trial {
	t, ok := b.ready[r.Policy.Name]
	if !ok {
		t = b.prepare(r)
		b.ready[r.Policy.Name] = t
	}
	return t
}

// prepare compiles the policy with two more statements, which let the attempt be
// read and started, and without what belongs to a run and not to its rights; then
// it asks for one attempt that must succeed.
func (b *bench) prepare(r compiler.Result) *trial {
	if !r.Policy.HasTarget(ir.Bwrap) {
		return &trial{why: "the policy is not for Linux"}
	}
	p, err := b.withAttempt(r.Policy)
	if err != nil {
		return &trial{why: err.Error()}
	}
	for _, d := range targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} }) {
		if d.Severity == diag.Error {
			return &trial{why: d.Message}
		}
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		diag.Bug("%v", err)
	}
	files, err := release.Build(release.Input{Compiler: release.Version, Policies: []release.Policy{releasePolicy(compiler.Result{Policy: p, Ranges: r.Ranges}, artifacts)}})
	if err != nil {
		diag.Bug("%v", err)
	}
	t := &trial{policy: p}
	if err := t.seal(files); err != nil {
		return &trial{why: err.Error()}
	}
	nodes := treeFor(p, ir.Request{Kind: ir.StatRequest, Path: ir.RootPath(ir.Workspace)})
	if _, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.sandboxed(t, startedWord, nil) }); err != nil {
		t.why = "the policy does not run here: " + err.Error()
	}
	return t
}

func (t *trial) seal(files []release.File) error {
	packed, err := release.Pack(files)
	if err != nil {
		return err
	}
	pins, err := developmentPins(files)
	if err != nil {
		return err
	}
	for _, in := range []struct {
		name string
		data []byte
		to   **os.File
	}{{"release", packed, &t.release}, {"pins", pins.Format(), &t.pins}} {
		fd, err := sealedFile(in.name, in.data)
		if err != nil {
			return err
		}
		*in.to = os.NewFile(uintptr(fd), in.name)
	}
	return nil
}

// withAttempt is the policy with statements for the program that attempts.
func (b *bench) withAttempt(p *ir.Policy) (*ir.Policy, error) {
	self, err := ir.ParsePath(b.self)
	if err != nil {
		return nil, err
	}
	names := func(r ir.Root) bool {
		return slices.ContainsFunc(p.Files, func(f ir.FileRule) bool { return f.Path.Root() == r })
	}
	if b.homely && b.home.Above(self) && names(ir.Home) {
		if self, err = ir.ParsePath("${home}" + strings.TrimPrefix(self.String(), b.home.String())); err != nil {
			return nil, err
		}
	}
	q := *p
	q.Targets, q.Workspace, q.Commands = []ir.Target{ir.Bwrap}, ir.ByCommand, nil
	q.Limits = []ir.Limit{{Name: ir.Timeout, Value: attemptTime.Milliseconds(), Origin: "live/timeout"}}
	q.Files = append(slices.Clone(p.Files), ir.FileRule{Path: self, Level: ir.Read, Origin: "live/read"})
	q.Execute = append(slices.Clone(p.Execute), ir.ExecuteRule{Path: self, Origin: "live/execute"})
	slices.SortStableFunc(q.Files, func(x, y ir.FileRule) int { return x.Path.Compare(y.Path) })
	slices.SortStableFunc(q.Execute, func(x, y ir.ExecuteRule) int { return x.Path.Compare(y.Path) })
	if err := q.Check(); err != nil {
		return nil, fmt.Errorf("the program that attempts cannot be added to the policy: %w", err)
	}
	return &q, nil
}

// cannot says why a request is not tried, "" when it is.
func (b *bench) cannot(t compiler.Test, q ir.Request, with *ir.Policy) string {
	switch q.Kind {
	case ir.ConnectRequest:
		return "connections are not tried: they need a peer that answers"
	case ir.ConnectUnixRequest:
		return "sockets are not tried: they need a service that listens"
	}
	paths := []ir.Path{q.Path}
	if pairs(q) {
		paths = append(paths, q.To)
	}
	for _, p := range paths {
		for _, slot := range ir.Slots() {
			if at, bound := t.Binding.At(slot); bound && at.Covers(p) {
				return fmt.Sprintf("it lies where the test binds %s; write ${%s}/…, which lies elsewhere here", slot, slot)
			}
		}
		switch root := p.Root(); {
		case root == ir.Tmp:
			return "the tmp directory is new in every run, so nothing can be put there beforehand"
		case root == ir.Home && !b.homely:
			return "the user database has no home directory for this user"
		case changes(q) && root != ir.Workspace:
			return "only what lies in ${workspace} is changed to try it: for the control it is changed outside the sandbox"
		}
	}
	return b.elsewhere(t, q, with)
}

// elsewhere says why the request has another answer here than in the test: slots
// lie elsewhere, or the attempt's own statements decide it.
func (b *bench) elsewhere(t compiler.Test, q ir.Request, with *ir.Policy) string {
	asked, err := t.Policy.Policy.Bind(t.Binding)
	if err != nil {
		return err.Error()
	}
	at := b.binding()
	here, err := with.Bind(at)
	if err != nil {
		return "the policy does not run here: " + err.Error()
	}
	place := func(q ir.Request, at ir.Binding) ir.Request {
		q.Path, q.To = at.Path(q.Path), at.Path(q.To)
		return q
	}
	want, have := ir.Decide(asked, place(q, t.Binding)), ir.Decide(here, place(q, at))
	if want.Allow != have.Allow {
		return fmt.Sprintf("on this machine, where slots lie elsewhere, the policy says %s", word(have.Allow))
	}
	if rule, ok := have.Rule.(*ir.FileRule); ok && rule.Backing != ir.HostFile {
		return "it is the sandbox's own, and the host's is another"
	}
	return ""
}
