package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime/registry"
	"github.com/obspc/obspc/targets/bwrap"
)

// reconcile ends what is left of runs whose obsrun was killed, and takes away what
// they had made. What cannot be taken away stays for a later run, and evidence says
// so; but no run starts while a dead one's sandbox is alive.
func (r *execution) reconcile() *Refusal {
	dead, err := r.registry.Dead()
	if err != nil {
		return noRegistry(r.registry.Path(), err)
	}
	for _, d := range dead {
		if refusal := r.reconcileOne(d); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (r *execution) reconcileOne(d *registry.Dead) *Refusal {
	c := &r.evidence.Cleanup
	if d.Fault != nil {
		c.Earlier = append(c.Earlier, fmt.Sprintf("%s cannot be read, and what it is about stays: %v", d.Path, d.Fault))
		d.Leave()
		return nil
	}
	if err := endSandbox(&d.Sandbox); err != nil {
		return refuse(Machine, "end it", "%s was cut off, and its sandbox does not end: %v", d.Entry, err)
	}
	gone, err := removeLeft(&d.Made, r.cut)
	if err != nil {
		c.Earlier = append(c.Earlier, fmt.Sprintf("%s was cut off, and what it has left stays: %v", d.Entry, err))
		d.Leave()
		return nil
	}
	note := fmt.Sprintf("%s was cut off", d.Entry)
	if len(gone) > 0 {
		note += "; removed: " + list(gone)
	}
	c.Earlier = append(c.Earlier, note)
	r.job.notice(note)
	if err := d.Remove(); err != nil {
		return noRegistry(r.registry.Path(), err)
	}
	return nil
}

// removeLeft takes away what a dead run made and what is still what it was: gone
// lists it.
func removeLeft(m *registry.Made, stop func() bool) (gone []string, err error) {
	var faults []error
	left := reopen(m.Placeholders)
	for i := len(left) - 1; i >= 0; i-- { // children first
		p := &left[i]
		before := p.current()
		stays, err := p.remove()
		unix.Close(p.fd)
		unix.Close(p.parent)
		if err != nil {
			faults = append(faults, fmt.Errorf("remove %s: %w", p.at, err))
		}
		if before && !stays && err == nil && !p.current() {
			gone = append(gone, p.at.String())
		}
	}
	if m.Fresh != nil {
		was, err := removeFresh(m.Fresh, stop)
		if err != nil {
			faults = append(faults, err)
		}
		if was {
			gone = append(gone, m.Fresh.Path.String())
		}
	}
	return gone, errors.Join(faults...)
}

// reopen opens placeholders that are still the nodes that were made, parents first:
// the command may have taken the permissions of directories away.
func reopen(list []registry.Placeholder) placeholders {
	var out placeholders
	for _, made := range list {
		parent, err := openParent(made.Path)
		if err != nil {
			continue // nothing of ours is there
		}
		p := placeholder{at: made.Path, directory: made.Directory, parent: parent, fd: -1}
		if !p.reopen(made.Node) {
			unix.Close(parent)
			continue
		}
		out = append(out, p)
	}
	return out
}

// reopen opens what was made; false when something else is there, or nothing.
func (p *placeholder) reopen(made registry.Node) bool {
	defer p.openUp()()
	at, err := openBelow(p.parent, p.at.Base(), pathOnly, 0)
	if err != nil {
		return false
	}
	defer unix.Close(at)
	var stat unix.Stat_t
	if unix.Fstat(at, &stat) != nil || p.directory != (kindOf(stat.Mode) == bwrap.Directory) || int(stat.Uid) != os.Geteuid() {
		return false
	}
	// Cut off before its number was noted, it is known by its mode.
	if known := made.Ino != 0; known && (stat.Dev != made.Dev || stat.Ino != made.Ino) || !known && !isPlaceholder(&stat) {
		return false
	}
	if p.directory {
		unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", at), directoryMode)
	}
	p.fd, err = openBelow(p.parent, p.at.Base(), unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil || unix.Fstat(p.fd, &stat) != nil {
		return false
	}
	p.dev, p.ino = stat.Dev, stat.Ino
	return true
}

// removeFresh removes a workspace if it is the one that was made; one whose number
// was not noted is empty.
func removeFresh(made *registry.Node, stop func() bool) (was bool, err error) {
	var stat unix.Stat_t
	if !strings.HasPrefix(made.Path.String(), freshParent+"/"+freshPrefix) || unix.Lstat(made.Path.String(), &stat) != nil ||
		kindOf(stat.Mode) != bwrap.Directory || int(stat.Uid) != os.Geteuid() {
		return false, nil
	}
	switch {
	case made.Ino == 0:
		return unix.Rmdir(made.Path.String()) == nil, nil
	case stat.Dev != made.Dev || stat.Ino != made.Ino:
		return false, nil
	}
	err = removeTree(made.Path, stop)
	return err == nil, err
}

// endSandbox ends what is alive of a dead run. Its sandbox has been told to die with
// obsrun, so it is mostly gone or about to go.
func endSandbox(s *registry.Sandbox) error {
	if s.Init > 0 {
		return endInit(s.Init, func(pidfd int) bool { at, err := startTime(s.Init); return err == nil && at == s.InitStart })
	}
	// Before PID 1 was noted, the one process that can be left is a bubblewrap that
	// was cloned and waits for its parent, which has died.
	if s.Bwrap > 0 {
		for _, pid := range cloned(s) {
			if err := endInit(pid, func(int) bool { return slices.Contains(cloned(s), pid) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// endInit kills the process with that number, if it is still the one that is meant,
// and waits until all of its namespace is gone.
func endInit(pid int, meant func(pidfd int) bool) error {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(pidfd)
	if !meant(pidfd) || !isInit(pidfd) {
		return nil
	}
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if !waitReadable(pidfd, endTime) {
		return fmt.Errorf("process %d is alive %v after it was killed", pid, endTime)
	}
	return nil
}

// endTime is how long a killed sandbox may take to end.
const endTime = 10 * time.Second

// processStat are the fields of /proc/PID/stat behind the name (proc_pid_stat(5)):
// the first is the state, field 3 there.
func processStat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat is odd: %q", pid, text)
	}
	return fields, nil
}

// Where fields of /proc/PID/stat stand in what processStat gives.
const (
	statParent = 4 - 3
	statGroup  = 5 - 3
	statStart  = 22 - 3
)

// startTime is when a process began, in clock ticks since the machine did.
func startTime(pid int) (uint64, error) {
	fields, err := processStat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[statStart], 10, 64)
}

// clockTick is the unit of startTime: USER_HZ is 100 on every architecture that
// Go supports (proc_pid_stat(5), sysconf(3) _SC_CLK_TCK).
const clockTick = 10 * time.Millisecond

// cloned lists the processes that a bubblewrap of ours cloned and did not get to
// set up: orphans in its process group, which keeps its number while they live,
// begun when it was, and called as it was.
func cloned(s *registry.Sandbox) []int {
	var out []int
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	called := strings.Join(bwrapArgv, "\x00") + "\x00"
	first := uint64(s.Launched) / uint64(clockTick)
	last := first + uint64(setUpTime/clockTick)
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		fields, err := processStat(pid)
		group := strconv.Itoa(s.Bwrap)
		if err != nil || fields[statGroup] != group || fields[statParent] == group {
			continue
		}
		start, err := strconv.ParseUint(fields[statStart], 10, 64)
		argv, _ := os.ReadFile(dir + "/cmdline")
		if err == nil && start >= first && start <= last && string(argv) == called {
			out = append(out, pid)
		}
	}
	return out
}

// bootTime is now, in nanoseconds since the machine's start (CLOCK_BOOTTIME).
func bootTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return now.Nano()
}
