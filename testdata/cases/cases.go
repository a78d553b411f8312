// Package cases is the black-box cases, as tests of several packages ask them: rows
// of tables, a row's text as a policy, the codes that came of it. It is for tests
// alone.
package cases

import (
	"embed"
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

//go:embed *.tsv
var tables embed.FS

// Rows are the columns of every row of a table; the error names a row that has
// fewer than wanted.
func Rows(table string, columns int) ([][]string, error) {
	text, err := tables.ReadFile(table)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) < columns {
			return nil, fmt.Errorf("%s: the row %q has %d columns, want %d", table, line, len(row), columns)
		}
		out = append(out, row)
	}
	return out, nil
}

// Wrap puts the text of a row into the smallest policy in which its place stands:
// "file", "policy", "endpoint", "command", or the name of a block of a policy. ⏎
// stands for a newline.
func Wrap(where, text string) string {
	text = strings.ReplaceAll(text, " ⏎ ", "\n")
	switch where {
	case "file":
		return text
	case "policy":
		return Policy(text)
	case "endpoint":
		return Policy("network {\nendpoint \"e\" {\n" + text + "\n}\n}")
	case "command":
		return Policy("filesystem {\nread = [\"/bin/true\"]\nexecute = [\"/bin/true\"]\n}\n" +
			"command \"c\" {\nexecutable = \"/bin/true\"\n" + text + "\n}")
	}
	return Policy(where + " {\n" + text + "\n}")
}

// Policy is the policy "p" of that body.
func Policy(body string) string { return "policy \"p\" {\nversion = 1\n" + body + "\n}\n" }

// Codes are the codes of the findings in their order, separated by spaces.
func Codes(list diag.List) string {
	return codes(list, func(diag.Diagnostic) bool { return true })
}

// ErrorCodes are those of the findings that refuse a policy.
func ErrorCodes(list diag.List) string {
	return codes(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

func codes(list diag.List, wanted func(diag.Diagnostic) bool) string {
	var out []string
	for _, d := range list {
		if wanted(d) {
			out = append(out, d.Code)
		}
	}
	return strings.Join(out, " ")
}
