package runtime

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/run"
)

// command is what runs inside.
type command struct {
	path    string // as it is started
	argv    []string
	env     []string
	file    *os.File // the executable, open for hashing; nil when it is not hashed
	id      identity
	pin     string // the digest it must have, "" for any
	byFile  bool   // the opened file itself is started
	leased  bool   // file holds a lease: nobody may open it for writing
	result  *ir.Result
	timeout time.Duration // 0: none
	digest  chan digest
}

// digest is the executable's, once its bytes have been read.
type digest struct {
	hex string
	err error
}

// chooseCommand binds arguments and environment and opens the executable.
func (r *execution) chooseCommand() *Refusal {
	plan := r.linux.Plan
	c := &command{}
	r.command = c
	if refusal := r.environment(plan); refusal != nil {
		return refusal
	}
	governed, refusal := r.arguments(plan)
	if refusal != nil {
		return refusal
	}
	c.pin, c.result = governed.SHA256, governed.Result
	if ms, ok := plan.Limit(ir.Timeout); ok {
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	r.evidence.ArgvSHA256, r.evidence.Arguments = argvDigest(c.argv), len(c.argv)
	return r.openExecutable()
}

// environment is the policy's variables and what the runtime adds.
func (r *execution) environment(plan *run.Plan) *Refusal {
	stated, err := plan.Environment(r.binding)
	if err != nil {
		return refuse(Input, "", "%v", err)
	}
	added, err := plan.Additions(r.binding, func(p ir.Path) run.Found {
		switch n := r.survey.nodes[p]; {
		case n == nil || !n.exists():
			return run.Nothing
		case kindOf(n.stat.Mode) == bwrap.Directory:
			return run.Directory
		}
		return run.Program
	})
	if err != nil {
		return refuse(Input, "", "%v", err)
	}
	if r.out != nil {
		store := ""
		if r.out.trust != nil {
			store = trustStore
			added = append(added, plan.TrustVariables(trustBundle)...)
		}
		added = append(added, plan.ProxyVariables(proxyInside, "", r.out.direct(), store)...)
	}
	r.command.env = r.terminalKind(append(stated, added...))
	r.evidence.environment(r.command.env)
	return nil
}

// arguments is the argument vector: a governed command's with its fields filled
// in, or in development whatever was asked for.
func (r *execution) arguments(plan *run.Plan) (run.Command, *Refusal) {
	c := r.command
	if r.job.Development {
		if len(r.job.Argv) == 0 {
			return run.Command{}, refuse(Input, "", "there is no command to run")
		}
		c.argv = r.job.Argv
		refusal := r.find(r.job.Argv[0])
		return run.Command{}, refusal
	}
	governed, ok := plan.Command(r.job.Command)
	if !ok {
		return governed, noCommand(r.job.Policy, r.job.Command, plan)
	}
	argv, err := governed.Argv(r.job.Fields, r.binding)
	if err != nil {
		return governed, badFields(err)
	}
	c.argv, c.path = argv, argv[0]
	return governed, nil
}

// find is the path of a command: as it stands when it has a slash, else the first
// executable file of that name in the sandbox's PATH.
func (r *execution) find(name string) *Refusal {
	if strings.Contains(name, "/") {
		r.command.path = name
		if !path.IsAbs(name) {
			r.command.path = path.Join(r.directory(), name)
		}
		return nil
	}
	search := ""
	for _, v := range r.command.env {
		if after, ok := strings.CutPrefix(v, "PATH="); ok {
			search = after
		}
	}
	for dir := range strings.SplitSeq(search, ":") {
		at := path.Join(dir, name)
		var stat unix.Stat_t
		if path.IsAbs(dir) && unix.Stat(at, &stat) == nil && kindOf(stat.Mode) == bwrap.File && unix.Access(at, unix.X_OK) == nil {
			r.command.path = at
			return nil
		}
	}
	return notFound(name, search)
}

// directory is where the command starts.
func (r *execution) directory() string {
	if at, ok := r.binding.At(ir.Workspace); ok {
		return at.String()
	}
	return "/"
}

// defaultOpenFiles is the soft limit of descriptors where the policy states none:
// programs that use select(2) can have no more.
const defaultOpenFiles = 1024

// coreLimit keeps core dumps from being made, in bytes. It is below a page, the
// least that the kernel writes into a file; and where a program takes core dumps,
// to which no limit applies, 1 is the one that makes the kernel start none
// (do_coredump, fs/coredump.c). After a limit of 0 it would start it, as root and
// outside of the sandbox.
const coreLimit = 1

// rlimits are the kernel's limits for each process of the sandbox: those that are
// set first, and those that hold as soon as the command starts.
func (r *execution) rlimits() (list, last []rlimit) {
	plan := r.linux.Plan
	list = []rlimit{{unix.RLIMIT_CORE, coreLimit, coreLimit}}
	if v, ok := plan.Limit(ir.FileSize); ok {
		list = append(list, rlimit{unix.RLIMIT_FSIZE, uint64(v), uint64(v)})
	}
	if v, ok := plan.Limit(ir.CPUTime); ok {
		// SIGXCPU first, SIGKILL a second later (setrlimit(2)).
		list = append(list, rlimit{unix.RLIMIT_CPU, uint64(v), uint64(v) + 1})
	}
	files := rlimit{unix.RLIMIT_NOFILE, defaultOpenFiles, math.MaxInt64}
	if v, ok := plan.Limit(ir.OpenFiles); ok {
		files = rlimit{unix.RLIMIT_NOFILE, uint64(v), uint64(v)}
	}
	last = []rlimit{files}
	if r.bounds.ranked {
		n := uint64(r.bounds.processes) + 1 // PID 1 is bubblewrap, of the same user
		last = append(last, rlimit{unix.RLIMIT_NPROC, n, n})
	}
	return list, last
}

func noCommand(policy, name string, plan *run.Plan) *Refusal {
	var have []string
	for _, c := range plan.Commands {
		have = append(have, c.Name)
	}
	help := "it has " + list(have)
	if len(have) == 0 {
		help = fmt.Sprintf("it has none: add a block command %q, or run any program under it with obspc exec", name)
	}
	return refuse(Input, help, "policy %q has no command %q", policy, name)
}

func badFields(err error) *Refusal {
	return refuse(Input, "give each field its value with --arg NAME=VALUE", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

func notFound(name, search string) *Refusal {
	r := refuse(Input, hintName(name), "%s is in no directory of the sandbox's PATH (%s)", name, search)
	r.Word, r.Exit = ExecFailed, ExitNotFound
	return r
}

// cannotStart is a command that execve refuses, or would.
func cannotStart(path string, err error) *Refusal {
	r := refuse(Input, "", "%s cannot be started: %v", path, err)
	r.Word, r.Exit = ExecFailed, ExitNotRun
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		r.Exit = ExitNotFound
	}
	return r
}

// list is names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
