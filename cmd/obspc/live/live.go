// Package live asks the kernel of this machine: it makes the attempt that a request
// is about twice, by the same program and user, outside and inside a sandbox made
// from the policy's artifacts. Its one rule: a refusal counts only if the attempt
// outside, the control, succeeded; whatever is not tried says why. How a sandbox is
// started is a Launcher's; what the answers mean for a test is its caller's.
package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
)

// Options are what a caller decides.
type Options struct {
	Launcher Launcher
	// Self is the program that attempts, links resolved; its main calls Attempted
	// before anything else.
	Self string
	// Binding says where slots lie that are not the bench's own.
	Binding ir.Binding
	// Own lists slots bound to directories of the bench, made new for each attempt.
	Own []ir.Root
	// Staged lists directories of the host that one of the bench stands for: what
	// policies and requests say of them is asked of that one.
	Staged []ir.Path
}

// Bench tries requests. It is for one goroutine.
type Bench struct {
	launcher Launcher
	traits   Traits
	ctx      context.Context // its end interrupts
	self     ir.Path
	dir      ir.Path // holds what is made for each attempt
	binding  ir.Binding
	own      []ir.Root
	staged   []ir.Path
	ready    map[*ir.Policy]*subject
}

// parent is where benches are made: not below /tmp, which a policy with a tmp of
// its own hides.
const parent = "/var/tmp"

// New makes a bench and its directory, which Close removes.
func New(ctx context.Context, o Options) (*Bench, error) {
	b := &Bench{
		launcher: o.Launcher, traits: o.Launcher.Traits(), ctx: ctx,
		binding: o.Binding, own: o.Own, staged: o.Staged, ready: map[*ir.Policy]*subject{},
	}
	var err error
	if b.self, err = ir.NewPath(ir.Host, o.Self); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(real, "obspc-live-")
	if err != nil {
		return nil, err
	}
	if b.dir, err = ir.NewPath(ir.Host, dir); err != nil {
		return nil, err
	}
	for _, slot := range o.Own {
		b.binding = b.binding.With(slot, b.dir.Join(slot.String()))
	}
	return b, nil
}

// Interrupted is why attempts ended early, nil while they go on.
func (b *Bench) Interrupted() error { return context.Cause(b.ctx) }

// Neutral is text without what differs from one bench to the next: its directory and
// where the program that attempts lies.
func (b *Bench) Neutral(text string) string {
	return strings.NewReplacer(b.dir.String(), "BENCH", b.self.String(), "PROGRAM").Replace(text)
}

// Close removes what the bench made.
func (b *Bench) Close() {
	for _, s := range b.ready {
		if s.sandbox != nil {
			s.sandbox.Close()
		}
	}
	os.RemoveAll(b.dir.String())
}

// Observe tries one request, which is meant on a machine with the binding asked, in
// a sandbox of the policy.
func (b *Bench) Observe(r compiler.Result, asked ir.Binding, q ir.Request) Observation {
	o := Observation{Decide: decided(r.Policy, asked, q)}
	if b.Interrupted() != nil {
		return o.untried("interrupted")
	}
	s := b.subject(r)
	if s.model != nil {
		o.Model = s.model(b.placed(q))
	}
	if s.why != "" {
		o.Rejected = s.rejected
		return o.untried("%s", s.why)
	}
	if why := b.cannot(asked, q); why != "" {
		return o.untried("%s", why)
	}
	if why := b.elsewhere(r.Policy, asked, s.policy, q); why != "" {
		o.Model = "" // it answers for what stands here
		return o.untried("%s", why)
	}
	return b.try(o, s, q)
}

// try makes both attempts.
func (b *Bench) try(o Observation, s *subject, q ir.Request) Observation {
	placed := b.placed(q)
	if q.Kind == ir.SyscallRequest {
		return b.tryCall(o, s, placed)
	}
	word, args := b.words(placed)
	nodes := treeFor(s.policy, b.binding, placed, b.isFresh)
	outside, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.control(word, args) })
	switch {
	case err != nil:
		return o.untried("the attempt outside the sandbox cannot be made: %v", err)
	case word == checkWord && outside == unix.EINVAL:
		return o.untried("asking the kernel whether it would start a program of the host needs Linux 6.14")
	case outside != 0:
		o.Control = unix.ErrnoName(outside)
		return o.untried("it fails outside the sandbox as well, with %s", o.Control)
	}
	o.Control = string(Allow)
	if word == checkWord && b.traits.Indirect {
		if why := b.calibrate(s); why != "" {
			return o.untried("%s", why)
		}
	}
	var refusals []string
	inside, err := b.fresh(nodes, func() (_ syscall.Errno, err error) {
		if refusals, err = s.sandbox.Refusals(b.seen(), placed); err != nil {
			return 0, err
		}
		return b.sandboxed(s, word, args)
	})
	switch errno := unix.ErrnoName(inside); {
	case err != nil:
		return o.untried("%v", err)
	case inside == 0:
		o.Kernel = Allow
	case len(refusals) > 0 && !slices.Contains(refusals, errno):
		// Where the model refuses nothing, every failure counts: against what allows it.
		return o.untried("it failed with %s, and the sandbox refuses it with %s", errno, strings.Join(refusals, " or "))
	default:
		o.Kernel, o.Errno = Deny, errno
	}
	return o
}

// words are those of the attempt, of a placed request: the host's programs are not
// started, the kernel is asked whether it would.
func (b *Bench) words(q ir.Request) (word string, args []string) {
	word, args = string(q.Kind), []string{q.Path.String()}
	if q.Kind == ir.ExecuteRequest && !b.isFresh(q.Path) {
		word = checkWord
	}
	if q.Kind.Pairs() {
		args = append(args, q.To.String())
	}
	return word, args
}

// calibrate says why the answers of checkWord do not count in this sandbox: it is
// asked about a program that can be started without harm, and that is started.
func (b *Bench) calibrate(s *subject) string {
	if s.calibrated == nil {
		why := b.compareChecks(s)
		s.calibrated = &why
	}
	return *s.calibrated
}

func (b *Bench) compareChecks(s *subject) string {
	at := b.binding.Path(ir.RootPath(ir.Workspace).Join("obspc-check"))
	nodes := treeFor(s.policy, b.binding, ir.Request{Kind: ir.ExecuteRequest, Path: at}, b.isFresh)
	var answers []string
	for _, word := range []string{string(ir.ExecuteRequest), checkWord} {
		errno, err := b.fresh(nodes, func() (syscall.Errno, error) { return b.sandboxed(s, word, []string{at.String()}) })
		if err != nil {
			return fmt.Sprintf("whether the kernel would start a program cannot be asked: %v", err)
		}
		answers = append(answers, unix.ErrnoName(errno))
	}
	if answers[0] != answers[1] {
		return fmt.Sprintf("whether the kernel would start a program cannot be asked: starting one ends with %q, asking about it with %q", answers[0], answers[1])
	}
	return ""
}

// isFresh reports whether the bound path p lies in what is made for each attempt.
func (b *Bench) isFresh(p ir.Path) bool {
	return slices.ContainsFunc(b.roots(), func(root ir.Path) bool { return root.Covers(p) })
}

// roots are the directories made new for each attempt.
func (b *Bench) roots() []ir.Path {
	var out []ir.Path
	for _, slot := range b.own {
		at, _ := b.binding.At(slot)
		out = append(out, at)
	}
	for _, dir := range b.staged {
		out = append(out, b.stage(dir))
	}
	return out
}

// seen is the binding as the sandbox sees it.
func (b *Bench) seen() ir.Binding {
	out := b.binding
	for _, slot := range ir.Slots() {
		if at, bound := out.At(slot); bound && b.traits.Spelled != nil {
			out = out.With(slot, b.traits.Spelled(at))
		}
	}
	return out
}

// stage is the bench's directory that stands for dir.
func (b *Bench) stage(dir ir.Path) ir.Path { return b.dir.Join("host").Join(dir.Rel()) }

// place is where the path p lies on the bench.
func (b *Bench) place(p ir.Path) ir.Path { return b.moved(b.binding.Path(p)) }

// moved is p, or where it lies on the bench's stage.
func (b *Bench) moved(p ir.Path) ir.Path {
	for _, dir := range b.staged {
		if dir.Covers(p) {
			return b.stage(dir).Join(strings.TrimPrefix(strings.TrimPrefix(p.Rel(), dir.Rel()), "/"))
		}
	}
	return p
}

// placed is the request about the bench's own paths.
func (b *Bench) placed(q ir.Request) ir.Request {
	q.Path, q.To = b.place(q.Path), b.place(q.To)
	return q
}
