package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a control group of one run. Its directory is locked while its owner
// lives, so that one whose owner was killed is told from one in use.
type Group struct {
	dir    *os.File
	limits Limits
	aside  *aside // where this process stands meanwhile; nil when it did not move
}

// prefix begins the name of every group that this package makes; digits follow.
const prefix = "obspc-run-"

// makeIn makes a group directly below the directory parent.
func makeIn(parent string, l Limits) (*Group, error) {
	sweep(parent)
	dir, err := lockedDirectory(parent)
	if err != nil {
		return nil, err
	}
	g := &Group{dir: dir, limits: l}
	if err := g.limit(); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// lockedDirectory makes a group and locks it. Another run may find it unlocked in
// between and take it for a leftover; then there is another.
func lockedDirectory(parent string) (*os.File, error) {
	for range 16 {
		name, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		dir, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, os.Remove(name))
		}
		if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return dir, nil
		}
		dir.Close()
	}
	return nil, errors.New("other runs take each new group away")
}

// limit sets what holds from the first process on. The number of processes
// follows with LimitProcesses: setting up a sandbox needs some of its own.
func (g *Group) limit() error {
	if g.limits.Memory == 0 {
		return nil
	}
	if err := g.put("memory.max", g.limits.Memory); err != nil {
		return err
	}
	if err := g.put("memory.swap.max", 0); err != nil && !(errors.Is(err, fs.ErrNotExist) && !swaps()) {
		return fmt.Errorf("what is swapped out would not count: %w", err)
	}
	// All of the group ends, or what is left of it would go on half done.
	return g.put("memory.oom.group", 1)
}

// swaps reports whether the machine swaps, as far as it says.
func swaps() bool {
	text, err := os.ReadFile("/proc/swaps")
	return err != nil || strings.Count(string(text), "\n") > 1
}

func (g *Group) put(name string, value int64) error {
	return put(filepath.Join(g.dir.Name(), name), strconv.FormatInt(value, 10))
}

// FD is the group's directory, as clone3(2) takes it to start a process in it.
func (g *Group) FD() int { return int(g.dir.Fd()) }

// LimitProcesses lets the group have as many processes as its limits say, for the
// one process of it that is to become the command. The others stay as they are
// and are not counted.
func (g *Group) LimitProcesses() error {
	if g.limits.Processes == 0 {
		return nil
	}
	have, err := words(filepath.Join(g.dir.Name(), "cgroup.procs"))
	if err != nil {
		return err
	}
	return g.put("pids.max", g.limits.Processes+max(int64(len(have))-1, 0))
}

// Keeps reports an error when the group does not keep its limits any more: a
// service manager can take a controller away from what it did not make.
func (g *Group) Keeps() error {
	if g.limits.Memory > 0 {
		have, err := words(filepath.Join(g.dir.Name(), "memory.max"))
		if err != nil {
			return err
		}
		if page := int64(os.Getpagesize()); len(have) != 1 || have[0] != strconv.FormatInt(g.limits.Memory/page*page, 10) {
			return fmt.Errorf("memory.max is %q, no longer %d", have, g.limits.Memory)
		}
	}
	if g.limits.Processes > 0 {
		if have, err := words(filepath.Join(g.dir.Name(), "pids.max")); err != nil || len(have) != 1 || have[0] == "max" {
			return errors.Join(errors.New("pids.max is no longer set"), err)
		}
	}
	return nil
}

// Events are what the limits did so far.
func (g *Group) Events() (Events, error) {
	var e Events
	var err error
	if g.limits.Memory > 0 {
		if e.Kills, err = g.event("memory.events", "oom_kill"); err != nil {
			return e, err
		}
	}
	if g.limits.Processes > 0 {
		e.Forks, err = g.event("pids.events", "max")
	}
	return e, err
}

// event is one number of a file of lines "name number".
func (g *Group) event(file, name string) (int64, error) {
	have, err := words(filepath.Join(g.dir.Name(), file))
	if err != nil {
		return 0, err
	}
	for i := 0; i+1 < len(have); i += 2 {
		if have[i] == name {
			return strconv.ParseInt(have[i+1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s does not count %s", file, name)
}

// Close kills what is left in the group and removes it. It is called when the
// group should be empty.
func (g *Group) Close() error {
	err := remove(g.dir.Name())
	g.dir.Close()
	if g.aside != nil {
		err = errors.Join(err, g.aside.back())
	}
	return err
}

// emptyTime bounds how long the last processes of a group may take to go.
const emptyTime = 2 * time.Second

// remove kills what is in a group and removes its directory.
func remove(dir string) error {
	// Linux 5.14 has cgroup.kill. Before that what was in the group ends with its
	// PID namespace.
	if err := put(filepath.Join(dir, "cgroup.kill"), "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		err := unix.Rmdir(dir)
		switch {
		case err == nil || errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, unix.EBUSY) || time.Since(began) > emptyTime:
			return fmt.Errorf("remove the cgroup %s: %w", dir, err)
		}
	}
}

// sweep removes the groups below parent whose owners are gone. What cannot be
// removed is somebody else's, or the next run's to remove.
func sweep(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return
	}
	for _, name := range left {
		if strings.Trim(strings.TrimPrefix(filepath.Base(name), prefix), "0123456789") != "" {
			continue
		}
		dir, err := os.Open(name)
		if err != nil {
			continue
		}
		if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			remove(name)
		}
		dir.Close()
	}
}
