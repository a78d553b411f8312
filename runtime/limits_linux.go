package runtime

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/cgroup"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/bwrap"
)

// bounds is how the limits of one run are kept on this machine.
type bounds struct {
	memory, processes int64         // as the policy says; 0: no limit
	group             *cgroup.Group // nil: none
	grouped           cgroup.Limits // what the group keeps
	lacking           error         // why it does not keep all
	ranked            bool          // processes are kept by RLIMIT_NPROC
}

// limit finds a scope for each limit that satisfies the policy, and makes the
// cgroup that some need.
func (r *execution) limit() *Refusal {
	plan, b := r.linux.Plan, &r.bounds
	b.memory, _ = plan.Limit(ir.Memory)
	b.processes, _ = plan.Limit(ir.Processes)
	b.choose()
	for _, l := range plan.Limits {
		scope, by := b.keeps(l.Name)
		r.evidence.Limits = append(r.evidence.Limits, LimitEvidence{Name: string(l.Name), Value: l.Value, Scope: string(scope), By: by})
		if !slices.Contains(targets.Scopes(ir.Bwrap, l), scope) {
			return scopeLacking(l, scope, b.lacking)
		}
	}
	return nil
}

// choose finds what keeps the limits.
func (b *bounds) choose() {
	b.makeGroup()
	b.ranked = b.processes > 0 && b.grouped.Processes == 0 && countsBySandbox()
}

// makeGroup makes the group that keeps most of what it could.
func (b *bounds) makeGroup() {
	want := cgroup.Limits{Memory: b.memory, Processes: b.processes}
	if want == (cgroup.Limits{}) {
		return
	}
	for _, l := range []cgroup.Limits{want, {Memory: b.memory}, {Processes: b.processes}} {
		if l == (cgroup.Limits{}) || b.lacking != nil && l == want {
			continue
		}
		g, err := cgroup.New(l)
		if err == nil {
			b.group, b.grouped = g, l
			return
		}
		if b.lacking == nil {
			b.lacking = err
		}
	}
}

// countsBySandbox reports whether RLIMIT_NPROC counts what is in the sandbox, and
// that alone: since Linux 5.14 it counts by user namespace (kernel commit
// d64696905554). It binds nobody whose user is root outside (getrlimit(2)).
func countsBySandbox() bool {
	var name unix.Utsname
	return os.Getuid() != 0 && unix.Uname(&name) == nil && atLeast(unix.ByteSliceToString(name.Release[:]), 5, 14)
}

// atLeast reports whether a kernel's release is that version or a later one.
func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	have, err := strconv.Atoi(first)
	if err != nil || have != major {
		return err == nil && have > major
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	have, err = strconv.Atoi(digits)
	return err == nil && have >= minor
}

// keeps tells how a limit is kept, and by what.
func (b *bounds) keeps(name ir.LimitName) (ir.Scope, string) {
	switch name {
	case ir.Memory:
		if b.grouped.Memory > 0 {
			return ir.TreeScope, byCgroup
		}
		return ir.WatchedScope, byRuntime
	case ir.Processes:
		switch {
		case b.grouped.Processes > 0:
			return ir.TreeScope, byCgroup
		case b.ranked:
			return ir.TreeScope, byRlimit
		}
		return ir.WatchedScope, byRuntime
	case ir.OpenFiles, ir.FileSize, ir.CPUTime:
		return ir.ProcessScope, byRlimit
	case ir.TmpSize:
		return ir.RunScope, byMount
	case ir.WorkspaceSize:
		return ir.WatchedScope, byRuntime
	case ir.Timeout, ir.Stdout, ir.Stderr:
		return ir.RunScope, byRuntime
	}
	return "", ""
}

// confine sets the limits of the cgroup that setting up would have passed.
func (b *bounds) confine() error {
	if b.group == nil {
		return nil
	}
	return b.group.LimitProcesses()
}

// close takes the cgroup away.
func (b *bounds) close() error {
	if b.group == nil {
		return nil
	}
	err := b.group.Close()
	b.group = nil
	return err
}

// overrun says which limit the kernel has ended the run for; "" for none. It
// notes those that were reached and let the run go on.
func (r *execution) overrun() ir.LimitName {
	if r.bounds.group == nil {
		return ""
	}
	events, err := r.bounds.group.Events()
	if err != nil {
		r.evidence.Cleanup.Faults = append(r.evidence.Cleanup.Faults, err.Error())
	}
	if events.Forks > 0 {
		r.evidence.reached(ir.Processes)
	}
	if events.Kills > 0 {
		return ir.Memory
	}
	return ""
}

// limitOf is the limit of that name, as the policy states it or as the size of a
// memory file system.
func (r *execution) limitOf(name ir.LimitName) ir.Limit {
	for _, l := range r.linux.Plan.Limits {
		if l.Name == name {
			return l
		}
	}
	if r.table != nil {
		for _, e := range r.table.Entries {
			if e.Kind == bwrap.Memory && sizedBy(e.Path) == name {
				return ir.Limit{Name: name, Value: e.Size}
			}
		}
	}
	return ir.Limit{Name: name}
}

// endedBy notes the limit that ended the command. How is what was found, "" when
// that is all there is to say.
func (r *execution) endedBy(word Word, exit int, name ir.LimitName, how string) {
	e, l := r.evidence, r.limitOf(name)
	e.Outcome, e.EndedBy, r.outcome.Exit = word, string(name), exit
	e.reached(name)
	e.Reason = fmt.Sprintf("%s limit of %s reached", name, l.Amount())
	if how != "" {
		e.Reason += ": " + how
	}
	if word != Signaled {
		e.Reason += "; the command was killed with everything it had started"
	}
	e.Help = "raise " + attributeOf(name)
}

// signalled are the signals with which the kernel ends a process that has reached
// a limit (setrlimit(2)).
var signalled = map[int]ir.LimitName{int(unix.SIGXCPU): ir.CPUTime, int(unix.SIGXFSZ): ir.FileSize}

// limitBySignal notes the limit that a signal stands for. Who ignores SIGXCPU, as
// Go programs do, is killed a second later: SIGKILL alone tells nothing, so that
// much processor time must have been used.
func (r *execution) limitBySignal(signal int, end *ending) {
	name, ok := signalled[signal]
	limit, stated := r.linux.Plan.Limit(ir.CPUTime)
	how := ""
	if most := time.Duration(limit+1) * time.Second; !ok && signal == int(unix.SIGKILL) && stated && end.used >= most {
		name, ok, how = ir.CPUTime, true, fmt.Sprintf("%v were used, and SIGXCPU was ignored", end.used.Round(100*time.Millisecond))
	}
	if _, stated := r.linux.Plan.Limit(name); ok && stated {
		r.endedBy(Signaled, end.code, name, how)
	}
}

// exitKilled is the exit code of a command that a limit has killed: the kernel's
// own way is a SIGKILL.
const exitKilled = exitSignalled + int(unix.SIGKILL)

func scopeLacking(l ir.Limit, have ir.Scope, lacking error) *Refusal {
	help := `or let it be watched with scope = "watched"`
	var group *cgroup.LackingError
	if errors.As(lacking, &group) {
		help = group.Help + ", " + help
	}
	return refuse(Machine, help, "the kernel does not keep limits.%s for all processes of a run together here (scope %q, not %q): %v", l.Name, have, ir.TreeScope, lacking)
}

// noteFull notes the memory file systems that are full to the last page.
func (r *execution) noteFull(m *meter) {
	for _, w := range m.watches {
		tree, ok := w.(*treeWatch)
		if !ok {
			continue
		}
		for _, memory := range tree.memories {
			if memory.full() {
				r.evidence.full(memory.limit, memory.size)
			}
		}
	}
}

// limitLost is a run that could not be held to a limit any more.
func limitLost(b *breach) *Refusal {
	r := refuse(No, "", "%s could not be kept any more, so the command was killed with everything it had started: %s", attributeOf(b.limit), b.how)
	r.Word = LimitLost
	return r
}

// limitTooSmall is a limit that setting the sandbox up passes already.
func limitTooSmall(l ir.Limit) *Refusal {
	return setupFailed("raise "+attributeOf(l.Name), "%s limit of %s reached while the sandbox was set up", l.Name, l.Amount())
}
