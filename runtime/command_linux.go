package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	r.evidence.limits(plan)
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
	r.command.env = append(stated, added...)
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

// maxHashed bounds the executables whose digest is taken, in bytes: more would
// only keep the machine busy.
const maxHashed = 1 << 30

// openExecutable notes which file will be started, and opens it for hashing if the
// policy lets the command read it: a link that an earlier run planted may lead
// anywhere, and merely opening a device can have effects.
func (r *execution) openExecutable() *Refusal {
	c := r.command
	node, err := unix.Open(c.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return cannotStart(c.path, err)
	}
	defer unix.Close(node)
	var stat unix.Stat_t
	if err := unix.Fstat(node, &stat); err != nil {
		return cannotStart(c.path, err)
	}
	if kindOf(stat.Mode) != bwrap.File || stat.Mode&0o111 == 0 {
		return cannotStart(c.path, unix.EACCES)
	}
	c.id = identityOf(&stat)
	e := &FileEvidence{Path: c.path, Device: stat.Dev, Inode: stat.Ino}
	r.evidence.Executable = e
	switch {
	case !r.mayRead(node):
		e.Unhashed = "the policy does not let the command read it"
	case stat.Size > maxHashed:
		e.Unhashed = fmt.Sprintf("it is longer than %d bytes", maxHashed)
	default:
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", node), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return cannotStart(c.path, err)
		}
		c.file = os.NewFile(uintptr(fd), c.path)
		var magic [4]byte
		n, _ := unix.Pread(fd, magic[:], 0)
		c.byFile = c.pin != "" && string(magic[:n]) == "\x7fELF"
		return nil
	}
	if c.pin != "" {
		return unhashedExecutable(c.path, e.Unhashed)
	}
	return nil
}

// mayRead reports whether the policy lets the command read the node, which is
// open: by its real path, whatever links led there.
func (r *execution) mayRead(node int) bool {
	real, err := unixReadlink(fmt.Sprintf("/proc/self/fd/%d", node))
	if err != nil {
		return false
	}
	at, err := ir.NewPath(ir.Host, real)
	if err != nil {
		return false
	}
	answer := ir.NewDecider(r.bound).Decide(ir.Request{Kind: ir.ReadRequest, Path: at})
	rule, ok := answer.Rule.(*ir.FileRule)
	return answer.Allow && ok && rule.Backing == ir.HostFile
}

// hash reads the executable beside everything else that happens, until ctx ends.
func (c *command) hash(ctx context.Context) {
	c.digest = make(chan digest, 1)
	if c.file == nil {
		c.digest <- digest{}
		return
	}
	go func() {
		defer c.file.Close()
		h := sha256.New()
		_, err := io.Copy(h, io.LimitReader(whileWanted{ctx, c.file}, maxHashed+1))
		c.digest <- digest{hex.EncodeToString(h.Sum(nil)), err}
	}()
}

// whileWanted reads until ctx ends.
type whileWanted struct {
	ctx  context.Context
	from io.Reader
}

func (w whileWanted) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.from.Read(p)
}

// checkDigest waits for the digest and holds it against the pin.
func (r *execution) checkDigest(ctx context.Context) *Refusal {
	var d digest
	select {
	case d = <-r.command.digest:
	case <-ctx.Done():
		return cancelled(ctx)
	case <-time.After(setUpTime):
		return slowExecutable(r.command.path)
	}
	if d.err != nil {
		return cannotStart(r.command.path, d.err)
	}
	r.evidence.Executable.SHA256 = d.hex
	if pin := r.command.pin; pin != "" && pin != d.hex {
		return wrongExecutable(r.command.path, pin, d.hex)
	}
	return nil
}

// defaultOpenFiles is the soft limit of descriptors where the policy states none:
// programs that use select(2) can have no more.
const defaultOpenFiles = 1024

// rlimits are the kernel's limits for each process of the sandbox, and that of
// descriptors apart.
func rlimits(plan *run.Plan) (list []rlimit, files rlimit) {
	list = []rlimit{{unix.RLIMIT_CORE, 0, 0}}
	if v, ok := plan.Limit(ir.FileSize); ok {
		list = append(list, rlimit{unix.RLIMIT_FSIZE, uint64(v), uint64(v)})
	}
	if v, ok := plan.Limit(ir.CPUTime); ok {
		// SIGXCPU first, SIGKILL a second later (setrlimit(2)).
		list = append(list, rlimit{unix.RLIMIT_CPU, uint64(v), uint64(v) + 1})
	}
	files = rlimit{unix.RLIMIT_NOFILE, defaultOpenFiles, math.MaxInt64}
	if v, ok := plan.Limit(ir.OpenFiles); ok {
		files = rlimit{unix.RLIMIT_NOFILE, uint64(v), uint64(v)}
	}
	return list, files
}

func noCommand(policy, name string, plan *run.Plan) *Refusal {
	var have []string
	for _, c := range plan.Commands {
		have = append(have, c.Name)
	}
	return refuse(Input, "it has "+list(have), "policy %q has no command %q", policy, name)
}

func badFields(err error) *Refusal {
	return refuse(Input, "give each field its value with --arg NAME=VALUE", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

func notFound(name, search string) *Refusal {
	r := refuse(Input, "", "%s is in no directory of the sandbox's PATH (%s)", name, search)
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

func wrongExecutable(path, pin, have string) *Refusal {
	return refuse(No, "", "%s is not the executable that the policy pins: wanted SHA-256 %s, found %s", path, pin, have)
}

func unhashedExecutable(path, why string) *Refusal {
	return refuse(No, "", "%s has no digest to hold against the policy's pin: %s", path, why)
}

func slowExecutable(path string) *Refusal {
	return setupFailed("", "%s could not be read within %v", path, setUpTime)
}

// list is names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return fmt.Sprintf("%q", names)
}
