package runtime

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/runtime/trace"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/seccomp"
)

// maxTold bounds how many different accesses are told apart, and maxText the bytes
// of their names: a command can think of names without end.
const (
	maxTold = 4096
	maxText = 2 << 20
)

// traced collects what failed in one run.
type traced struct {
	setting propose.Setting
	place   func(ir.Origin) (file string, line int, ok bool)
	decider *ir.Decider
	program seccomp.Program
	added   seccomp.Program // what the policy denies
	arch    seccomp.Arch
	tracer  *trace.Tracer

	index   map[string]int // where each access that was told apart stands
	text    int            // bytes of its keys
	denied  []propose.Access
	tighter []propose.Access
	calls   []propose.Call
	unnamed int
	untold  int
}

// attach begins to trace the first process, which waits for the go byte.
func (r *execution) attach(s *sandbox) *Refusal {
	if !r.job.Trace {
		return nil
	}
	arch := arches[goruntime.GOARCH]
	r.traced = &traced{
		setting: propose.Setting{Policy: r.policy, Binding: r.withHome(), Homes: homes(), Keeps: kept},
		decider: ir.NewDecider(r.bound), program: r.linux.Seccomp[arch], added: r.linux.Denied[arch], arch: arch, index: map[string]int{},
	}
	if r.traced.place = r.job.Places; r.traced.place == nil {
		r.traced.place = func(ir.Origin) (string, int, bool) { return "", 0, false }
	}
	tracer, err := trace.Attach(s.first, r.traced.failed)
	if err != nil {
		return noTrace(err)
	}
	r.traced.tracer = tracer
	return nil
}

// withHome is the binding, and the slot home where the policy does not use it: what
// lies there is stated so.
func (r *execution) withHome() ir.Binding {
	if _, bound := r.binding.At(ir.Home); bound {
		return r.binding
	}
	home, err := Home(os.Getuid())
	if with := r.binding.With(ir.Home, home); err == nil && r.policy.Admit(with) == nil {
		return with
	}
	return r.binding
}

// homes is where the caller's home directory is, as it is named and where links lead:
// what the user database says, and what $HOME says, for in containers and for users that
// a directory service knows the two differ, and programs heed the latter. What is no
// home is only not proposed, so a wrong $HOME gives nothing away.
func homes() []ir.Path {
	named := []string{os.Getenv("HOME")}
	if home, err := Home(os.Getuid()); err == nil {
		named = append(named, home.String())
	}
	var out []ir.Path
	for _, home := range named {
		if !filepath.IsAbs(home) {
			continue
		}
		real, _ := filepath.EvalSymlinks(home)
		for _, text := range []string{home, real} {
			if at, err := ir.NewPath(ir.Host, text); err == nil && !at.IsRoot() && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// kept says why the targets could not keep a policy.
func kept(p *ir.Policy) error {
	found := targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} })
	for _, d := range found {
		if d.Severity == diag.Error {
			return errors.New(d.Message)
		}
	}
	_, err := bwrap.Compile(p)
	return err
}

// report is what was seen.
func (t *traced) report() (*propose.Report, error) {
	found, err := propose.For(t.setting, t.denied)
	if err != nil {
		return nil, err
	}
	out := propose.NewReport(t.setting, ir.Bwrap, found, t.place)
	for _, a := range t.tighter {
		out.Tighter = append(out.Tighter, propose.TriedOf(t.setting.Binding, a))
	}
	out.Calls = append(out.Calls, t.calls...)
	out.Unnamed, out.Untold = t.unnamed, t.untold
	return out, nil
}

// tell puts what was seen into the evidence. That the command itself was not
// started is among it.
func (r *execution) tell(end *ending) *Refusal {
	if r.traced == nil {
		return nil
	}
	r.traced.tracer.Wait()
	if f := end.fault; f != nil && f.Exec {
		a := trace.Attempt{Kind: ir.ExecuteRequest, Path: r.command.path, Errno: uint16(f.Errno)}
		if asked, err := request(a); err == nil {
			r.traced.startFailed(a, asked)
		}
	}
	report, err := r.traced.report()
	if err != nil {
		return refuse(Bug, "", "%v", err)
	}
	r.evidence.Trace = report
	return nil
}

// failed judges one access that failed, while its program stands still.
func (t *traced) failed(a trace.Attempt) {
	data := seccomp.Call(t.arch, a.Number, a.Arguments[:]...)
	programs := []seccomp.Program{t.program}
	if t.setting.Policy.DeniesSyscalls() {
		programs = append(programs, t.added)
	}
	refused := false
	for _, p := range programs {
		if n, ok := seccomp.Run(p, data).Errno(); ok {
			refused = true
			if n == a.Errno {
				t.refusedCall(a, data)
				return
			}
		}
	}
	if refused {
		return
	}
	if a.Kind == "" {
		return
	}
	r, err := request(a)
	if err != nil {
		t.unnamed++
		return
	}
	if r.Kind == ir.ExecuteRequest {
		t.startFailed(a, r)
		return
	}
	t.judge(a, r)
}

// request is the attempt as a request of the bound policy.
func request(a trace.Attempt) (ir.Request, error) {
	r := ir.Request{Kind: a.Kind}
	var err error
	if by, failed := ir.NewPath(ir.Host, a.Program); failed == nil {
		r.By, r.HasBy = by, a.Kind == ir.ConnectRequest
	}
	if a.Kind == ir.ConnectRequest {
		r.Addr, r.Port = a.Peer.Addr().WithZone(""), a.Peer.Port()
		return r, nil
	}
	if r.Path, err = ir.NewPath(ir.Host, a.Path); err == nil && a.Kind.Pairs() {
		r.To, err = ir.NewPath(ir.Host, a.To)
	}
	return r, err
}

// judge notes an access that the policy denies, or that only the target does.
func (t *traced) judge(a trace.Attempt, r ir.Request) {
	name := unix.ErrnoName(unix.Errno(a.Errno))
	if t.decider.Decide(r).Allow {
		t.note(&t.tighter, "tighter", propose.Access{Request: r, Program: a.Program, Errno: name}, func(m propose.Machine) bool {
			return isRefusal(a.Errno) && !m.Missing && !m.Refused && !m.There
		})
		return
	}
	t.note(&t.denied, "denied", propose.Access{Request: r, Program: a.Program, Errno: name}, func(propose.Machine) bool { return true })
}

// isRefusal reports whether an error says that something may not be, rather than
// that it is not there.
func isRefusal(errno uint16) bool {
	return slices.Contains([]unix.Errno{unix.EACCES, unix.EPERM, unix.EROFS, unix.EXDEV}, unix.Errno(errno))
}

// note counts an access; what the machine would have said is asked once.
func (t *traced) note(list *[]propose.Access, which string, a propose.Access, counts func(propose.Machine) bool) {
	key := strings.Join([]string{which, a.Request.String(), a.Program, a.Errno}, "\x00")
	i, known := t.index[key]
	switch {
	case known && i < 0:
		return
	case known:
		(*list)[i].Count++
		return
	case !t.room(key):
		return
	}
	a.Count, a.Machine = 1, machineHas(a.Request)
	if t.index[key] = -1; counts(a.Machine) {
		t.index[key] = len(*list)
		*list = append(*list, a)
	}
}

// room reports whether one more access can be told apart, and counts it if not.
func (t *traced) room(key string) bool {
	if len(t.index) >= maxTold || t.text+len(key) > maxText {
		t.untold++
		return false
	}
	t.text += len(key)
	return true
}

// refusedCall counts a system call that the seccomp program refused.
func (t *traced) refusedCall(a trace.Attempt, data seccomp.Data) {
	c := propose.Call{Program: a.Program, Errno: unix.ErrnoName(unix.Errno(a.Errno))}
	c.Name, c.What = seccomp.Describe(t.arch, data)
	key := strings.Join([]string{"call", c.Name, c.What, c.Program, c.Errno}, "\x00")
	if i, known := t.index[key]; known {
		t.calls[i].Count++
		return
	}
	if !t.room(key) {
		return
	}
	c.Count = 1
	if rule := t.setting.Policy.Syscall(c.Name); rule != nil && !rule.Allow {
		c.Rule = propose.RuleFor(rule, t.place)
	}
	t.index[key] = len(t.calls)
	t.calls = append(t.calls, c)
}

// startFailed judges a program that could not be started, and each interpreter that
// the kernel would have opened for it: execve says the same of all of them.
func (t *traced) startFailed(a trace.Attempt, r ir.Request) {
	for what := range maxInterpreters {
		n, err := lookup(r.Path)
		if err != nil {
			return
		}
		if !t.decider.Decide(r).Allow || what == 0 && !n.exists() {
			t.judge(a, r)
		}
		if !n.exists() {
			return
		}
		next, _ := interpreter(n.real.String())
		if r.Path, err = ir.NewPath(ir.Host, next); err != nil {
			return // it has none
		}
		if n, err = lookup(r.Path); err == nil && n.exists() {
			r.Path = n.real // the kernel starts a file, whatever name led to it
		}
	}
}

// noTrace is a machine on which nothing can be traced.
func noTrace(err error) *Refusal {
	help := "leave --trace out; in a container its seccomp profile has to admit ptrace"
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if s := strings.TrimSpace(string(scope)); s == "3" {
		help = "sysctl kernel.yama.ptrace_scope is 3, which no process can change before the next start"
	}
	return refuse(Machine, help, "this machine lets nothing be traced, so nothing was started: %v", err)
}
