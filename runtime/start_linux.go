package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/registry"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/verify"
)

// Start runs one job to its end. The Outcome is never nil; the error is a
// *Refusal when obspc refused, failed, or will not vouch for what came out. When
// ctx ends, the sandbox is killed, cleaned up and reported; an Interrupt as its
// cause gives the exit code.
func Start(ctx context.Context, v *verify.Verified, job Job) (*Outcome, error) {
	r := &execution{job: job, verified: v, evidence: NewEvidence(job.Development), outcome: &Outcome{}}
	r.outcome.Evidence = r.evidence
	began := time.Now()
	refusal := r.onOwnThread(ctx, r.do)
	r.evidence.timed(began)
	if refusal != nil {
		r.evidence.refusedBy(refusal)
		r.outcome.Exit = refusal.Exit
		return r.outcome, refusal
	}
	r.evidence.ExitCode = r.outcome.Exit
	return r.outcome, nil
}

// onOwnThread runs the job on a thread that serves nothing else and ends with it:
// bwrap dies with the thread that starts it, and that thread may have a mount
// namespace of its own.
func (r *execution) onOwnThread(ctx context.Context, do func(context.Context) *Refusal) *Refusal {
	var refusal *Refusal
	var fault any
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		defer close(done)
		defer func() { fault = recover() }()
		defer r.cleanUp(patience(ctx))
		defer r.job.Terminal.Restore()
		refusal = do(ctx)
	}()
	<-done
	if fault != nil {
		panic(fault)
	}
	return refusal
}

// execution is one job on its way.
type execution struct {
	job      Job
	verified *verify.Verified
	evidence *Evidence
	outcome  *Outcome

	policy  *ir.Policy // as released: slots symbolic
	linux   *targets.Linux
	tool    *tool
	binding ir.Binding
	bound   *ir.Policy // slots replaced
	fresh   ir.Path    // the workspace that was made; "/" when none was
	survey  *survey
	made    placeholders

	registry *registry.Registry
	live     *registry.Run // this run's entry
	trusts   []ir.Path     // what obspc trusts, and the links that lead there
	cut      func() bool   // whether the caller has broken off

	table *bwrap.Table
	// compared are the paths that the first process looks at, covered those that
	// something is mounted over.
	compared, covered []ir.Path
	command           *command
	bounds            bounds
	launch            launch
	out               *wayOut // nil when the policy has no endpoint
	traced            *traced // nil when nobody asked for a trace
}

// step is one thing that happens before anything is started.
type step struct {
	name string
	do   func(*execution) *Refusal
	why  string
}

// steps are all of them, in order.
var steps = []step{
	{"choose", (*execution).choose, "the policy and its Linux artifacts, from verified bytes"},
	{"tool", (*execution).findTool, "a bubblewrap that only root can change"},
	{"enrol", (*execution).enrol, "what dead runs have left is taken away, and this one can be found"},
	{"bind", (*execution).bind, "slots get paths that the policy admits"},
	{"protect", (*execution).protect, "what obspc trusts stays out of the command's reach"},
	{"look", (*execution).look, "what stands at every path the policy names"},
	{"command", (*execution).chooseCommand, "arguments that fit their forms, and a file to start"},
	{"limit", (*execution).limit, "each limit has a scope that satisfies the policy"},
	{"workspace", (*execution).checkWorkspace, "the workspace is not past its limit already"},
	{"register", (*execution).register, "no live run is in another's way"},
	{"hold", (*execution).hold, "missing protected names stay missing"},
	{"materialise", (*execution).materialise, "the options, read back and compared"},
}

func (r *execution) do(ctx context.Context) *Refusal {
	if refusal := r.through(ctx, steps); refusal != nil {
		return refusal
	}
	return r.supervise(ctx)
}

// through goes through the steps, until one refuses.
func (r *execution) through(ctx context.Context, steps []step) *Refusal {
	r.cut = func() bool { return ctx.Err() != nil }
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return cancelled(ctx)
		}
		if refusal := step.do(r); refusal != nil {
			return refusal
		}
	}
	return nil
}

// choose takes the policy and its artifacts from the release.
func (r *execution) choose() *Refusal {
	r.evidence.Policy, r.evidence.Command = r.job.Policy, r.job.Command
	r.evidence.release(r.verified)
	r.policy = r.verified.IR(r.job.Policy)
	if r.policy == nil {
		return noPolicy(r.job.Policy, r.verified.Policies())
	}
	r.evidence.Version = r.policy.Version
	if !r.policy.HasTarget(ir.Bwrap) {
		return notForLinux(r.job.Policy)
	}
	r.linux = r.verified.Linux(r.job.Policy)
	if r.linux == nil {
		return notForLinux(r.job.Policy)
	}
	r.evidence.artifacts(r.verified, r.job.Policy)
	return nil
}

func (r *execution) findTool() (refusal *Refusal) {
	if refusal := sameUser(); refusal != nil {
		return refusal
	}
	if r.tool, refusal = findTool(r.job.Bwrap); refusal == nil {
		r.evidence.Host.Bwrap = &FileEvidence{
			Path: r.tool.path.String(), SHA256: r.tool.digest, Version: r.tool.version,
			Device: r.tool.identity.Dev, Inode: r.tool.identity.Ino,
		}
	}
	return refusal
}

// sameUser refuses to run with the rights of two users.
func sameUser() *Refusal {
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return changedUser()
	}
	return nil
}

func (r *execution) bind() *Refusal {
	kind, refusal := r.job.kind(r.policy)
	if refusal != nil {
		return refusal
	}
	r.binding, r.fresh, refusal = bind(r.policy, kind, r.job.Workspace.Dir, r.live.NoteFresh)
	r.evidence.bound(r.binding, kind)
	if refusal != nil {
		return refusal
	}
	r.noticeHome()
	return r.admit()
}

// noticeHome warns of a workspace that holds everything the caller has.
func (r *execution) noticeHome() {
	at, ok := r.binding.At(ir.Workspace)
	if !ok || r.fresh == at {
		return
	}
	if home, err := Home(os.Getuid()); err == nil && home == at {
		r.job.notice(fmt.Sprintf("the workspace is your home directory %s: what the policy says of the workspace holds for all of it", at))
	}
}

// admit holds the binding against the policy and binds the policy's paths.
func (r *execution) admit() *Refusal {
	bound, err := r.policy.Bind(r.binding)
	var inadmissible *ir.InadmissibleError
	switch {
	case errors.As(err, &inadmissible):
		return bindingRefused(inadmissible)
	case err != nil:
		return refuse(Input, "", "%v", err)
	}
	r.bound = bound
	return nil
}

// protect binds the slot config where that is needed.
func (r *execution) protect() *Refusal {
	if refusal := ownPrograms(r.bound, r.tool.path); refusal != nil {
		return refusal
	}
	if refusal := r.registryHeld(); refusal != nil {
		return refusal
	}
	list, refusal := findTrusts(r.job.Trusted)
	if refusal != nil {
		return refusal
	}
	for _, t := range list {
		r.trusts = append(r.trusts, t.names...)
	}
	carve, found, refusal := trusted(r.bound, list)
	if refusal != nil || !found {
		return refusal
	}
	r.binding = r.binding.With(ir.Config, carve)
	r.evidence.CarveOut = carve.String()
	return r.admit()
}

// named are the paths of the machine that facts are taken of.
func (r *execution) named() []ir.Path {
	paths := r.linux.Set.NamedPaths(r.binding)
	for _, e := range r.bound.Execute {
		paths = append(paths, e.Path)
	}
	return append(paths, r.programs()...)
}

// look takes the facts.
func (r *execution) look() (refusal *Refusal) {
	if r.survey, refusal = look(r.bound, r.named()); refusal != nil {
		return refusal
	}
	r.evidence.Facts = r.survey.evidence()
	if refusal := r.survey.checkLinkCounts(r.bound, r.fresh); refusal != nil {
		return refusal
	}
	if refusal := r.bindEgress(); refusal != nil {
		return refusal
	}
	return r.checkExecute()
}

// hold makes the placeholders and takes their facts.
func (r *execution) hold() *Refusal {
	wanted, err := r.linux.Set.Placeholders(r.binding, r.survey.facts)
	if err != nil {
		return notKept(err)
	}
	noted := make([]registry.Placeholder, len(wanted))
	for i, w := range wanted {
		noted[i] = registry.Placeholder{Node: registry.Node{Path: w.Path}, Directory: w.Directory}
	}
	if err := r.live.NotePlaceholders(noted); err != nil {
		return noRegistry(r.registry.Path(), err)
	}
	for i, w := range wanted {
		if err := r.made.add(w.Path, w.Directory); err != nil {
			return notHeld(w.Path, err)
		}
		r.survey.facts[w.Path] = w.Fact()
		n := r.made.last()
		r.survey.nodes[w.Path] = n
		noted[i].Dev, noted[i].Ino = n.stat.Dev, n.stat.Ino
		r.evidence.Cleanup.Placeholders = append(r.evidence.Cleanup.Placeholders, w.Path.String())
	}
	joined, refusal := r.join()
	if refusal != nil {
		return refusal
	}
	if err := r.live.NotePlaceholders(append(noted, joined...)); err != nil {
		return noRegistry(r.registry.Path(), err)
	}
	return nil
}

// join takes part in every placeholder of another live run that this one took for
// something of the machine's own: it is another kind of missing thing to that run, or
// its command has changed it. Were it removed under this run, what is mounted on it
// would go as well.
func (r *execution) join() ([]registry.Placeholder, *Refusal) {
	var joined []registry.Placeholder
	for _, p := range r.live.Held() {
		n := r.survey.nodes[p.Path]
		if n == nil || !n.exists() || len(n.links) > 0 || r.made.include(p.Path) {
			continue
		}
		directory := kindOf(n.stat.Mode) == bwrap.Directory
		switch {
		case p.Ino == 0: // that run has not said yet what it made
			return nil, notHeld(p.Path, fmt.Errorf("%s: %w", p.Path, errTaken))
		case p.Dev != n.stat.Dev || p.Ino != n.stat.Ino:
			continue // something else has that name by now
		}
		if err := r.made.join(p.Path, directory, &n.stat); err != nil {
			return nil, notHeld(p.Path, err)
		}
		joined = append(joined, registry.Placeholder{Node: registry.Node{Path: p.Path, Dev: n.stat.Dev, Ino: n.stat.Ino}, Directory: directory})
	}
	return joined, nil
}

// notHeld reports a name that could come to be during the run: nothing can be put there
// to stand in its way.
func notHeld(at ir.Path, err error) *Refusal {
	above, _ := at.Parent()
	help := fmt.Sprintf("make %s beforehand, or let this user make files in %s; or take the statement about it out of the policy", at, above)
	if errors.Is(err, errTaken) {
		help = "" // it says what to do
	}
	return refuse(Machine, help, "a missing protected name cannot be kept missing: %v", err)
}

// graceTime is how long a run that its caller broke off goes on cleaning up and
// passing output on. Tests shorten it.
var graceTime = time.Second

// patience tells when to give up cleaning: graceTime after it was first asked on
// a broken-off run.
func patience(ctx context.Context) (stop func() bool) {
	var since time.Time
	return func() bool {
		switch {
		case ctx.Err() == nil:
			return false
		case since.IsZero():
			since = time.Now()
		}
		return time.Since(since) > graceTime
	}
}

// cleanUp takes away what the run made on the host. What it leaves, evidence
// names.
func (r *execution) cleanUp(stop func() bool) {
	defer r.unregister()
	c := &r.evidence.Cleanup
	if err := r.bounds.close(); err != nil {
		c.Faults = append(c.Faults, err.Error())
	}
	left, err := r.made.remove()
	for _, p := range left {
		c.Left = append(c.Left, p.String())
	}
	if err != nil {
		c.Faults = append(c.Faults, err.Error())
	}
	if r.fresh.IsRoot() {
		return
	}
	if err := removeTree(r.fresh, stop); err != nil {
		c.Left = append(c.Left, r.fresh.String())
		c.Faults = append(c.Faults, err.Error())
		return
	}
	c.WorkspaceRemoved = true
}

// cancelled is a run that its caller broke off before anything was started.
func cancelled(ctx context.Context) *Refusal {
	r := refuse(No, "", "the run was cancelled")
	r.Word = Cancelled
	var i Interrupt
	if errors.As(context.Cause(ctx), &i) {
		r.Exit = exitSignalled + i.Signal
	}
	return r
}

func noPolicy(name string, have []string) *Refusal {
	return refuse(Input, "it has "+list(have), "the release has no policy %q that may be used", name)
}

func changedUser() *Refusal {
	return refuse(Machine, "take the setuid and setgid bits away", "obsrun runs as its caller and as nobody else")
}

func notForLinux(name string) *Refusal {
	return refuse(Input, `add "bwrap" to its targets`, "policy %q is not compiled for Linux", name)
}

// notKept is what a target says about a binding and its facts: of several faults,
// the first.
func notKept(err error) *Refusal {
	err = each(err)[0]
	var missing *bwrap.MissingError
	var link *bwrap.LinkError
	var node *bwrap.NodeError
	var binding *bwrap.BindingError
	switch {
	case errors.As(err, &missing):
		return missingPaths(missing)
	case errors.As(err, &link):
		return refuse(No, "", "%v", err).about(link.Origin)
	case errors.As(err, &node):
		return refuse(Machine, "", "%v", err).about(node.Origin)
	case errors.As(err, &binding):
		return refuse(Input, "", "%v", err).about(binding.Origin, binding.From)
	}
	return refuse(Bug, "", "%v", err)
}

// each is the errors that err joins, or err alone.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func missingPaths(m *bwrap.MissingError) *Refusal {
	r := refuse(Machine, "", "%v", m).about(m.Origin)
	for _, other := range m.Others {
		r.Statements = append(r.Statements, other.Origin)
	}
	return r
}
