package runtime

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is the caller's terminal, for a command that gets a terminal of its
// own. While the command runs the caller's is raw: every key is a byte for the
// command's terminal, which makes of Ctrl-C and Ctrl-Z what its own settings say.
type Terminal struct {
	file *os.File // keeps fd open
	fd   int
	kind string // the caller's TERM; "" when it is no name of a terminal

	changing sync.Mutex
	before   unix.Termios
	raw      bool
}

// isTerminalKind reports whether text is how terminals are named (term(7)): a name
// is looked up as a file of the terminfo database, so it has no slash.
func isTerminalKind(text string) bool {
	for i, c := range []byte(text) {
		alone := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alone && (i == 0 || !strings.ContainsRune(".+_-", rune(c))) {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// OpenTerminal takes the terminal that file is, and kind, the caller's TERM. What
// is no terminal is a *Refusal. Nothing changes before a command starts.
func OpenTerminal(file *os.File, kind string) (*Terminal, error) {
	t := &Terminal{file: file, fd: -1}
	if isTerminalKind(kind) {
		t.kind = kind
	}
	if raw, err := file.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { t.fd = int(fd) })
	}
	if !term.IsTerminal(t.fd) {
		return nil, refuse(Input, "call it from a terminal, or leave --tty out (--stdin gives the command what is piped in)",
			"standard input is no terminal")
	}
	return t, nil
}

// size is the terminal's, nil when it does not say.
func (t *Terminal) size() *unix.Winsize {
	size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	return size
}

// ours reports whether this process may change the terminal: it is in the
// foreground, or the terminal is not the one that controls it. A background
// process that tried would be stopped (tcsetattr(3)).
func (t *Terminal) ours() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// enter makes the terminal raw, unless it is somebody else's at present.
func (t *Terminal) enter() error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if !t.ours() {
		return nil
	}
	before, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read the terminal's settings: %w", err)
	}
	if !t.raw { // else a shell changed it while this process was stopped
		t.before, t.raw = *before, true
	}
	if _, err := term.MakeRaw(t.fd); err != nil {
		return fmt.Errorf("make the terminal raw: %w", err)
	}
	return nil
}

// Restore gives the terminal its settings back, and may be called at any time.
// What was typed and not read is dropped: a command can make a terminal answer,
// and the caller's shell is not to read that. Output that the terminal has not
// taken yet is not waited for.
func (t *Terminal) Restore() {
	if t == nil {
		return
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	if t.raw && t.ours() {
		t.raw = false
		unix.IoctlSetInt(t.fd, unix.TCFLSH, unix.TCIFLUSH)
		unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.before)
	}
}

// guarded restores the terminal when a goroutine panics, which ends the process.
func (t *Terminal) guarded(do func()) func() {
	return func() {
		defer func() {
			if p := recover(); p != nil {
				t.Restore()
				panic(p)
			}
		}()
		do()
	}
}

// session is the time in which the caller's terminal is raw and tied to inner, the
// master of the command's.
type session struct {
	*Terminal
	inner *os.File
	over  *wake
	stop  context.CancelFunc
	ended sync.WaitGroup
	news  chan os.Signal
}

// attach begins a session. The caller ends it.
func (t *Terminal) attach(inner *os.File) (*session, error) {
	ctx, stop := context.WithCancel(context.Background())
	over, err := newWake(ctx)
	if err == nil {
		err = t.enter()
	}
	if err != nil {
		stop()
		return nil, err
	}
	s := &session{Terminal: t, inner: inner, over: over, stop: stop, news: make(chan os.Signal, 8)}
	s.resize()
	signal.Notify(s.news, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT)
	s.ended.Go(t.guarded(s.heed))
	s.ended.Go(t.guarded(s.pass))
	return s, nil
}

// end stops reading from the terminal and restores it.
func (s *session) end() {
	signal.Stop(s.news)
	close(s.news)
	s.stop()
	s.inner.SetWriteDeadline(time.Now())
	s.ended.Wait()
	s.over.stop()
	s.Restore()
}

// resize gives the command's terminal the caller's size; the kernel tells its
// foreground programs (SIGWINCH).
func (s *session) resize() {
	if size := s.size(); size != nil {
		if raw, err := s.inner.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
		}
	}
}

// heed follows the size, and gives the terminal back while this process is
// stopped. Ctrl-Z is a byte to the command, so only another process stops it.
func (s *session) heed() {
	for what := range s.news {
		switch what {
		case unix.SIGWINCH:
			s.resize()
		case unix.SIGTSTP:
			s.Restore()
			unix.Kill(unix.Getpid(), unix.SIGSTOP)
		case unix.SIGCONT:
			s.enter()
			s.resize()
		}
	}
}

// pass passes on what is typed, until the session ends or the terminal is gone. It
// reads only what is there: a read that waits could not be called back, and would
// take the first key from the caller's shell.
func (s *session) pass() {
	buffer := make([]byte, 4096)
	for {
		typed := unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
		if _, err := s.over.poll(time.Time{}, &typed); err != nil {
			return
		}
		n, err := socketReader(s.fd).Read(buffer)
		if err == nil {
			_, err = s.inner.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}
