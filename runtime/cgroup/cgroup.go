// Package cgroup makes a control group of a run's own (cgroup v2), below a group
// that was delegated to the caller, and takes it away again. Its one rule: whether
// a machine lets it is found out by doing it, never from names, versions or the
// service manager. Which limits a run has, and what is done where there is no
// group, is package runtime's.
//
// Facts are from the kernel's Documentation/admin-guide/cgroup-v2.rst.
package cgroup

import "strings"

// Limits are what a group keeps for all its processes together; 0 is no limit.
type Limits struct {
	Memory    int64 // bytes; nothing is swapped out
	Processes int64 // processes and threads at one time
}

// controllers are what the limits need.
func (l Limits) controllers() []string {
	var out []string
	if l.Memory > 0 {
		out = append(out, "memory")
	}
	if l.Processes > 0 {
		out = append(out, "pids")
	}
	return out
}

// LackingError is a machine, or a caller's place in it, where no group can be
// made that keeps the limits.
type LackingError struct {
	Controllers []string
	Why         string // one clause
	Help        string // what to do about it
}

func (e *LackingError) Error() string {
	return "no cgroup of the run's own with " + strings.Join(e.Controllers, " and ") + ": " + e.Why
}

// Events are what a group's limits did.
type Events struct {
	Kills int64 // processes killed because the group was out of memory
	Forks int64 // that failed because the group had as many processes as it may
}
