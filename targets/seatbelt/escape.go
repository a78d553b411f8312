package seatbelt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxString bounds one quoted string. TinyScheme, which Apple's reader is built
// on, has a token buffer of a fixed size that Apple does not state; longer text is
// joined from pieces.
const maxString = 1000

// StringError reports text that cannot stand in a profile.
type StringError struct {
	Text   string
	Reason string
}

func (e *StringError) Error() string {
	return fmt.Sprintf("text %.80q cannot stand in a Seatbelt profile: %s", e.Text, e.Reason)
}

// quote is s as an SBPL expression whose value is exactly the bytes of s: a string,
// or a string-append of several when s is long. The reader turns \" into ", \\ into
// \ and knows few other escapes (\u is none: it would read as u), so everything
// else stands as it is and what may not stand is refused.
func quote(s string) (string, error) {
	if err := checkText(s); err != nil {
		return "", err
	}
	pieces := split(s)
	for i, piece := range pieces {
		pieces[i] = `"` + escape(piece) + `"`
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	return "(string-append " + strings.Join(pieces, " ") + ")", nil
}

// checkText refuses what the reader would change or stop at: invalid UTF-8 (byte
// 0xFF may read as the end of the file) and control characters, NUL among them.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return &StringError{s, "it is not valid UTF-8"}
	}
	if strings.IndexFunc(s, unicode.IsControl) >= 0 {
		return &StringError{s, "it holds a control character"}
	}
	return nil
}

var stringEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func escape(s string) string { return stringEscapes.Replace(s) }

// split cuts s between characters into pieces that are shorter than maxString even
// if every byte of them needs an escape.
func split(s string) []string {
	const room = (maxString - 1) / 2
	var pieces []string
	for len(s) > room {
		cut := room
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		pieces, s = append(pieces, s[:cut]), s[cut:]
	}
	return append(pieces, s)
}

// special are the bytes that mean something in a regular expression; they are what
// Apple's own regex-quote escapes.
const special = `^.[$()|*+?{\`

// caseless is a regular expression that matches s and every spelling of it that
// differs in the case of ASCII letters. The dialect has no (?i).
func caseless(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c):
			b.Write([]byte{'[', c &^ 0x20, c | 0x20, ']'})
		case strings.IndexByte(special, c) >= 0:
			b.Write([]byte{'\\', c})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// originBytes are what the name of a statement is made of. Nothing else may stand
// in a comment: a newline would start a rule.
const originBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/[]"

func checkOrigin(s string) error {
	odd := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune(originBytes, c) })
	if odd >= 0 || len(s) >= maxString {
		return &StringError{s, "no statement has such a name"}
	}
	return nil
}
