package runtime

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountPoint is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mountPoint struct {
	id, parent int
	at         string
	options    string // of the mount, not of its file system
	filesystem string
}

// readOnly reports whether nothing can be changed through the mount.
func (m *mountPoint) readOnly() bool {
	first, _, _ := strings.Cut(m.options, ",")
	return first == "ro"
}

// readMountinfo reads an open mountinfo from its beginning.
func readMountinfo(fd int) ([]mountPoint, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	text, err := io.ReadAll(socketReader(fd))
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	return parseMountinfo(string(text))
}

// parseMountinfo reads the table; the point of each mount is unescaped.
func parseMountinfo(text string) ([]mountPoint, error) {
	var out []mountPoint
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		dash := 6
		for dash < len(fields) && fields[dash] != "-" {
			dash++
		}
		if dash+1 >= len(fields) {
			return nil, fmt.Errorf("mountinfo has the odd line %q", line)
		}
		id, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("mountinfo has the odd line %q", line)
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("mountinfo has the odd line %q", line)
		}
		out = append(out, mountPoint{id, parent, unescapeMount(fields[4]), fields[5], fields[dash+1]})
	}
	return out, nil
}

// unescapeMount undoes the \ooo of mountinfo: space, tab, newline, '\' and '#'.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// reachable lists the mounts that a path can lead to, by the point where one
// meets them. Another mount upon a mount, or upon a directory that leads to its
// point, hides it and everything that stands on it.
func reachable(all []mountPoint) map[string]*mountPoint {
	w := mountWay{make(map[int]*mountPoint, len(all)), make(map[place]bool, len(all))}
	for i := range all {
		w.byID[all[i].id] = &all[i]
		w.taken[place{all[i].parent, all[i].at}] = true
	}
	out := make(map[string]*mountPoint, len(all))
	for i := range all {
		if m := &all[i]; !w.taken[place{m.id, m.at}] && w.leadsTo(m, len(all)) {
			out[m.at] = m
		}
	}
	return out
}

// mountWay is what leads to mounts: each by its number, and which points of which
// mount others stand on.
type mountWay struct {
	byID  map[int]*mountPoint
	taken map[place]bool
}

// place is a point on a mount.
type place struct {
	mount int
	at    string
}

// leadsTo reports whether the way down to m, over at most so many mounts, is free.
func (w *mountWay) leadsTo(m *mountPoint, most int) bool {
	for range most {
		below := w.byID[m.parent]
		if below == nil || below == m {
			return true
		}
		if m.at != below.at && (w.taken[place{below.id, below.at}] || w.between(below, m)) {
			return false
		}
		m = below
	}
	return false
}

// between reports whether something stands on below above the point of m.
func (w *mountWay) between(below, m *mountPoint) bool {
	for at := m.at; ; {
		at = at[:max(strings.LastIndexByte(at, '/'), 0)]
		if len(at) <= len(below.at) {
			return false
		}
		if w.taken[place{below.id, at}] {
			return true
		}
	}
}
