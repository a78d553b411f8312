package sbpl

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern bounds one pattern, and maxPatterns all of a profile together, in bytes.
const (
	maxPattern  = 16 << 10
	maxPatterns = 1 << 19
)

// expression is a pattern of AppleMatch, found anywhere in a text unless anchored.
type expression struct {
	source string
	find   *regexp.Regexp
}

func (e *expression) matches(text string) bool { return e.find.MatchString(latin1(text)) }

// latin1 turns bytes into characters one to one, so that "." and classes take a
// byte, as AppleMatch does.
func latin1(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			out := make([]rune, len(s))
			for j := range len(s) {
				out[j] = rune(s[j])
			}
			return string(out)
		}
	}
	return s
}

// compileExpression translates the dialect to RE2. Only what is seen in Apple's
// own patterns and those of tools is taken (478 of them): ^ at the start of a
// branch, $ . * + ? | ( ) { } and classes, and escaped punctuation.
func compileExpression(source string) (*expression, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("pattern has %d bytes; at most %d are taken", len(source), maxPattern)
	}
	t := translator{in: source, atStart: true}
	if err := t.translate(); err != nil {
		return nil, err
	}
	find, err := regexp.Compile("(?s)" + latin1(t.out.String()))
	if err != nil {
		return nil, fmt.Errorf("pattern: %s", reason(err))
	}
	return &expression{source, find}, nil
}

// reason is what RE2 says, without the translated pattern.
func reason(err error) string {
	var e *syntax.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return err.Error()
}

type translator struct {
	in      string
	at      int
	out     strings.Builder
	atStart bool // of a branch
	quantum bool // the last piece may be repeated
}

func (t *translator) next() byte {
	if t.at+1 < len(t.in) {
		return t.in[t.at+1]
	}
	return 0
}

// put writes n bytes of the pattern as they are.
func (t *translator) put(n int, repeatable bool) {
	t.out.WriteString(t.in[t.at : t.at+n])
	t.at += n
	t.atStart, t.quantum = false, repeatable
}

func (t *translator) translate() error {
	for t.at < len(t.in) {
		var err error
		switch c := t.in[t.at]; c {
		case '^':
			if !t.atStart {
				return errors.New("unexpected ^ operator in middle of expression")
			}
			t.put(1, false)
		case '|':
			t.put(1, false)
			t.atStart = true
		case '(':
			if t.next() == '?' {
				return errors.New("(? is no part of the dialect: groups have no flags and no names")
			}
			t.put(1, false)
			t.atStart = true
		case ')', '.':
			t.put(1, true)
		case '$':
			t.put(1, false)
		case '*', '+', '?':
			err = t.repeat(1)
		case '{':
			err = t.count()
		case '[':
			err = t.class()
		case '\\':
			err = t.escape()
		case ']', '}':
			t.out.WriteString(`\` + string(c))
			t.at++
			t.atStart, t.quantum = false, true
		default:
			t.put(1, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repeat takes an operator of n bytes that repeats what stands before it.
func (t *translator) repeat(n int) error {
	if !t.quantum {
		return fmt.Errorf("nothing stands before %s that could be repeated", t.in[t.at:t.at+n])
	}
	t.put(n, false)
	if t.at < len(t.in) && t.in[t.at] == '?' {
		return errors.New("lazy repetition is no part of the dialect")
	}
	return nil
}

// count takes {m}, {m,} and {m,n}.
func (t *translator) count() error {
	end := strings.IndexByte(t.in[t.at:], '}')
	if end < 0 {
		return errors.New("{ is not closed")
	}
	inner := t.in[t.at+1 : t.at+end]
	low, high, _ := strings.Cut(inner, ",")
	if low == "" || strings.Trim(low+high, "0123456789") != "" {
		return fmt.Errorf("{%s} is no count", inner)
	}
	return t.repeat(end + 1)
}

// class takes a bracket expression.
func (t *translator) class() error {
	i := t.at + 1
	if i < len(t.in) && t.in[i] == '^' {
		i++
	}
	for first := true; ; first = false {
		if i >= len(t.in) {
			return errors.New("[ is not closed")
		}
		c := t.in[i]
		if c == ']' && !first {
			break
		}
		if c == '[' && i+1 < len(t.in) && strings.IndexByte(":.=", t.in[i+1]) >= 0 {
			return fmt.Errorf("[%c is no part of the dialect: write the characters of the class", t.in[i+1])
		}
		if c != '\\' {
			i++
			continue
		}
		if i+1 >= len(t.in) {
			return errors.New("[ is not closed")
		}
		if e := t.in[i+1]; e != 'w' && isWordByte(e) {
			return fmt.Errorf(`\%c is no part of the dialect`, e)
		}
		i += 2
	}
	// A bracket inside a class is a character; RE2 would read "[[:" as a named class
	// and takes the rest as it is.
	t.put(i+1-t.at, true)
	return nil
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

// escape takes a backslash and punctuation.
func (t *translator) escape() error {
	if t.at+1 >= len(t.in) {
		return errors.New(`nothing follows the last \`)
	}
	if c := t.next(); isWordByte(c) || c < ' ' {
		return fmt.Errorf(`\%c is no part of the dialect`, c)
	}
	t.put(2, true)
	return nil
}

// anchored reports whether every branch of a pattern begins with ^, perhaps inside
// a group.
func anchored(source string) bool {
	for _, branch := range branches(source) {
		if strings.HasPrefix(branch, "^") {
			continue
		}
		if !strings.HasPrefix(branch, "(") || !strings.HasSuffix(group(branch), ")") || !anchored(strings.TrimSuffix(group(branch)[1:], ")")) {
			return false
		}
	}
	return true
}

// group is the first group of a branch that begins with one, both parentheses
// included, if nothing makes it optional.
func group(branch string) string {
	depth := 0
	for i := 0; i < len(branch); i++ {
		switch branch[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				if i+1 < len(branch) && strings.IndexByte("*?{", branch[i+1]) >= 0 {
					return ""
				}
				return branch[:i+1]
			}
		}
	}
	return ""
}

// branches splits a pattern at its outermost bars.
func branches(source string) (out []string) {
	depth, start, inClass := 0, 0, false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out, start = append(out, source[start:i]), i+1
		}
	}
	return append(out, source[start:])
}

// quoteExpression is regex-quote: it escapes exactly ^ . [ $ ( ) | * + ? { \.
func quoteExpression(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`^.[$()|*+?{\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
