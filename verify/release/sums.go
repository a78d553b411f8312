package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// maxSyntaxErrors bounds how many faults of one file are told at once.
const maxSyntaxErrors = 20

// SyntaxError is one fault of a text file, at a line that counts from 1; line 0 is
// the file as a whole.
type SyntaxError struct {
	File    string
	Line    int
	Message string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// SyntaxErrors are the faults of one file in line order; the first 20 of them.
type SyntaxErrors []*SyntaxError

func (e SyntaxErrors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Entry is one line of SHA256SUMS.
type Entry struct {
	Name   string
	Digest Digest
}

// Sums is SHA256SUMS: its entries, sorted by name.
type Sums []Entry

// Of is the digest listed for name.
func (s Sums) Of(name string) (Digest, bool) {
	i, ok := slices.BinarySearchFunc(s, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return "", false
	}
	return s[i].Digest, true
}

// Format writes the form that `sha256sum -c --strict` reads (GNU coreutils 9.1):
// digest, two spaces, name, LF.
func (s Sums) Format() []byte {
	var b bytes.Buffer
	for _, e := range s {
		fmt.Fprintf(&b, "%s  %s\n", e.Digest, e.Name)
	}
	return b.Bytes()
}

// ParseSums reads exactly what Format writes for sorted, distinct, safe names.
// sha256sum itself takes much more (upper case, CRLF, comments, duplicates, "../"):
// all that is an error here, because two readers that disagree about a checksum
// file are how a swapped file passes. The error is SyntaxErrors.
func ParseSums(data []byte) (Sums, error) {
	r := &lineReader{file: SumsName}
	lines := r.lines(data, MaxSums, MaxFiles+1)
	if r.errs != nil {
		return nil, r.errs
	}
	sums := make(Sums, 0, len(lines))
	names := nameSet{fold(SumsName): SumsName}
	for i, line := range lines {
		e, err := parseEntry(line)
		if err == nil {
			err = names.add(e.Name)
		}
		if err == nil && len(sums) > 0 && sums[len(sums)-1].Name > e.Name {
			err = fmt.Errorf("name %q is out of order", e.Name)
		}
		if err != nil {
			r.fault(i+1, err.Error())
			continue
		}
		sums = append(sums, e)
	}
	if r.errs != nil {
		return nil, r.errs
	}
	return sums, nil
}

func parseEntry(line string) (Entry, error) {
	const digits = 2 * sha256.Size
	hexPart, name, ok := strings.Cut(line, " ")
	switch {
	case line == "":
		return Entry{}, fmt.Errorf("line is empty")
	case line[0] == '#':
		return Entry{}, fmt.Errorf("comments have no place here")
	case line[0] == ' ':
		return Entry{}, fmt.Errorf("line begins with a space")
	case line[0] == '\\':
		return Entry{}, fmt.Errorf("escaped names are not read")
	case !ok:
		return Entry{}, fmt.Errorf("want %d hex digits, two spaces and a name", digits)
	}
	digest, err := ParseDigest(hexPart)
	if err != nil {
		return Entry{}, err
	}
	if !strings.HasPrefix(name, " ") {
		return Entry{}, fmt.Errorf("want two spaces between digest and name")
	}
	name = name[1:]
	return Entry{name, digest}, CheckName(name)
}

// lineReader splits a text file into lines under limits and gathers its faults.
type lineReader struct {
	file string
	errs SyntaxErrors
}

func (r *lineReader) fault(line int, message string) {
	if len(r.errs) < maxSyntaxErrors {
		r.errs = append(r.errs, &SyntaxError{r.file, line, message})
	}
}

// maxLine bounds one line in bytes; the longest that is ever written has 200.
const maxLine = 4096

// lines returns the lines without their LF. Size and count are checked before
// anything is split.
func (r *lineReader) lines(data []byte, maxBytes, maxLines int) []string {
	switch {
	case len(data) == 0:
		r.fault(1, "file is empty: nothing would be verified")
		return nil
	case len(data) > maxBytes:
		r.fault(1, fmt.Sprintf("file has more than %d bytes", maxBytes))
		return nil
	}
	switch n := bytes.Count(data, []byte{'\n'}); {
	case n > maxLines:
		r.fault(maxLines+1, fmt.Sprintf("file has more than %d lines", maxLines))
		return nil
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		r.fault(1, "file begins with a byte order mark")
		return nil
	case data[len(data)-1] != '\n':
		r.fault(n+1, "last line does not end in a line feed")
		return nil
	}
	lines := strings.Split(string(data[:len(data)-1]), "\n")
	for i, line := range lines {
		if len(line) > maxLine {
			r.fault(i+1, fmt.Sprintf("line has more than %d bytes", maxLine))
		} else if c := controlByte(line); c >= 0 {
			r.fault(i+1, fmt.Sprintf("line holds the control character %#02x", c))
		}
	}
	return lines
}

// controlByte is the first control character of line, -1 when there is none.
func controlByte(line string) int {
	for i := range len(line) {
		if c := line[i]; c < 0x20 || c == 0x7f {
			return int(c)
		}
	}
	return -1
}
