package runtime

import (
	"fmt"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// lookEvery is how often a run is looked at that has limits no kernel keeps. In
// large trees a look takes longer; then it is less often, so that looking takes a
// fifth of one processor at most.
const lookEvery = 50 * time.Millisecond

// breach is a limit that is passed, or that cannot be watched any more.
type breach struct {
	limit ir.LimitName
	how   string // what was found
	lost  bool   // it is not passed, as far as can be seen
}

// watch is one thing that a meter looks at.
type watch interface {
	// look reports a breach, nil while there is none. It returns soon once stop says
	// so.
	look(stop func() bool) *breach
	close()
}

// meter watches a run from outside.
type meter struct {
	watches []watch
	running sync.WaitGroup
	stop    chan struct{}

	reporting sync.Mutex
	wake      int // eventfd, readable once there is a breach; -1 when nothing is watched
	found     *breach

	taken bool // of the one who waits
}

// meterSandbox opens what has to be watched of a sandbox that is set up, and
// starts to.
func (r *execution) meterSandbox(s *sandbox) *Refusal {
	m := &meter{wake: -1, stop: make(chan struct{})}
	err := m.open(r, s)
	if err == nil && waitReadable(s.pidfd, 0) {
		err = unix.ESRCH // what was opened by PID 1's number may be another process's
	}
	if err == nil && len(m.watches) > 0 {
		m.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		m.close()
		return setupFailed("", "what the sandbox uses cannot be watched: %v", err)
	}
	for _, w := range m.watches {
		m.running.Go(func() { m.repeat(w) })
	}
	s.meter = m
	return nil
}

// open adds the watches that the run needs.
func (m *meter) open(r *execution, s *sandbox) error {
	root := fmt.Sprintf("/proc/%d/root", s.lines.child)
	b := &r.bounds
	tree := &treeWatch{group: b.group, grouped: ir.Memory}
	if b.grouped.Memory == 0 {
		tree.grouped = ir.Processes
	}
	m.watches = append(m.watches, tree)
	for _, e := range r.table.Entries {
		if e.Kind == bwrap.Memory {
			if err := tree.addMemory(root, e); err != nil {
				return err
			}
		}
	}
	if b.grouped.Memory == 0 {
		tree.memory = b.memory
	}
	if b.grouped.Processes == 0 && !b.ranked {
		tree.processes = b.processes
	}
	size, sized := r.linux.Plan.Limit(ir.WorkspaceSize)
	if tree.memory > 0 || tree.processes > 0 {
		var err error
		if tree.sandbox, err = openProcesses(root); err != nil {
			return err
		}
	}
	if tree.idle() {
		m.watches = nil
	}
	if !sized {
		return nil
	}
	w, err := r.openWorkspace(root, size)
	if err == nil {
		m.watches = append(m.watches, w)
	}
	return err
}

// repeat looks until there is a breach or the meter stops.
func (m *meter) repeat(w watch) {
	wait := time.NewTimer(lookEvery)
	defer wait.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-wait.C:
		}
		began := time.Now()
		if b := w.look(m.stopped); b != nil {
			m.report(b)
			return
		}
		wait.Reset(max(lookEvery, 4*time.Since(began)))
	}
}

func (m *meter) stopped() bool {
	select {
	case <-m.stop:
		return true
	default:
		return false
	}
}

// report keeps the first breach and wakes who waits for one.
func (m *meter) report(b *breach) {
	m.reporting.Lock()
	defer m.reporting.Unlock()
	if m.found != nil || m.stopped() {
		return
	}
	m.found = b
	unix.Write(m.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// breach is what was found so far.
func (m *meter) breach() *breach {
	m.reporting.Lock()
	defer m.reporting.Unlock()
	return m.found
}

// poll is the descriptor that says that there is a breach which nobody has taken.
func (m *meter) poll() unix.PollFd {
	if m.taken {
		return unix.PollFd{Fd: -1}
	}
	return unix.PollFd{Fd: int32(m.wake), Events: unix.POLLIN}
}

// take is breach for the one who was woken.
func (m *meter) take() *breach {
	m.taken = true
	return m.breach()
}

// finish stops watching and looks at what outlives the processes once more: the
// workspace. The run is over, and all of its processes are gone.
func (m *meter) finish() *breach {
	if !m.halt() {
		return m.breach()
	}
	for _, w := range m.watches {
		if at, ok := w.(*workspaceWatch); ok && m.found == nil {
			m.found = at.lookAtLast()
		}
	}
	return m.found
}

// halt stops the looking. A file system that does not answer is not waited for;
// then it is false.
func (m *meter) halt() bool {
	if !m.stopped() {
		close(m.stop)
	}
	done := make(chan struct{})
	go func() { m.running.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(graceTime):
		return false
	}
}

// close stops watching.
func (m *meter) close() {
	if !m.halt() {
		return // somebody still uses the descriptors
	}
	for _, w := range m.watches {
		w.close()
	}
	m.watches = nil
	if m.wake >= 0 {
		unix.Close(m.wake)
		m.wake = -1
	}
}

// openProcesses opens the sandbox's own /proc, which lists its processes and
// nobody else's.
func openProcesses(root string) (*os.File, error) {
	return openInside(root, "/proc", unix.PROC_SUPER_MAGIC)
}

// openInside opens the mount point at, as the sandbox sees it, and holds it to be
// of the file system's kind.
func openInside(root, at string, kind int64) (*os.File, error) {
	fd, err := unix.Open(path.Join(root, at), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s of the sandbox: %w", at, err)
	}
	f := os.NewFile(uintptr(fd), at)
	var stat unix.Statfs_t
	if err := unix.Fstatfs(fd, &stat); err != nil || stat.Type != kind {
		f.Close()
		return nil, fmt.Errorf("%s of the sandbox is not what was mounted there: %v", at, err)
	}
	return f, nil
}
