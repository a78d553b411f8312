package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// stage is what a case needs: its caller's directories, its setting, and the way
// back from it.
type stage struct {
	trial     trial
	home, tmp string
	group     *os.File // the control group to start in; nil: the root's
	undo      []func() error
}

const groups = "/sys/fs/cgroup"

func newStage(t trial) (*stage, error) {
	s := &stage{trial: t, home: "/root", tmp: "/var/tmp"}
	if t.as == user {
		s.home, s.tmp = "/home/user", "/var/tmp/user"
		err := os.Mkdir(s.tmp, 0o755)
		if err == nil {
			err = os.Chown(s.tmp, userID, userID)
		}
		if err != nil {
			return nil, err
		}
		s.undo = append(s.undo, func() error { return os.RemoveAll(s.tmp) })
	}
	if err := s.arrange(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) arrange() error {
	var err error
	if s.trial.in == noNamespaces {
		err = s.set("/proc/sys/user/max_user_namespaces", "0")
	}
	// Root's caller is in the root of the hierarchy, all of which is its own.
	if err == nil && s.trial.as == user {
		err = s.enter("user", s.trial.in != undelegated)
	}
	return err
}

// set changes a setting of the kernel until the case is over.
func (s *stage) set(path, value string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.undo = append(s.undo, func() error { return os.WriteFile(path, before, 0) })
	return os.WriteFile(path, []byte(value), 0)
}

// enter makes a group with one below it to start in, as systemd does for a user's
// session; with own both are the user's to divide.
func (s *stage) enter(name string, own bool) error {
	controllers := strings.Fields(readText(groups + "/cgroup.controllers"))
	dir := filepath.Join(groups, name)
	session := filepath.Join(dir, "session")
	for _, step := range []struct{ around, make string }{{groups, dir}, {dir, session}} {
		for _, c := range controllers {
			if c == "memory" || c == "pids" {
				if err := os.WriteFile(step.around+"/cgroup.subtree_control", []byte("+"+c), 0); err != nil {
					return err
				}
			}
		}
		if err := os.Mkdir(step.make, 0o755); err != nil {
			return err
		}
		s.undo = append(s.undo, func() error { return os.Remove(step.make) })
		if !own {
			continue
		}
		for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
			if err := os.Chown(filepath.Join(step.make, file), userID, userID); err != nil {
				return err
			}
		}
	}
	var err error
	s.group, err = os.Open(session)
	return err
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *stage) close() error {
	var err error
	if s.group != nil {
		err = s.group.Close()
	}
	for i := len(s.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, s.undo[i]())
	}
	return err
}
