package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// setUpTime bounds the time from the start of bwrap to a first process that is
// ready. It takes milliseconds; a machine under heavy load takes longer.
const setUpTime = 30 * time.Second

// ending is how a started command ended.
type ending struct {
	code      int  // as bwrap reports it: the exit code, or 128 and the signal
	known     bool // code was reported
	timedOut  bool
	cancelled bool
	fault     *fault // the command could not be started after all
	lost      string // how its protection was lost
	noWay     string // how its proxy was lost
	breach    *breach
	used      time.Duration // processor time
}

// errCancelled is a caller that does not want the run any more.
var errCancelled = errors.New("cancelled")

// errSlow is a set-up that did not end.
var errSlow = fmt.Errorf("the sandbox was not ready after %v", setUpTime)

// wake is a descriptor that becomes readable when ctx ends.
type wake struct {
	fd   int
	stop func()
}

func newWake(ctx context.Context) (*wake, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	return &wake{fd, func() {
		if !stop() {
			<-done
		}
		unix.Close(fd)
	}}, nil
}

// quiet is a caller that never breaks off.
var quiet = wake{fd: -1}

// poll waits until one of the descriptors has something, the run is cancelled,
// or the deadline (zero: none) passes; then late is true.
func (w *wake) poll(deadline time.Time, fds ...*unix.PollFd) (late bool, err error) {
	list := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	for _, p := range fds {
		list = append(list, *p)
	}
	for {
		wait := -1
		if !deadline.IsZero() {
			// Rounded up: a poll that ends early would only be repeated.
			wait = int(min(max(time.Until(deadline)+time.Millisecond-1, 0)/time.Millisecond, 1<<30))
		}
		n, err := unix.Poll(list, wait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("poll: %w", err)
		}
		for i, p := range fds {
			p.Revents = list[i+1].Revents
		}
		if list[0].Revents != 0 {
			return false, errCancelled
		}
		if n == 0 && time.Now().Before(deadline) {
			continue // further away than one poll can wait
		}
		return n == 0, nil
	}
}

// ready brings the sandbox to where only the go byte is missing: PID 1 is held by
// a descriptor, then the first process is told what to do, then it says that it
// is set up. In that order its answer proves that PID 1 was alive when its
// number was used. io.EOF: bwrap or the first process gave up.
func (s *sandbox) ready(w *wake, message []byte) error {
	deadline := time.Now().Add(setUpTime)
	for {
		status := unix.PollFd{Fd: int32(s.status), Events: unix.POLLIN}
		socket := unix.PollFd{Fd: int32(s.socket)}
		if s.pidfd >= 0 {
			socket.Events = unix.POLLIN
			if len(message) > 0 {
				socket.Events |= unix.POLLOUT
			}
		}
		late, err := w.poll(deadline, &status, &socket)
		if err != nil {
			return err
		}
		if late {
			return errSlow
		}
		if status.Revents != 0 {
			if err := s.readStatus(); err != nil {
				return err
			}
		}
		if socket.Revents&unix.POLLOUT != 0 {
			n, err := unix.SendmsgN(s.socket, message, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if err != nil && !again(err) {
				return io.EOF
			}
			message = message[max(n, 0):]
		}
		if socket.Revents&(unix.POLLIN|unix.POLLHUP) != 0 && s.pidfd >= 0 {
			return s.firstWord()
		}
	}
}

func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// firstWord reads what the first process says once it has its instructions: nil
// when it is ready, a fault, or io.EOF. The proxy's socket and a terminal's master
// come with the ready byte, in that order, each exactly where it was asked for, and
// nothing else ever comes.
func (s *sandbox) firstWord() error {
	said, err := receiveWord(s.socket)
	if err == nil && string(said.text) == string(readyByte) && len(said.fds) == s.wanted() {
		s.first = said.from
		return s.take(said.fds)
	}
	for _, fd := range said.fds {
		unix.Close(fd)
	}
	switch {
	case err != nil || len(said.text) == 0:
		return io.EOF
	case said.text[0] == readyByte:
		return fmt.Errorf("the first process sent %d descriptors", len(said.fds))
	}
	return parseFault(said.text)
}

// wanted is how many descriptors come with the ready byte.
func (s *sandbox) wanted() int {
	n := 0
	for _, asked := range [...]bool{s.listens, s.terminal} {
		if asked {
			n++
		}
	}
	return n
}

// take checks and keeps what came with the ready byte, as many as were wanted. What
// is not what it has to be is closed, and so is what comes after it.
func (s *sandbox) take(fds []int) error {
	var err error
	for i, asked := range [...]bool{s.listens, s.terminal} {
		if !asked {
			continue
		}
		fd := fds[0]
		fds = fds[1:]
		switch {
		case err != nil:
			unix.Close(fd)
		case i == 0:
			err = s.takeListener(fd)
		default:
			err = s.takeMaster(fd)
		}
	}
	return err
}

// oneRead gives what one read of the socket gives.
func oneRead(socket int) io.Reader {
	buffer := make([]byte, maxSaid)
	n, err := socketReader(socket).Read(buffer)
	if err != nil {
		n = 0
	}
	return bytes.NewReader(buffer[:n])
}

func (f *fault) Error() string { return f.Message }

// parseFault reads what the first process says when it gives up.
func parseFault(text []byte) *fault {
	f := &fault{}
	if text[0] != faultByte || json.Unmarshal(text[1:], f) != nil {
		return &fault{Message: "the first process broke off"}
	}
	f.Message = printable(f.Message)
	return f
}

// release sends the go byte.
func (s *sandbox) release() error {
	err := unix.Sendmsg(s.socket, []byte{goByte}, nil, nil, unix.MSG_NOSIGNAL)
	if err != nil {
		return io.EOF
	}
	return nil
}

// wait supervises a command that was released, until its whole tree is dead. It
// kills the tree when the guard sees that it is not confined any more, when its way
// out is lost, or when the meter sees that it uses more than it may. Started is called
// once the command is, or will not be.
func (s *sandbox) wait(w *wake, out *wayOut, timeout time.Duration, started func()) (ending, error) {
	var end ending
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	for {
		status := unix.PollFd{Fd: int32(s.status), Events: unix.POLLIN}
		socket := unix.PollFd{Fd: int32(s.socket), Events: unix.POLLIN}
		tree := unix.PollFd{Fd: int32(s.pidfd), Events: unix.POLLIN}
		watched, used, way := s.guard.polls(), s.meter.poll(), out.poll()
		late, err := w.poll(deadline, &status, &socket, &tree, &watched[0], &watched[1], &used, &way)
		if err == nil && end.lost == "" {
			if end.lost = s.guard.lost(watched); end.lost != "" {
				s.kill()
				w, deadline = &quiet, time.Time{}
				s.guard.close()
			}
		}
		if way.Revents != 0 {
			end.noWay, out = out.lost(), nil
			s.kill()
			w, deadline = &quiet, time.Time{}
		}
		switch {
		case errors.Is(err, errCancelled):
			end.cancelled = true
		case err != nil:
			s.kill()
			return end, err
		case late:
			end.timedOut = true
		case used.Revents != 0:
			end.breach = s.meter.take()
		}
		if err != nil || late || used.Revents != 0 {
			s.kill()
			w, deadline = &quiet, time.Time{} // a second cancellation changes nothing
			continue
		}
		if socket.Revents != 0 {
			// End of file: the command was started, which closed the other end.
			started()
			if text, _ := io.ReadAll(oneRead(s.socket)); len(text) > 0 {
				end.fault = parseFault(text)
			}
			unix.Close(s.socket)
			s.socket = -1
		}
		if status.Revents != 0 && s.readStatus() != nil {
			unix.Close(s.status)
			s.status = -1
		}
		if tree.Revents != 0 {
			s.drainStatus(w)
			end.code, end.known = s.lines.exitCode, s.lines.ended
			if end.lost == "" {
				end.lost = s.guard.lostAtLast()
			}
			return end, nil
		}
	}
}

// drainStatus reads what bwrap reports last. It reports when PID 1 has ended and
// then ends itself; one that does neither is not waited for.
func (s *sandbox) drainStatus(w *wake) {
	deadline := time.Now().Add(setUpTime)
	if w == &quiet {
		deadline = time.Now().Add(reapTime) // killed, and awaited
	}
	for s.status >= 0 && !s.lines.ended {
		p := unix.PollFd{Fd: int32(s.status), Events: unix.POLLIN}
		if late, err := w.poll(deadline, &p); late || err != nil {
			return
		}
		if s.readStatus() != nil {
			unix.Close(s.status)
			s.status = -1
		}
	}
}

// readStatus takes what there is of bwrap's status; io.EOF at its end. The
// descriptor of PID 1 is opened as soon as its number is known.
func (s *sandbox) readStatus() error {
	buffer := make([]byte, 4096)
	n, err := socketReader(s.status).Read(buffer)
	if err != nil {
		return io.EOF
	}
	if err := s.lines.add(buffer[:n]); err != nil {
		return err
	}
	if s.pidfd < 0 && s.lines.child > 0 {
		fd, err := unix.PidfdOpen(s.lines.child, 0)
		if err != nil {
			return io.EOF // gone already
		}
		if !isInit(fd) {
			unix.Close(fd)
			return io.EOF
		}
		s.pidfd = fd
	}
	return nil
}

// isInit reports whether a process is PID 1 of a namespace below ours. Its number
// may have gone to somebody else by the time it was opened, whom nobody may kill.
func isInit(pidfd int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", pidfd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		// One number for each namespace, ours first (pidfd_show_fdinfo, kernel/fork.c).
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

// statusLines collects the lines of --json-status-fd (bubblewrap 0.8.0 manual):
// first one with child-pid, last one with exit-code if the command was started.
type statusLines struct {
	partial  []byte
	child    int
	exitCode int
	ended    bool
}

// maxStatus bounds one line.
const maxStatus = 64 << 10

func (l *statusLines) add(text []byte) error {
	l.partial = append(l.partial, text...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			break
		}
		l.partial = rest
		// Members that newer versions add are ignored, as the manual asks.
		var report struct {
			Child *int `json:"child-pid"`
			Exit  *int `json:"exit-code"`
		}
		if err := json.Unmarshal(line, &report); err != nil {
			return fmt.Errorf("bwrap's status is no JSON: %w", err)
		}
		if report.Child != nil {
			l.child = *report.Child
		}
		if report.Exit != nil {
			l.exitCode, l.ended = *report.Exit, true
		}
	}
	if len(l.partial) > maxStatus {
		return errors.New("bwrap's status has an endless line")
	}
	return nil
}
