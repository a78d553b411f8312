package cgroup

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
)

// hierarchy is the v2 hierarchy as this process sees it.
type hierarchy struct {
	mount string // where it is mounted
	own   string // the group of this process, below mount: "/" or "/a/b"
}

// errNone is a machine without a usable v2 hierarchy.
var errNone = errors.New("no cgroup v2 hierarchy is mounted that shows this process's own group")

// current finds the hierarchy. A mount that shows only a part of it is usable
// when the part has this process in it.
func current() (hierarchy, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchy{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, err
	}
	return locate(string(groups), string(mounts))
}

// locate is current from the texts of /proc/self/cgroup and /proc/self/mountinfo
// (cgroups(7), proc(5)).
func locate(groups, mounts string) (hierarchy, error) {
	own, found := "", false
	for line := range strings.Lines(groups) {
		if after, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own, found = after, true
		}
	}
	if !found || strings.HasPrefix(own, "/..") { // outside of this cgroup namespace
		return hierarchy{}, errNone
	}
	for line := range strings.Lines(mounts) {
		mount, filesystem, ok := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !ok || len(fields) < 6 || !strings.HasPrefix(filesystem, "cgroup2 ") || strings.Contains(fields[4], `\`) {
			continue
		}
		if below, ok := inside(own, fields[3]); ok {
			return hierarchy{fields[4], below}, nil
		}
	}
	return hierarchy{}, errNone
}

// inside is the path own below root, when it lies there.
func inside(own, root string) (string, bool) {
	if root == "/" {
		return own, true
	}
	below, ok := strings.CutPrefix(own, root)
	if !ok || below != "" && below[0] != '/' {
		return "", false
	}
	return "/" + strings.TrimPrefix(below, "/"), true
}

// dirs are the directories of this process's own group and of those above it, the
// nearest first.
func (h hierarchy) dirs() []string {
	var out []string
	for at := h.own; ; at = path.Dir(at) {
		out = append(out, path.Join(h.mount, at))
		if at == "/" {
			return out
		}
	}
}

// words are the words of an interface file.
func words(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	return strings.Fields(string(text)), err
}

// has reports whether all of the words stand in an interface file.
func has(file string, wanted []string) (bool, error) {
	have, err := words(file)
	for _, w := range wanted {
		if !slices.Contains(have, w) {
			return false, err
		}
	}
	return err == nil, err
}

// put writes an interface file. Each write is one request to the kernel.
func put(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
