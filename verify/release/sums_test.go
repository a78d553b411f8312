package release

import (
	"errors"
	"strings"
	"testing"
)

const (
	hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestParseSums(t *testing.T) {
	const good = hexA + "  a/x\n" + hexB + "  b\n"
	if sums, err := ParseSums([]byte(good)); err != nil || string(sums.Format()) != good {
		t.Fatalf("ParseSums(%q) = %v, %v", good, sums, err)
	}
	sha512 := hexA + hexA
	for _, tt := range []struct {
		name string
		text string
		line int
		want string
	}{
		{"dot-dot", hexA + "  ../x\n", 1, "unsafe name"},
		{"absolute", hexA + "  /etc/passwd\n", 1, "unsafe name"},
		{"double slash", hexA + "  a//b\n", 1, "unsafe name"},
		{"dot slash", hexA + "  ./a\n", 1, "unsafe name"},
		{"dot-dot inside", hexA + "  a/../b\n", 1, "unsafe name"},
		{"empty name", hexA + "  \n", 1, "unsafe name"},
		{"trailing slash", hexA + "  a/\n", 1, "unsafe name"},
		{"drive", hexA + "  C:\\x\n", 1, "unsafe name"},
		{"duplicate, same digest", hexA + "  a\n" + hexA + "  a\n", 2, "duplicate"},
		{"duplicate, other digest", hexA + "  a\n" + hexB + "  a\n", 2, "duplicate"},
		{"case collision", hexA + "  A\n" + hexB + "  a\n", 2, "case alone"},
		{"itself", hexA + "  SHA256SUMS\n", 1, "duplicate"},
		{"file and directory", hexA + "  a\n" + hexB + "  a/b\n", 2, "is a file"},
		{"upper case", strings.ToUpper(hexA) + "  a\n", 1, "upper case"},
		{"63 digits", hexA[1:] + "  a\n", 1, "63 digits"},
		{"65 digits", hexA + "a  a\n", 1, "65 digits"},
		{"no hex", "g" + hexA[1:] + "  a\n", 1, "'g'"},
		{"SHA-512", sha512 + "  a\n", 1, "128 digits"},
		{"CRLF", hexA + "  a\r\n", 1, "0x0d"},
		{"lone CR", hexA + "  a\n" + hexB + "  b\rc\n", 2, "0x0d"},
		{"byte order mark", "\xef\xbb\xbf" + hexA + "  a\n", 1, "byte order mark"},
		{"NUL", hexA + "  a\x00\n", 1, "0x00"},
		{"no final newline", hexA + "  a\n" + hexB + "  b", 2, "line feed"},
		{"one space", hexA + " a\n", 1, "two spaces"},
		{"three spaces", hexA + "   a\n", 1, "unsafe name"},
		{"binary mark", hexA + " *a\n", 1, "two spaces"},
		{"leading blank", " " + hexA + "  a\n", 1, "begins with a space"},
		{"comment", "# x\n" + hexA + "  a\n", 1, "comment"},
		{"blank line", hexA + "  a\n\n", 2, "empty"},
		{"BSD form", "SHA256 (a) = " + hexA + "\n", 1, "digits"},
		{"escaped name", "\\" + hexA + "  a\n", 1, "escaped"},
		{"out of order", hexA + "  b\n" + hexB + "  a\n", 2, "out of order"},
		{"look-alike", hexA + "  \u0430\n", 1, "unsafe name"},
		{"bidi control", hexA + "  a\u202e\n", 1, "unsafe name"},
		{"invalid UTF-8", hexA + "  \xff\n", 1, "unsafe name"},
		{"trailing space", hexA + "  a \n", 1, "unsafe name"},
		{"trailing dot", hexA + "  a.\n", 1, "unsafe name"},
		{"empty", "", 1, "nothing would be verified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseSums([]byte(tt.text))
			var faults SyntaxErrors
			if !errors.As(err, &faults) || faults[0].Line != tt.line || !strings.Contains(faults[0].Message, tt.want) {
				t.Errorf("ParseSums(%q) = %v, want line %d with %q", tt.text, err, tt.line, tt.want)
			}
		})
	}
}

func TestParseSumsTellsAllFaults(t *testing.T) {
	_, err := ParseSums([]byte("x\n" + hexA + "  a\n" + "y\n"))
	var faults SyntaxErrors
	if !errors.As(err, &faults) || len(faults) != 2 || faults[0].Line != 1 || faults[1].Line != 3 {
		t.Errorf("faults = %v, want lines 1 and 3", err)
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(hexA + "  a/x\n" + hexB + "  b\n"))
	f.Add([]byte(hexA + " *a\r\n# x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sums, err := ParseSums(data)
		if err == nil && string(sums.Format()) != string(data) {
			t.Errorf("ParseSums(%q) accepts what Format writes as %q", data, sums.Format())
		}
	})
}
