package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// A command that asks for a terminal gets one of the sandbox's own devpts, which
// holds no other: its policy grants it (/dev/pts), it has a name inside, and the
// caller's terminal is nowhere. The first process makes the pair, confined already,
// and hands the master out with its ready byte.

// terminals is where the sandbox's own devpts is mounted.
const terminals = "/dev/pts"

// wantTerminal refuses a terminal to a policy that grants none.
func (r *execution) wantTerminal() *Refusal {
	if r.job.Terminal == nil {
		return nil
	}
	if !r.job.Development {
		return refuse(Input, "governed commands have none", "a terminal is for development")
	}
	for _, e := range r.table.Entries {
		if e.Kind == bwrap.Terminals && e.Path == ir.MustPath(terminals) && e.Writable {
			return nil
		}
	}
	return noTerminals(r.job.Policy)
}

// terminalKind adds TERM, the kind of terminal that the command writes to, unless
// the policy states one.
func (r *execution) terminalKind(env []string) []string {
	t := r.job.Terminal
	if t == nil || t.kind == "" || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return env
	}
	return append(env, "TERM="+t.kind)
}

func noTerminals(policy string) *Refusal {
	return refuse(Input, `say devices = "minimal" and shm = "64MiB" in its system block, or extends = ["std/base"], which has both`,
		"policy %q grants no terminals (%s)", policy, terminals)
}

// pty is a pair of a pseudo-terminal.
type pty struct{ master, slave int }

// noPTY is the pair of a command without a terminal.
var noPTY = pty{-1, -1}

// openPTY makes a pair in the devpts of the sandbox.
func openPTY() (pty, error) {
	master, err := unix.Open(terminals+"/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return noPTY, fmt.Errorf("make a terminal: %w", err)
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return noPTY, fmt.Errorf("unlock the terminal: %w", err)
	}
	// By descriptor, since Linux 4.13: what has that name may be something else.
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags)
	if errno != 0 {
		return noPTY, fmt.Errorf("open the terminal: %w", errno)
	}
	return pty{master, int(slave)}, nil
}

// control makes the slave the controlling terminal of this process and its three
// standard streams. Bubblewrap began a session (--new-session) whose leader is PID
// 1; this begins another, for a leader alone can take a terminal.
func (p *pty) control() error {
	if p.slave < 0 {
		return nil
	}
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	if err := unix.IoctlSetInt(p.slave, unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	for fd := range 3 {
		if err := unix.Dup3(p.slave, fd, 0); err != nil {
			return fmt.Errorf("take the terminal: %w", err)
		}
	}
	unix.Close(p.slave)
	return nil
}

// word is what the first process says in one go, and what comes with it.
type word struct {
	text []byte
	fds  []int
	from int // the sender, where the socket says so (SO_PASSCRED)
}

// receiveWord is one read of the socket. There is room for one descriptor more than
// are ever asked for, to see that it came.
func receiveWord(socket int) (w word, err error) {
	text, control := make([]byte, maxSaid), make([]byte, unix.CmsgSpace(unix.SizeofUcred)+unix.CmsgSpace(3*4))
	n, m, flags, _, err := unix.Recvmsg(socket, text, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return w, fmt.Errorf("listen to the first process: %w", err)
	}
	w.text = text[:n]
	messages, err := unix.ParseSocketControlMessage(control[:m])
	for _, message := range messages {
		switch message.Header.Type {
		case unix.SCM_RIGHTS:
			more, failed := unix.ParseUnixRights(&message)
			w.fds, err = append(w.fds, more...), errors.Join(err, failed)
		case unix.SCM_CREDENTIALS:
			who, failed := unix.ParseUnixCredentials(&message)
			if err = errors.Join(err, failed); failed == nil {
				w.from = int(who.Pid)
			}
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		err = errors.New("the first process sent too much")
	}
	return w, err
}

// takeMaster holds the descriptor that came with the ready byte to be the master of
// a terminal in a devpts that is not this machine's.
func (s *sandbox) takeMaster(fd int) error {
	if err := checkMaster(fd); err != nil {
		unix.Close(fd)
		return err
	}
	s.master = ours(fd, "terminal")
	return nil
}

// devptsMagic is the type of a devpts (statfs(2)).
const devptsMagic = 0x1cd1

func checkMaster(fd int) error {
	var stat, host unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("the command's terminal: %w", err)
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil {
		return fmt.Errorf("the command's terminal: %w", err)
	}
	_, number := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFCHR || number != nil || system.Type != devptsMagic:
		return errors.New("the command's terminal is no pseudo-terminal's master")
	case unix.Stat(terminals, &host) == nil && host.Dev == stat.Dev:
		return errors.New("the command's terminal is one of this machine's")
	}
	return nil
}
