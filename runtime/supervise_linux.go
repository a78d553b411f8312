package runtime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/run"
)

// supervise starts what was prepared and sees it to its end.
func (r *execution) supervise(ctx context.Context) *Refusal { return r.inSandbox(ctx, r.watch) }

// inSandbox starts what was prepared, and hands it on when it waits for the go
// byte.
func (r *execution) inSandbox(ctx context.Context, then func(context.Context, *sandbox, *wake) *Refusal) *Refusal {
	w, err := newWake(ctx)
	if err != nil {
		return refuse(Machine, "", "%v", err)
	}
	defer w.stop()
	hashing, stop := context.WithCancel(ctx)
	defer stop()
	r.command.hash(hashing)
	defer r.command.release()
	if err := fixDevices(r.launch.devices); err != nil {
		return devicesNotFixed(err)
	}
	launched, at := time.Now(), bootTime()
	s, err := r.launch.start()
	if err != nil {
		return refuse(Machine, "", "%v", err)
	}
	defer s.close()
	r.evidence.Cleanup.TreeDead = false // from here on there is something to end
	if err := r.live.NoteLaunch(s.pid, at); err != nil {
		s.kill()
		s.reap()
		r.evidence.Cleanup.TreeDead = true
		return noRegistry(r.registry.Path(), err)
	}
	if refusal := r.prepare(ctx, s, w); refusal != nil {
		strays := r.findAstray(s)
		s.kill()
		s.reap()
		r.evidence.Cleanup.TreeDead = true
		r.sweep(strays, launched)
		if name := r.overrun(); name != "" {
			return limitTooSmall(r.limitOf(name))
		}
		return refusal
	}
	defer s.meter.close()
	return then(ctx, s, w)
}

// prepare brings the sandbox up to the go byte, which is not sent yet.
func (r *execution) prepare(ctx context.Context, s *sandbox, w *wake) *Refusal {
	// While bwrap mounts, what takes time and is not asked for yet.
	go NewEvidence(false).JSON() // the first evidence in a process is ten times the second
	message, err := r.instructions().message()
	if err != nil {
		return refuse(Input, "", "%v", err)
	}
	err = s.ready(w, message)
	var f *fault
	switch {
	case err == nil:
		if refusal := r.checkDigest(ctx); refusal != nil {
			return refusal
		}
		if err := r.noteInit(s); err != nil {
			return noRegistry(r.registry.Path(), err)
		}
		if refusal := r.guardSandbox(s); refusal != nil {
			return refusal
		}
		if err := r.bounds.confine(); err != nil {
			return setupFailed("", "the cgroup of the run: %v", err)
		}
		return r.meterSandbox(s)
	case errors.Is(err, errCancelled):
		return cancelled(ctx)
	case errors.As(err, &f):
		return firstFailed(f)
	}
	s.kill()
	s.reap()
	said := drain(s.stderr)
	if !errors.Is(err, io.EOF) {
		return setupFailed("", "the sandbox could not be set up: %v", err)
	}
	return bwrapFailed(said)
}

// watch lets the command go and waits until everything it started is dead.
func (r *execution) watch(ctx context.Context, s *sandbox, w *wake) *Refusal {
	out, err := r.streams()
	refusal := r.openWayOut(s)
	defer func() {
		r.evidence.Egress = r.out.close()
		r.observe()
	}()
	if refusal == nil {
		refusal = r.attach(s)
	}
	var pumps *pumps
	if refusal == nil {
		pumps, refusal = r.pump(s, out, err)
	}
	if refusal != nil {
		s.kill()
		s.reap()
		r.evidence.Cleanup.TreeDead = true
		return refusal
	}
	end, fault := ending{}, s.release()
	if fault == nil {
		end, fault = s.wait(w, r.out, r.command.timeout, r.command.release)
	} else {
		s.kill()
	}
	s.reap()
	s.guard.close()
	r.evidence.Cleanup.TreeDead = true
	if end.breach == nil {
		end.breach = s.meter.finish()
	}
	r.noteFull(s.meter)
	passed := pumps.finish(ctx)
	r.evidence.streams(out, err, s.terminal)
	end.used = s.used
	if refusal := r.tell(&end); refusal != nil {
		return refusal
	}
	switch {
	case end.lost != "":
		return protectionLost(end.lost)
	case end.noWay != "":
		return egressLost(end.noWay)
	case fault != nil:
		return setupFailed("", "the sandbox was lost before the command was started")
	case !passed:
		return cancelled(ctx)
	}
	if refusal := r.conclude(ctx, &end, out); refusal != nil {
		return refusal
	}
	return r.delivered(out, err)
}

// conclude turns how the command ended into an outcome.
func (r *execution) conclude(ctx context.Context, end *ending, out *stream) *Refusal {
	e, passed := r.evidence, r.overrun()
	switch {
	case end.fault != nil:
		return r.execFailed(end.fault)
	case end.timedOut:
		r.endedBy(Timeout, ExitTimeout, ir.Timeout, "")
		return nil
	case end.breach != nil && end.breach.lost:
		return limitLost(end.breach)
	case end.breach != nil:
		r.endedBy(LimitReached, exitKilled, end.breach.limit, end.breach.how)
		return nil
	case passed != "":
		r.endedBy(LimitReached, exitKilled, passed, "")
		return nil
	case end.cancelled:
		return cancelled(ctx)
	case !end.known:
		return setupFailed("", "bubblewrap did not say how the command ended")
	}
	e.Outcome, r.outcome.Exit = Exited, end.code
	if signal := end.code - exitSignalled; signal > 0 && signal <= 64 {
		e.Outcome, e.Signal = Signaled, signal
		r.limitBySignal(signal, end)
	}
	if r.command.result != nil {
		return r.result(out)
	}
	return nil
}

// delivered refuses a success of which not all output was passed on: whoever reads
// it would take a part for the whole. Where a command of exec had a reader that went
// away, it ends as what writes to such a pipe does (SIGPIPE), told in time or not.
func (r *execution) delivered(stdout, stderr *stream) *Refusal {
	lost := r.evidence.Undelivered()
	if len(lost) == 0 || r.outcome.Exit != 0 {
		return nil
	}
	told := func(s *stream) bool { return s.fault() == nil || s.readerGone() }
	if r.job.Development && told(stdout) && told(stderr) {
		r.outcome.Exit = exitSignalled + int(unix.SIGPIPE)
		return nil
	}
	refusal := refuse(Machine, "", "the command's %s", strings.Join(lost, "; "))
	refusal.Word = Exited
	return refusal
}

// result reads the typed result from standard output. A command that failed need
// not have printed one.
func (r *execution) result(out *stream) *Refusal {
	schema := *r.command.result
	e := &ResultEvidence{Name: schema.Name}
	r.evidence.Result = e
	var err error
	if out.cut() {
		err = errors.New("result " + schema.Name + ": output was cut off at the policy's limit")
	} else if out.total > run.MaxResultBytes {
		err = fmt.Errorf("result %s: output of %d bytes, at most %d are read", schema.Name, out.total, run.MaxResultBytes)
	} else if r.outcome.Result, err = run.ParseResult(schema, out.kept.Bytes()); err == nil {
		e.Fields = r.outcome.Result
		return nil
	}
	e.Fault = err.Error()
	if r.outcome.Exit != 0 {
		return nil
	}
	refusal := refuse(No, "", "the command's output is not the result that the policy declares: %v", err)
	refusal.Word = Exited
	return refusal
}

// streams makes the two outputs with their limits.
func (r *execution) streams() (stdout, stderr *stream) {
	limit := func(name ir.LimitName) int64 {
		if v, ok := r.linux.Plan.Limit(name); ok {
			return v
		}
		if r.job.Development {
			return -1
		}
		return DefaultOutput
	}
	stdout, stderr = newStream(r.job.Stdout, limit(ir.Stdout)), newStream(r.job.Stderr, limit(ir.Stderr))
	if r.command.result != nil {
		stdout.to, stdout.kept = nil, &bytes.Buffer{}
	}
	return stdout, stderr
}

// pumps carry the command's streams while it runs.
type pumps struct {
	from    []*os.File    // what the command writes
	session *session      // of a command with a terminal
	done    chan struct{} // closed when all of from is carried
}

// pump begins to carry: two outputs, or one terminal.
func (r *execution) pump(s *sandbox, stdout, stderr *stream) (*pumps, *Refusal) {
	p := &pumps{done: make(chan struct{})}
	var outputs sync.WaitGroup
	output := func(to *stream, from *os.File) {
		p.from = append(p.from, from)
		outputs.Go(r.job.Terminal.guarded(func() {
			if carry(to, from, r.job.Development && s.master == nil) {
				from.Close()
			}
		}))
	}
	switch {
	case s.master != nil:
		var err error
		if p.session, err = r.job.Terminal.attach(s.master); err != nil {
			return nil, refuse(Machine, "", "%v", err)
		}
		output(stdout, s.master)
	default:
		output(stdout, s.stdout)
		output(stderr, s.stderr)
	}
	go func() {
		outputs.Wait()
		close(p.done)
	}()
	if s.stdin != nil {
		go func() {
			io.Copy(s.stdin, r.job.Stdin)
			s.stdin.Close()
		}()
	}
	return p, nil
}

// finish waits for what is left in the pipes. Nobody of the sandbox holds them
// any more; should one have been handed to a process outside, it is not waited
// for. Nor is a reader of ours that takes nothing, once the caller has broken off:
// then it is false.
func (p *pumps) finish(ctx context.Context) bool {
	if p.session != nil {
		defer p.session.end()
	}
	for _, f := range p.from {
		f.SetReadDeadline(time.Now())
	}
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-p.done:
		return true
	case <-time.After(graceTime):
		return false
	}
}

// carry copies until the end of file or, once a deadline has passed, until the
// pipe is empty. If it may, it stops when nobody reads what it writes any more: left
// is then true, and the pipe is to be closed, so that the command is told as it would
// be outside (SIGPIPE).
func carry(to *stream, from *os.File, may bool) (left bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		to.Write(buffer[:n])
		if may && to.readerGone() {
			return true
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			from.SetReadDeadline(time.Time{})
			io.WriteString(to, drain(from))
			return false
		}
		if err != nil {
			return false
		}
	}
}

// drain takes what a pipe holds without waiting for more. A pipe of ours holds
// 64 KiB (pipe(7)).
func drain(from *os.File) string {
	var out bytes.Buffer
	raw, err := from.SyscallConn()
	if err != nil {
		return ""
	}
	buffer := make([]byte, 64<<10)
	raw.Read(func(fd uintptr) bool {
		for {
			n, err := unix.Read(int(fd), buffer)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n <= 0 {
				return true
			}
			out.Write(buffer[:n])
		}
	})
	return out.String()
}

func firstFailed(f *fault) *Refusal {
	return setupFailed("", "the sandbox is not what it has to be: %s", f.Message)
}

// execFailed is a command that the sandbox does not let start.
func (r *execution) execFailed(f *fault) *Refusal {
	if !f.Exec {
		return firstFailed(f)
	}
	refusal := cannotStart(r.command.path, unix.Errno(f.Errno))
	switch unix.Errno(f.Errno) {
	case unix.EACCES:
		refusal.Code = No
		refusal.Help = cmp.Or(r.hintExec(), "its mode or its file system does not let it be started")
	case unix.ENOENT:
		refusal.Help = cmp.Or(r.hintExec(), "the sandbox does not show it, or not the interpreter it names: add them under read and execute")
	}
	return refusal
}
