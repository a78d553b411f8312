package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/runtime/domain"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/targets/seccomp"
)

// materialise makes the options for bwrap, reads them back and compares: what
// bwrap gets is what the verified operations mean here, or nothing is started
// (obligation O6 of the design).
func (r *execution) materialise() *Refusal {
	set, facts := r.linux.Set, r.survey.facts
	table, err := set.Table(r.binding, facts)
	if err != nil {
		return notKept(err)
	}
	fds := bwrap.FDs{Seccomp: seccompFD, Status: statusFD}
	for _, e := range table.Entries {
		if e.Kind == bwrap.HiddenFile {
			fds.Masks = append(fds.Masks, maskFD+len(fds.Masks))
		}
	}
	stream, err := table.Stream(fds)
	if err != nil {
		return notKept(err)
	}
	read, err := bwrap.ReadStream(stream)
	if err != nil {
		return refuse(Bug, "", "the options for bubblewrap are not read back: %v", err)
	}
	if diff := table.Diff(read); diff != "" {
		return refuse(Bug, "", "the options for bubblewrap do not mean what the policy says: %s", diff)
	}
	program, refusal := r.seccomp()
	if refusal != nil {
		return refusal
	}
	added, refusal := r.added()
	if refusal != nil {
		return refusal
	}
	r.table = table
	if refusal := r.wantTerminal(); refusal != nil {
		return refusal
	}
	if r.job.Workspace.Dir != "" && r.visibleDirectory() == "/" {
		r.job.notice("the policy does not grant the workspace, so the command starts in /")
	}
	if refusal := r.record(); refusal != nil {
		return refusal
	}
	r.launch = launch{
		tool: r.tool.path.String(), stream: stream, seccomp: program, added: added, masks: len(fds.Masks), stdin: r.job.Stdin != nil,
		terminal: r.job.Terminal != nil, traced: r.job.Trace, devices: ownDevices(r.bound, table), group: r.bounds.group,
		listens: r.out != nil,
	}
	r.evidence.Stream = &DigestEvidence{SHA256: hexSHA256(stream), Bytes: len(stream)}
	if refusal := r.needDomain(); refusal != nil {
		return refusal
	}
	return r.needLandlock()
}

// arches are Go's names of the architectures there are programs for.
var arches = map[string]seccomp.Arch{"amd64": seccomp.X86_64, "arm64": seccomp.AArch64}

func (r *execution) seccomp() ([]byte, *Refusal) {
	program, ok := r.linux.Seccomp[arches[goruntime.GOARCH]]
	if !ok {
		return nil, noProgram()
	}
	return program.Bytes(), nil
}

func (r *execution) needLandlock() *Refusal {
	host := r.evidence.Host
	if host.Landlock < r.linux.Landlock.Needs() {
		return noLandlock(host.Landlock, host.Kernel)
	}
	if asked := r.linux.Landlock.Asked(host.Landlock); asked.ABI > 0 {
		r.evidence.Landlock = &LandlockEvidence{
			ABI: asked.ABI, Needed: r.linux.Landlock.Needs(), Files: asked.Names(landlock.File, landlock.Directory),
			Scopes: asked.Names(landlock.Scope), Logging: asked.Names(landlock.Logging),
		}
	}
	return nil
}

// checkExecute holds execute rules that lead over links to a rule for what they
// lead to: Landlock knows files and not names, so it would let the target start
// under every name. What is missing is reported together with what bwrap lacks.
func (r *execution) checkExecute() *Refusal {
	lacking := false
	for _, rule := range r.policy.Execute {
		n := r.executed(rule)
		switch {
		case n == nil:
		case !n.exists():
			lacking = lacking || !rule.Optional
		default:
			if refusal := r.linkedExecute(rule, n); refusal != nil {
				return refusal
			}
		}
	}
	if !lacking {
		return nil
	}
	all := r.lacking()
	first := *all[0]
	first.Others = all[1:]
	return notKept(&first)
}

// executed is what stands at the path of an execute rule; nil when that is no path
// of the machine.
func (r *execution) executed(rule ir.ExecuteRule) *node {
	at := r.binding.Path(rule.Path)
	if at.Root() != ir.Host {
		return nil
	}
	return r.survey.nodes[at]
}

// linkedExecute refuses an execute rule whose links lead to what no execute rule
// covers.
func (r *execution) linkedExecute(rule ir.ExecuteRule, n *node) *Refusal {
	if len(n.links) == 0 || slices.ContainsFunc(r.bound.Execute, func(other ir.ExecuteRule) bool { return other.Covers(n.real) }) {
		return nil
	}
	return linkedExecute(rule, n.real)
}

// lacking lists the paths that rules need and the machine does not have, each
// once.
func (r *execution) lacking() []*bwrap.MissingError {
	var all []*bwrap.MissingError
	_, err := r.linux.Set.Placeholders(r.binding, r.survey.facts)
	var missing *bwrap.MissingError
	if errors.As(err, &missing) {
		all = append(append(all, missing), missing.Others...)
	}
	for _, rule := range r.policy.Execute {
		if n := r.executed(rule); n != nil && !n.exists() && !rule.Optional {
			all = append(all, &bwrap.MissingError{Path: r.binding.Path(rule.Path), Stated: rule.Path, Origin: rule.Origin})
		}
	}
	seen := map[ir.Path]bool{}
	return slices.DeleteFunc(all, func(m *bwrap.MissingError) bool {
		again := seen[m.Path]
		seen[m.Path] = true
		return again
	})
}

// instructions is what the first process is told.
func (r *execution) instructions() *instructions {
	c := r.command
	do := &instructions{
		Path: []byte(c.path), Argv: bytesOf(c.argv), Env: bytesOf(c.env), Dir: r.visibleDirectory(), Command: c.id, ByFile: c.byFile,
		Domain: r.domain(), Terminal: r.launch.terminal, Listen: r.launch.listens,
		Filter: r.launch.added,
	}
	if r.out != nil {
		do.Trust = r.out.trust
	}
	do.Limits, do.Last = r.rlimits()
	for _, at := range r.compared {
		n := r.survey.nodes[at]
		do.Nodes = append(do.Nodes, wantedNode{at.String(), n.stat.Dev, n.stat.Ino})
	}
	return do
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// visibleDirectory is where the command starts: directory, if the sandbox shows it.
func (r *execution) visibleDirectory() string {
	at, ok := r.binding.At(ir.Workspace)
	if !ok {
		return "/"
	}
	for _, e := range r.table.Entries {
		if at.Covers(e.Path) || e.Kind == bwrap.HostNode && e.Path.Covers(at) {
			return at.String()
		}
	}
	return "/"
}

// domain is what Landlock is asked for; nil where no domain is made. One is made
// wherever the kernel can, whether or not the policy needs it: beside the files,
// what is in it cannot look into processes outside of it (landlock(7)), PID 1,
// through /proc/1/mem and /proc/1/fd, which no filter of calls sees.
func (r *execution) domain() *domain.Request {
	return domain.For(r.linux.Landlock, r.evidence.Host.Landlock, r.binding, func(path string) bool {
		at, err := ir.NewPath(ir.Host, path)
		if err != nil {
			diag.Bug("landlock rule for %q: %v", path, err)
		}
		// Those that lead over links of the machine: checkExecute and bwrap.Table found a
		// rule for what they lead to. Those of the minimal /dev lead to /proc.
		n := r.survey.nodes[at]
		return n != nil && len(n.links) > 0 || r.table.Decides(at).Kind == bwrap.SymbolicLink
	})
}

func noProgram() *Refusal {
	r := refuse(Machine, "run on amd64 or arm64", "there is no seccomp program for %s", goruntime.GOARCH)
	r.check = seccompFilter
	return r
}

func noLandlock(have int, kernel string) *Refusal {
	abi := "none"
	if have > 0 {
		abi = fmt.Sprintf("ABI %d", have)
	}
	return refuse(Machine, "use Linux 5.19 or later with landlock in the lsm= boot parameter, or let everything readable start (execute)",
		"this policy says what may be executed, which needs Landlock ABI %d; Linux %s here has %s", landlock.ABI, kernel, abi)
}

func linkedExecute(rule ir.ExecuteRule, real ir.Path) *Refusal {
	return refuse(No, "name that under execute", "%s (%s) leads to %s, which no execute rule covers", rule.Path, rule.Origin, real).about(rule.Origin)
}
