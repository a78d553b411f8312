package verify

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reason sorts failures for machines. The words are never renamed or reused.
type Reason string

// The reasons.
const (
	UnsafeName  Reason = "unsafe-name"        // a name that does not mean one file on every system
	UnsafeFile  Reason = "unsafe-file"        // a link, a device, a second name, or writable by others
	Unlisted    Reason = "unlisted"           // there, and release.json or SHA256SUMS does not name it
	Missing     Reason = "missing"            // named, and not there
	Oversize    Reason = "oversize"           // beyond a limit
	Malformed   Reason = "malformed"          // not in the one form that is read
	Tampered    Reason = "tampered"           // bytes differ from what a digest says
	Untrusted   Reason = "untrusted"          // no pin or key accepts it, or it is revoked
	Stale       Reason = "stale"              // rolled back, expired, without expiry, from the future
	Unproven    Reason = "unproven"           // an artifact does not mean what its policy means
	Differs     Reason = "differs"            // not what the sources or the golden files give
	Violation   Reason = "violation"          // a house rule forbids it
	Unsupported Reason = "unsupported-format" // of a generation that this version does not read
	Unreadable  Reason = "unreadable"         // the system did not let it be read or written

	OtherCompiler Reason = "other-compiler" // compiled by a version whose bytes may differ from this one's
)

// Failure is one reason why a release is not verified. Wanted and Found are ""
// when there is nothing to compare. Stated is where the policy's statement stands
// that an artifact does not keep, nil when it is about none or nothing tells.
type Failure struct {
	File    string // name in the release, "" for the release as a whole
	Reason  Reason
	Message string
	Wanted  string
	Found   string
	Stated  *Place
}

// String is the failure on one line.
func (f Failure) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(display(f.File) + ": ")
	}
	fmt.Fprintf(&b, "%s: %s", f.Reason, plain(f.Message))
	if f.Wanted != "" {
		fmt.Fprintf(&b, ": wanted %s, found %s", plain(f.Wanted), plain(f.Found))
	}
	if f.Stated != nil {
		fmt.Fprintf(&b, "; the statement is at %s", f.Stated)
	}
	return b.String()
}

// display is a name from outside as it may be shown: quoted when it holds more
// than printable ASCII, so that no name steers a terminal.
func display(name string) string {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '"' {
			return strconv.QuoteToASCII(name)
		}
	}
	return name
}

// Plain is text that may quote a file from outside, as reports show it: on one
// line, and what could steer a terminal or hide text is spelt out.
func Plain(text string) string { return plain(text) }

// plain is text that may quote a file from outside, on one line and without
// characters that steer a terminal or hide text.
func plain(text string) string {
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "; ")
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if odd(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
