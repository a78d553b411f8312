package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// moves notices when one of some nodes of the host is moved (rename(2)), and when
// one of some missing paths comes to be. inotify(7) tells at once. Where its limits
// or a node's mode forbid that, a timer asks for a look at the mount table and at
// the paths every tick.
type moves struct {
	fd     int
	timer  bool
	absent []ir.Path
	// shared are the watches of files that have other names, whose moves say
	// nothing about this one.
	shared map[int32]bool
}

// tick is how often protected names are looked at where inotify cannot be used.
const tick = 50 * time.Millisecond

const (
	moved  = unix.IN_MOVE_SELF | unix.IN_MASK_ADD | unix.IN_DONT_FOLLOW
	filled = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MASK_ADD | unix.IN_DONT_FOLLOW | unix.IN_ONLYDIR
)

// inotify makes a descriptor. A test takes it away.
var inotify = unix.InotifyInit1

// watchMoves begins to watch. With nothing to watch there is no descriptor.
func watchMoves(nodes, absent []ir.Path) (moves, error) {
	m := moves{fd: -1, absent: absent, shared: map[int32]bool{}}
	if len(nodes)+len(absent) == 0 {
		return m, nil
	}
	var err error
	if m.fd, err = inotify(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		if err = m.watch(nodes); err == nil {
			return m, nil
		}
		unix.Close(m.fd)
	}
	m.timer = true
	if m.fd, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return moves{fd: -1}, fmt.Errorf("timerfd: %w", err)
	}
	every := unix.NsecToTimespec(int64(tick))
	if err := unix.TimerfdSettime(m.fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		m.close()
		return moves{fd: -1}, fmt.Errorf("timerfd: %w", err)
	}
	return m, nil
}

func (m *moves) close() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}

func (m *moves) watch(nodes []ir.Path) error {
	for _, at := range nodes {
		var stat unix.Stat_t
		if err := unix.Lstat(at.String(), &stat); err != nil {
			return err
		}
		wd, err := unix.InotifyAddWatch(m.fd, at.String(), moved)
		if errors.Is(err, unix.EACCES) && onlyRootMoves(at, &stat) {
			continue // and the machine's root is trusted
		}
		if err != nil {
			return err
		}
		if kindOf(stat.Mode) != kindOf(unix.S_IFDIR) && stat.Nlink > 1 {
			m.shared[int32(wd)] = true
		}
	}
	for _, at := range m.absent {
		if err := m.arm(at); err != nil {
			return err
		}
	}
	return nil
}

// onlyRootMoves reports whether nobody but root could move a node.
func onlyRootMoves(at ir.Path, stat *unix.Stat_t) bool {
	above, _ := at.Parent()
	var dir unix.Stat_t
	return unix.Lstat(above.String(), &dir) == nil && onlyRoot(stat, &dir)
}

// onlyRootFills reports whether nobody but root can make names in a directory.
func onlyRootFills(at ir.Path) bool {
	var dir unix.Stat_t
	return unix.Lstat(at.String(), &dir) == nil && dir.Uid == 0 && dir.Mode&(unix.S_IWGRP|unix.S_IWOTH) == 0
}

// arm watches the directory in which the next name on the way to a missing path
// would appear.
func (m *moves) arm(at ir.Path) error {
	for {
		dir := nearest(at)
		_, err := unix.InotifyAddWatch(m.fd, dir.String(), filled)
		if errors.Is(err, unix.EACCES) && onlyRootFills(dir) {
			return nil // and the machine's root is trusted
		}
		if err != nil {
			return err
		}
		if nearest(at) == dir || dir == at {
			return nil
		}
	}
}

// nearest is the deepest node at or above p that is there.
func nearest(p ir.Path) ir.Path {
	for at := range p.Upward() {
		if exists(at) {
			return at
		}
	}
	return ir.Path{}
}

func exists(at ir.Path) bool {
	var stat unix.Stat_t
	return unix.Lstat(at.String(), &stat) == nil
}

// look says what was moved, or came to be, since the last look; "" when nothing
// was. That a node is elsewhere now is seen in the mount table.
func (m *moves) look() string {
	buffer := make([]byte, 16<<10)
	n, err := unix.Read(m.fd, buffer)
	switch {
	case err != nil && !again(err):
		return os.NewSyscallError("watch protected names", err).Error()
	case err != nil:
		n = 0
	}
	for _, at := range m.absent {
		if !m.timer && m.arm(at) != nil || exists(at) {
			return fmt.Sprintf("%s, which is denied and was missing, came to be", at)
		}
	}
	if !m.timer && m.returned(buffer[:n]) {
		return "a protected name was moved away and back"
	}
	return ""
}

// returned reports whether some node was moved, though it stands where it stood;
// or so much happened that nobody knows.
func (m *moves) returned(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		// struct inotify_event: watch, mask, cookie, length of the name behind it.
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		events = events[min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(events[12:])), len(events)):]
		if mask&unix.IN_Q_OVERFLOW != 0 || mask&unix.IN_MOVE_SELF != 0 && !m.shared[wd] {
			return true
		}
	}
	return false
}
