package ir

import (
	"math"
	"strings"
)

// form is the shape of a short ASCII text: the bytes it may begin with, those
// that may follow, and how long it is. (By hand: compiling the patterns of a
// regular expression would cost obsrun half a millisecond at every start, twice
// a run.)
type form struct {
	first, rest string
	least, most int // bytes
}

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	letters = lower + upper
)

// The forms of design 4. Names become folders, so they hold no separator and no
// dot.
var (
	nameForm     = form{lower, lower + digits + "-", 1, 63}
	variableForm = form{letters + "_", letters + digits + "_", 1, math.MaxInt}
	fieldForm    = form{letters + "_", letters + digits + "_-", 1, 63}
	digestForm   = form{digits + "abcdef", digits + "abcdef", 64, 64}
	identifier   = form{letters + digits, letters + digits + "._-", 1, math.MaxInt}
)

func (f form) matches(s string) bool {
	if len(s) < f.least || len(s) > f.most {
		return false
	}
	for i := range len(s) {
		set := f.rest
		if i == 0 {
			set = f.first
		}
		if strings.IndexByte(set, s[i]) < 0 {
			return false
		}
	}
	return true
}
