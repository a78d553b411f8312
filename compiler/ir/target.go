package ir

import (
	"errors"
	"fmt"
	"strings"
)

// MaxTargetBytes is what the path of a request holds at most, as it was sent.
const MaxTargetBytes = 4096

// Faults of a request target, each told apart because each is a trick of its own.
var (
	ErrTargetForm      = errors.New("is no absolute path")
	ErrTargetLong      = fmt.Errorf("is longer than %d bytes", MaxTargetBytes)
	ErrTargetEscape    = errors.New("has a percent sign without two hexadecimal digits")
	ErrTargetControl   = errors.New("has a space or a control character")
	ErrTargetASCII     = errors.New("has a character outside ASCII that is not percent-encoded")
	ErrTargetSlash     = errors.New("has an encoded slash or a backslash, which servers read in two ways")
	ErrTargetParameter = errors.New("has a path parameter (;), which servers read in two ways")
	ErrTargetTwice     = errors.New("is percent-encoded twice, which servers read in two ways")
	ErrTargetFragment  = errors.New("has a fragment")
	ErrTargetAbove     = errors.New("leads above the root")
)

// CanonicalTarget splits the target of a request (RFC 9112, section 3.2.1) into its
// path in the one form that rules are compared in and that is sent on, and its query,
// with the question mark, as it was sent. What may stand in a segment as itself (RFC
// 3986, section 3.3, pchar without ";") does, everything else is percent-encoded with
// upper-case digits; empty segments are left out, "." and ".." resolved. What
// could be decoded once more is refused. Errors wrap one of the faults above.
func CanonicalTarget(target string) (path, query string, err error) {
	path, query = target, ""
	if i := strings.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	for i := range len(query) {
		if err := rawByte(query[i]); err != nil {
			return "", "", fmt.Errorf("the query of a request %w", err)
		}
	}
	path, err = canonicalTargetPath(path)
	if err != nil {
		return "", "", fmt.Errorf("the path %q %w", shortened(target), err)
	}
	return path, query, nil
}

func shortened(s string) string {
	const most = 80
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s = s[:i]
	}
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// rawByte judges a byte that stands as itself in a target.
func rawByte(c byte) error {
	switch {
	case c == '#':
		return ErrTargetFragment
	case c <= ' ' || c == 0x7f:
		return ErrTargetControl
	case c >= 0x80:
		return ErrTargetASCII
	}
	return nil
}

func canonicalTargetPath(path string) (string, error) {
	switch {
	case path == "" || path[0] != '/':
		return "", ErrTargetForm
	case len(path) > MaxTargetBytes:
		return "", ErrTargetLong
	}
	segments := make([]string, 0, 8)
	last := "" // of the segments, as it was read: it says whether the path ends in a slash
	for raw := range strings.SplitSeq(path[1:], "/") {
		segment, err := canonicalSegment(raw)
		if err != nil {
			return "", err
		}
		last = segment
		switch segment {
		case "", ".":
		case "..":
			if len(segments) == 0 {
				return "", ErrTargetAbove
			}
			segments = segments[:len(segments)-1]
		default:
			segments = append(segments, segment)
		}
	}
	out := "/" + strings.Join(segments, "/")
	if len(segments) > 0 && (last == "" || last == "." || last == "..") {
		out += "/"
	}
	return out, nil
}

const upperHex = "0123456789ABCDEF"

// canonicalSegment decodes what need not be encoded and encodes what must be.
func canonicalSegment(raw string) (string, error) {
	clean := true
	for i := range len(raw) {
		clean = clean && isPchar(raw[i])
	}
	if clean {
		return raw, nil
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '%':
			if i+2 >= len(raw) {
				return "", ErrTargetEscape
			}
			high, low := hexValue(raw[i+1]), hexValue(raw[i+2])
			if high < 0 || low < 0 {
				return "", ErrTargetEscape
			}
			c, i = byte(high<<4|low), i+2
			if c < ' ' || c == 0x7f {
				return "", ErrTargetControl
			}
			switch {
			case c == '/' || c == '\\':
				return "", ErrTargetSlash
			case c == '%' && i+2 < len(raw) && hexValue(raw[i+1]) >= 0 && hexValue(raw[i+2]) >= 0:
				return "", ErrTargetTwice
			}
		case c == '\\':
			return "", ErrTargetSlash
		case c == ';':
			return "", ErrTargetParameter
		default:
			if err := rawByte(c); err != nil {
				return "", err
			}
		}
		if isPchar(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String(), nil
}

// isPchar reports whether c stands as itself in a canonical segment: unreserved,
// sub-delims but ";", ":" and "@" (RFC 3986, appendix A).
func isPchar(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("-._~!$&'()*+,=:@", c) >= 0
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
