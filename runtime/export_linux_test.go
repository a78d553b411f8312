package runtime

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/runtime/proxy"
	"github.com/obspc/obspc/runtime/trace"
	"github.com/obspc/obspc/targets/seccomp"
	"github.com/obspc/obspc/verify"
)

// Hurry shortens the times that a run which was broken off takes to end.
func Hurry(grace, reap time.Duration) (undo func()) {
	before := [...]time.Duration{graceTime, reapTime}
	graceTime, reapTime = grace, reap
	return func() { graceTime, reapTime = before[0], before[1] }
}

// UseRegistry registers the live runs of this process in a place of its own.
func UseRegistry(path string) { registryPlace = func(int) string { return path } }

// WithoutInotify lets protected names be watched by the timer alone.
func WithoutInotify() (undo func()) {
	inotify = func(int) (int, error) { return -1, unix.EMFILE }
	return func() { inotify = unix.InotifyInit1 }
}

// WithLandlock lets the kernel have that Landlock ABI, or none and the errno that
// says why.
func WithLandlock(abi int, why error) (undo func()) {
	before := landlockVersion
	landlockVersion = func() (int, error) { return abi, why }
	return func() { landlockVersion = before }
}

// RemoveMade is removeMade.
func RemoveMade(dir int, name string, since time.Time) error { return removeMade(dir, name, since) }

// ErrInterrupted is errInterrupted.
var ErrInterrupted = errInterrupted

// RemoveTree is removeTree of a path as text.
func RemoveTree(path string, stop func() bool) error {
	at, err := ir.NewPath(ir.Host, path)
	if err != nil {
		return err
	}
	return removeTree(at, stop)
}

// Prepared is what bwrap would be started with: the option stream and the seccomp
// program. What the run made on the host is taken away again.
func Prepared(v *verify.Verified, job Job) (stream, seccomp []byte, err error) {
	r := &execution{job: job, verified: v, evidence: NewEvidence(job.Development), outcome: &Outcome{}}
	defer r.cleanUp(func() bool { return false })
	if refusal := r.through(context.Background(), steps); refusal != nil {
		return nil, nil, refusal
	}
	return r.launch.stream, r.launch.seccomp, nil
}

// ExamineSandboxExec is examineSandboxExec.
var ExamineSandboxExec = examineSandboxExec

// InRehearsal hands on what bwrap would be started with for a policy, and the policy
// with its slots replaced, while everything that a run makes on the host is there.
// Limits, which the machine may not be able to keep, are left out.
func InRehearsal(v *verify.Verified, policy string, w Workspace, do func(stream, seccomp []byte, bound *ir.Policy)) error {
	job := Job{Policy: policy, Development: true, Workspace: w}
	r := &rehearsal{execution: &execution{job: job, verified: v, evidence: NewEvidence(true), outcome: &Outcome{}}}
	defer r.cleanUp(func() bool { return false })
	steps := slices.DeleteFunc(r.steps(), func(s step) bool { return s.name == "limit" })
	if refusal := r.through(context.Background(), steps); refusal != nil {
		return refusal
	}
	do(r.launch.stream, r.launch.seccomp, r.bound)
	return nil
}

// Mounts reads a mount table: which mounts can be met, and whether each is
// read-only.
func Mounts(text string) (map[string]bool, error) {
	all, err := parseMountinfo(text)
	out := map[string]bool{}
	for at, m := range reachable(all) {
		out[at] = m.readOnly()
	}
	return out, err
}

// Descriptors that a prepared stream refers to.
const (
	ArgsFD    = argsFD
	StatusFD  = statusFD
	SeccompFD = seccompFD
	SocketFD  = socketFD
)

// KindOf is the TERM that a terminal passes on.
func KindOf(t *Terminal) string { return t.kind }

// Enter makes a terminal raw.
func Enter(t *Terminal) error { return t.enter() }

// Guarded calls do as goroutines that serve a terminal are called.
func Guarded(t *Terminal, do func()) { t.guarded(do)() }

// CheckMaster is checkMaster.
func CheckMaster(fd int) error { return checkMaster(fd) }

// UseNames has names resolved by this table alone.
func UseNames(names map[string][]netip.Addr) (undo func()) {
	before := resolveHost
	resolveHost = func(_ context.Context, host string) ([]netip.Addr, error) {
		if list, ok := names[host]; ok {
			return list, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return func() { resolveHost = before }
}

// Outlet is what serves in the place of the proxy.
type Outlet = outlet

// UseOutlet has others serve in the place of the proxy.
func UseOutlet(another func(proxy.Config) Outlet) (undo func()) {
	before := newOutlet
	newOutlet = another
	return func() { newOutlet = before }
}

// Logged is the evidence of n decisions that are alike.
func Logged(n int, e proxy.Event) *EgressEvidence {
	var log egressLog
	for range n {
		log.add(e)
	}
	return log.evidence()
}

// CheckListener is checkListener.
func CheckListener(fd, init int) error { return checkListener(fd, init) }

// FirstWord is what is made of text and descriptors that a first process sends.
func FirstWord(listens, terminal bool, text []byte, fds []int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	if len(text) > 0 {
		err = unix.Sendmsg(pair[1], text, unix.UnixRights(fds...), nil, 0)
	}
	unix.Close(pair[1])
	if err != nil {
		return err
	}
	s := &sandbox{socket: pair[0], terminal: terminal, listens: listens}
	return s.firstWord()
}

// Told is how many of n accesses with names of that length are told apart, and how
// many only counted.
func Told(n, length int) (told, untold int) {
	p := &ir.Policy{Name: "p", Version: 1}
	t := &traced{setting: propose.Setting{Policy: p}, decider: ir.NewDecider(p), arch: seccomp.X86_64, index: map[string]int{}}
	for i := range n {
		name := fmt.Sprintf("/%s%d", strings.Repeat("x/", length/2), i)
		t.failed(trace.Attempt{Kind: ir.ReadRequest, Path: name, Errno: uint16(unix.ENOENT)})
	}
	return len(t.denied), t.untold
}

// Registry is where the live runs of this process are registered.
func Registry() string { return registryPlace(os.Geteuid()) }

// KilledAfter kills this process when a run has done that step.
func KilledAfter(name string) {
	for i := range steps {
		if do := steps[i].do; steps[i].name == name {
			steps[i].do = func(r *execution) *Refusal {
				if refusal := do(r); refusal != nil {
					return refusal
				}
				unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		}
	}
}

// NeedDomain is what a policy is refused with on a machine with that ABI of Landlock
// because of the calls that it allows.
func NeedDomain(p *ir.Policy, abi int) *Refusal {
	r := &execution{policy: p, evidence: NewEvidence(true)}
	r.evidence.Host.Landlock = abi
	return r.needDomain()
}
