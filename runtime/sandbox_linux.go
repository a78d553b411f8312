package runtime

import (
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime/cgroup"
)

// sandbox is a started bubblewrap and our ends of what connects us with it.
type sandbox struct {
	pid    int // of the outer bwrap process; 0 once it was waited for
	pidfd  int // of PID 1 inside; -1 until bwrap named it
	first  int // the first process, once it was ready; 0 unless it is to be traced
	status int
	socket int
	// The command's streams; stdin is nil when it reads /dev/null.
	stdin, stdout, stderr *os.File
	// The master of the command's terminal comes with the ready byte, if terminal
	// says so; its streams are then read by bwrap alone.
	terminal bool
	master   *os.File
	// The proxy's socket comes with it too, if listens says so.
	listens  bool
	listener net.Listener
	lines    statusLines
	guard    guard
	meter    *meter
	used     time.Duration // processor time of everything inside, once it was waited for
}

// launch is what a sandbox is started from.
type launch struct {
	tool    string
	stream  []byte // options, as `bwrap --args` reads them
	seccomp []byte
	added   filter // of the policy, loaded by the first process
	masks   int    // how many empty files the stream refers to
	stdin   bool
	// terminal: the command has one instead of its three streams.
	terminal bool
	listens  bool          // the first process opens the proxy's socket
	traced   bool          // the first process is told by its number
	devices  []string      // nodes of the machine that are made read-only first
	group    *cgroup.Group // nil: the sandbox stays in this process's own cgroup
}

// bwrapArgv is how bwrap is called in every run: what it does stands in the option
// stream.
var bwrapArgv = []string{"bwrap", "--args", strconv.Itoa(argsFD), "--",
	"/proc/self/fd/" + strconv.Itoa(selfFD), firstWord, strconv.Itoa(socketFD)}

// start starts bwrap. The calling thread has to outlive it, and serves nothing
// else any more.
func (l *launch) start() (*sandbox, error) {
	s := &sandbox{pidfd: -1, status: -1, socket: -1, guard: noGuard, terminal: l.terminal, listens: l.listens}
	var theirs descriptors // closed here once bwrap has them
	defer theirs.close()
	files, err := l.files(s, &theirs)
	if err != nil {
		s.close()
		return nil, err
	}
	// What the caller left open is not for the sandbox.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		s.close()
		return nil, fmt.Errorf("close_range (Linux 5.11 and later have it): %w", err)
	}
	// Its own process group: an interrupt from the terminal is ours to handle.
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if l.group != nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, l.group.FD()
	}
	s.pid, err = syscall.ForkExec(l.tool, bwrapArgv, &syscall.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: attributes})
	if err != nil {
		s.close()
		return nil, fmt.Errorf("start %s: %w", l.tool, err)
	}
	return s, nil
}

// files makes every descriptor that bwrap gets, in the order of the constants.
func (l *launch) files(s *sandbox, theirs *descriptors) ([]uintptr, error) {
	var out []uintptr
	give := func(fd int) { theirs.add(fd); out = append(out, uintptr(fd)) }
	if err := l.streams(s, give); err != nil {
		return nil, err
	}
	args, err := sealed("bwrap-args", l.stream)
	if err != nil {
		return nil, err
	}
	give(args)
	read, write, err := pipe()
	if err != nil {
		return nil, err
	}
	s.status = read
	give(write)
	program, err := sealed("seccomp", l.seccomp)
	if err != nil {
		return nil, err
	}
	give(program)
	self, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open our own executable: %w", err)
	}
	give(self)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket pair: %w", err)
	}
	s.socket = pair[0]
	give(pair[1])
	if l.traced {
		// The kernel then says who sent what, by the numbers of this namespace (unix(7)).
		if err := unix.SetsockoptInt(s.socket, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
			return nil, fmt.Errorf("ask for the first process's number: %w", err)
		}
	}
	for range l.masks {
		empty, err := sealed("mask", nil)
		if err != nil {
			return nil, err
		}
		give(empty)
	}
	return out, nil
}

// streams makes standard input, output and error.
func (l *launch) streams(s *sandbox, give func(int)) error {
	if l.stdin {
		read, write, err := pipe()
		if err != nil {
			return err
		}
		give(read)
		s.stdin = ours(write, "stdin")
	} else {
		null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open /dev/null: %w", err)
		}
		give(null)
	}
	for _, to := range []**os.File{&s.stdout, &s.stderr} {
		read, write, err := pipe()
		if err != nil {
			return err
		}
		*to = ours(read, "output")
		give(write)
	}
	return nil
}

// ours is our end of a pipe, with deadlines.
func ours(fd int, name string) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

// kill ends everything in the sandbox. Which processes that are can change
// meanwhile, so it is done through descriptors and through the group of our own
// child, whose number cannot be anybody else's before it was waited for.
func (s *sandbox) kill() {
	if s.pidfd >= 0 {
		unix.PidfdSendSignal(s.pidfd, unix.SIGKILL, nil, 0)
		return
	}
	s.killGroup()
}

// killGroup ends bwrap itself, and what it has cloned and not made a session of
// its own.
func (s *sandbox) killGroup() {
	if s.pid > 0 {
		unix.Kill(-s.pid, unix.SIGKILL)
	}
}

// reapTime is how long bwrap may take to end once its sandbox is dead. Tests
// shorten it.
var reapTime = 2 * time.Second

// reap waits for PID 1 inside where it is known: once its descriptor is readable,
// every process of its namespace is gone (pid_namespaces(7)). Then it waits for
// the outer process, and kills one that does not end.
func (s *sandbox) reap() {
	if s.pidfd >= 0 {
		waitReadable(s.pidfd, -1)
	}
	if s.pid == 0 {
		return
	}
	own, err := unix.PidfdOpen(s.pid, 0)
	if err != nil || !waitReadable(own, reapTime) {
		s.killGroup()
	}
	if err == nil {
		unix.Close(own)
	}
	for s.pid > 0 {
		var usage syscall.Rusage
		if _, err := syscall.Wait4(s.pid, nil, 0, &usage); err != syscall.EINTR {
			s.pid, s.used = 0, time.Duration(usage.Utime.Nano()+usage.Stime.Nano())
		}
	}
}

// waitReadable waits until there is something to read, no longer than most unless
// that is negative; false when there is not.
func waitReadable(fd int, most time.Duration) bool {
	var deadline time.Time
	if most >= 0 {
		deadline = time.Now().Add(most)
	}
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	late, err := quiet.poll(deadline, &p)
	return err == nil && !late
}

func (s *sandbox) close() {
	s.guard.close()
	for _, fd := range []int{s.pidfd, s.status, s.socket} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for _, f := range []*os.File{s.stdin, s.stdout, s.stderr, s.master} {
		if f != nil {
			f.Close()
		}
	}
	if s.listener != nil {
		s.listener.Close()
	}
}
