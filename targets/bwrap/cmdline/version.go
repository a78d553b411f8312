package cmdline

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of bubblewrap. The zero Version is none.
type Version [3]int

// ParseVersion reads "0.8" or "0.8.0".
func ParseVersion(text string) (Version, bool) {
	var v Version
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Version{}, false
		}
		v[i] = int(n)
	}
	return v, true
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}
