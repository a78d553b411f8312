package ir

import (
	"errors"
	"fmt"
	"strings"
)

// PathPattern is a pattern of request paths: segments between slashes, in which "*"
// stands for any characters of one segment, none included, and "**", which is a
// segment by itself, for any number of segments, none included. Nothing else is
// special. "/repos/**" matches /repos, /repos/ and all below.
type PathPattern string

// AnyPath matches every path.
const AnyPath PathPattern = "/**"

// MaxPatternBytes is what a pattern holds at most.
const MaxPatternBytes = 1024

// ErrPattern is wrapped by ParsePathPattern.
var ErrPattern = errors.New("is no pattern of request paths")

// ParsePathPattern reads a pattern. Its literal text must be in the form that
// CanonicalTarget gives, or it would never match; the error then says which that is.
func ParsePathPattern(text string) (PathPattern, error) {
	fault := func(format string, args ...any) (PathPattern, error) {
		return "", fmt.Errorf("%q %w: %s", text, ErrPattern, fmt.Sprintf(format, args...))
	}
	switch {
	case !strings.HasPrefix(text, "/"):
		return fault("it begins with a slash")
	case len(text) > MaxPatternBytes:
		return fault("it is longer than %d bytes", MaxPatternBytes)
	case strings.Contains(text, "?"):
		return fault("a query is not compared; end it before the question mark")
	}
	before := ""
	for segment := range strings.SplitSeq(text[1:], "/") {
		switch {
		case segment == "**" && before == "**":
			return fault("one ** stands for any number of segments")
		case segment != "**" && strings.Contains(segment, "**"):
			return fault("** is a segment by itself, as in /repos/**")
		}
		before = segment
	}
	canonical, _, err := CanonicalTarget(text) // "*" is a character like any other there
	if err != nil {
		return fault("its text %v", errors.Unwrap(err))
	}
	if canonical != text {
		return fault("paths are compared in canonical form: write %q", canonical)
	}
	return PathPattern(text), nil
}

// Matches reports whether the pattern matches a path in canonical form. It costs the
// product of the two lengths at most, and does not allocate.
func (p PathPattern) Matches(path string) bool {
	if p == "" || path == "" {
		return false
	}
	rest, target := string(p[1:]), path[1:]
	restDone, targetDone := false, false // a list of segments has one more than slashes
	var back string                      // after the last "**", and what is to be matched next
	var from string
	backDone, fromDone, retry := false, false, false
	for {
		if restDone && targetDone {
			return true
		}
		if !restDone {
			segment, after, more := strings.Cut(rest, "/")
			if segment == "**" {
				back, backDone, from, fromDone, retry = after, !more, target, targetDone, true
				rest, restDone = after, !more
				continue
			}
			if !targetDone {
				have, behind, further := strings.Cut(target, "/")
				if matchesSegment(segment, have) {
					rest, restDone, target, targetDone = after, !more, behind, !further
					continue
				}
			}
		}
		if !retry || fromDone {
			return false
		}
		_, behind, further := strings.Cut(from, "/")
		from, fromDone = behind, !further
		rest, restDone, target, targetDone = back, backDone, from, fromDone
	}
}

// matchesSegment matches one segment against text with "*" in it.
func matchesSegment(pattern, text string) bool {
	i, j := 0, 0
	star, at := -1, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, at = i, j
			i++
		case i < len(pattern) && pattern[i] == text[j]:
			i, j = i+1, j+1
		case star >= 0:
			at++
			i, j = star+1, at
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
