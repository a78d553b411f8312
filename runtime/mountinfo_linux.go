package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

// mountPoint is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mountPoint struct {
	id, parent int
	at         string
	readOnly   bool
	filesystem string
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
		first, _, _ := strings.Cut(fields[5], ",")
		out = append(out, mountPoint{id, parent, unescapeMount(fields[4]), first == "ro", fields[dash+1]})
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

// topMounts is, for each mount point, the mount that one meets there: the one
// that no other mount of the same point lies upon.
func topMounts(all []mountPoint) map[string]mountPoint {
	byID := make(map[int]string, len(all))
	for _, m := range all {
		byID[m.id] = m.at
	}
	covered := map[int]bool{}
	for _, m := range all {
		if byID[m.parent] == m.at && m.parent != m.id {
			covered[m.parent] = true
		}
	}
	top := make(map[string]mountPoint, len(all))
	for _, m := range all {
		if !covered[m.id] {
			top[m.at] = m
		}
	}
	return top
}
