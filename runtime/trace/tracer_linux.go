package trace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tracer traces a process and everything it starts, to the end of all of them.
type Tracer struct {
	failed func(Attempt)
	ended  chan struct{}
	fault  any // what looking into a call panicked with

	root    int  // the sandbox's root directory
	began   bool // the command has been started
	threads map[int]*thread
}

// thread is one tracee.
type thread struct {
	call    entered
	inCall  bool
	program string // once it was asked for
}

// Attach traces the process pid, which waits to become the command: from its next
// execve on, every system call. It must be no child of a thread of the caller's that
// may serve others: the tracer's thread waits for all children of its own. Failed is
// told what failed, one at a time, while the program stands still. The process is
// traced when Attach returns; an error says why that is not possible, and the process
// has to be ended.
func Attach(pid int, failed func(Attempt)) (*Tracer, error) {
	t := &Tracer{failed: failed, ended: make(chan struct{}), threads: map[int]*thread{}}
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("look into the sandbox: %w", err)
	}
	t.root = root
	seized := make(chan error)
	go t.run(pid, seized)
	if err := <-seized; err != nil {
		return nil, err
	}
	return t, nil
}

// Wait waits until everything that was traced has ended. It panics with what the
// tracer panicked with.
func (t *Tracer) Wait() {
	<-t.ended
	if t.fault != nil {
		panic(t.fault)
	}
}

// run is the thread that traces: ptrace(2) binds tracees to one, which serves
// nothing else any more.
func (t *Tracer) run(pid int, seized chan<- error) {
	runtime.LockOSThread()
	defer close(t.ended)
	defer unix.Close(t.root)
	seized <- seizeAll(pid)
	t.loop()
}

// seizeAll seizes every thread of a process: which of them will call execve is its
// own affair. Threads that one of them makes meanwhile are seized with it.
func seizeAll(pid int) error {
	done := map[string]bool{}
	for {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return err
		}
		more := false
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || done[e.Name()] {
				continue
			}
			done[e.Name()], more = true, true
			switch err := seize(tid); {
			case err == nil:
			case errors.Is(err, unix.EPERM) && tracedBy(tid) == unix.Gettid():
			case errors.Is(err, unix.ESRCH):
			default:
				return fmt.Errorf("ptrace: %w", err)
			}
		}
		if !more {
			return nil
		}
	}
}

// tracedBy is the thread that traces tid (proc_pid_status(5)), 0 for none.
func tracedBy(tid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "TracerPid:"); ok {
			tracer, _ := strconv.Atoi(strings.TrimSpace(rest))
			return tracer
		}
	}
	return 0
}

// loop serves the tracees of this thread until there are none.
func (t *Tracer) loop() {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // ECHILD: none is left
		case status.Stopped():
			t.stopped(tid, status)
		default:
			delete(t.threads, tid)
		}
	}
}

// callStop is the signal that a stop at a system call shows (TRACESYSGOOD).
const callStop = unix.SIGTRAP | 0x80

// stopped serves one stop and lets the tracee go on.
func (t *Tracer) stopped(tid int, status syscall.WaitStatus) {
	signal, event := status.StopSignal(), int(status>>16)
	switch {
	case event == unix.PTRACE_EVENT_STOP && stopsJobs(signal):
		listen(tid)
		return
	case event == unix.PTRACE_EVENT_EXEC:
		t.began = true
		delete(t.threads, tid)
	case event != 0:
	case signal == callStop:
		t.atCall(tid)
	default:
		resume(tid, t.began, int(signal))
		return
	}
	resume(tid, t.began, 0)
}

func stopsJobs(s syscall.Signal) bool {
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// atCall notes the entry of a system call, and looks into one that failed.
func (t *Tracer) atCall(tid int) {
	of := t.threads[tid]
	if of == nil {
		of = &thread{}
		t.threads[tid] = of
	}
	s, ok := syscallStop(tid)
	if s.entry {
		of.call, of.inCall = s.call, true
		return
	}
	if ok && of.inCall && s.failed && telling[s.errno] {
		t.look(tid, of, s.errno)
	}
	of.inCall = false
}

// look reports a system call that failed. After a fault of ours nothing is looked
// into any more; what is traced has to go on, or it would stand still for ever.
func (t *Tracer) look(tid int, of *thread, errno uint16) {
	if t.fault != nil {
		return
	}
	defer func() { t.fault = recover() }()
	v := view{root: t.root, tid: tid}
	for _, a := range v.attempts(&of.call, errno) {
		a.Program = of.name(tid)
		t.failed(a)
	}
}

// name is the path of the thread's program inside the sandbox.
func (of *thread) name(tid int) string {
	if of.program == "" {
		of.program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", tid))
	}
	return of.program
}
