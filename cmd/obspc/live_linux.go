package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/obspc/expect"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
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
	ctx    context.Context // ends with an interrupt
	stop   func()
}

func newLab(c *cli.Context, conf *configuration) (lab, error) {
	runner, err := runnerBeside()
	if err != nil {
		return nil, err
	}
	b := &bench{conf: conf, runner: runner, bwrap: c.String("bwrap"), ready: map[string]*trial{}}
	b.ctx, b.stop = signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM)
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

// interrupted is why the attempts ended early.
func (b *bench) interrupted() error { return context.Cause(b.ctx) }

func (b *bench) close() {
	b.stop()
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
	if err := b.interrupted(); err != nil {
		return skipped("interrupted")
	}
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

// How long an attempt may take.
const (
	attemptTime = 30 * time.Second
	cleanUpTime = 5 * time.Second // after an interrupt
)

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
	ctx, stop := context.WithTimeout(b.ctx, attemptTime)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // obsrun takes its sandbox away
	cmd.WaitDelay = cleanUpTime
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
