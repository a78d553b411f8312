package obspc_test

import (
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
)

// laterCases are the rows of refused.tsv that no version before egress can hold.
var laterCases = map[string]string{
	"r37": "executables of an endpoint: every endpoint is refused whole until the egress proxy lands",
}

// TestRefusedCases asks of every row of refused.tsv what a user's compile says:
// language, compiler, embedded templates and targets together. The finding
// expected and no other; and none for the twin with the fault mended.
func TestRefusedCases(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/refused.tsv")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(columns) < 5 {
			continue
		}
		id, where, fault, code, twin := columns[0], columns[1], columns[2], columns[3], columns[4]
		if laterCases[id] != "" {
			continue
		}
		asked++
		t.Run(id, func(t *testing.T) {
			if got := refusals(t, code, wrapCase(where, fault)); got != code {
				t.Errorf("compile of %q raises %q, want %q", fault, got, code)
			}
			if got := refusals(t, code, wrapCase(where, twin)); got != "" {
				t.Errorf("compile of the twin %q raises %q, want nothing", twin, got)
			}
		})
	}
	if asked < 40 {
		t.Errorf("refused.tsv has %d rows, want at least 40", asked)
	}
}

// refusals are the codes of the errors. What targets lack counts for the rows that
// ask about it; the others ask what validate says.
func refusals(t *testing.T, asked, text string) string {
	t.Helper()
	_, diags := compileText(t, "case.policy.hcl", []byte(text))
	var codes []string
	for _, d := range diags {
		if d.Severity == diag.Error && (d.Code != "feature-absent" || asked == "feature-absent") {
			codes = append(codes, d.Code)
		}
	}
	return strings.Join(codes, " ")
}

// wrapCase puts a row's text into the smallest valid policy for its place.
func wrapCase(where, text string) string {
	text = strings.ReplaceAll(text, " ⏎ ", "\n")
	policy := func(body string) string { return "policy \"p\" {\nversion = 1\n" + body + "\n}\n" }
	switch where {
	case "file":
		return text
	case "policy":
		return policy(text)
	case "endpoint":
		return policy("network {\nendpoint \"e\" {\n" + text + "\n}\n}")
	case "command":
		return policy("filesystem {\nread = [\"/bin/true\"]\nexecute = [\"/bin/true\"]\n}\ncommand \"c\" {\nexecutable = \"/bin/true\"\n" + text + "\n}")
	}
	return policy(where + " {\n" + text + "\n}")
}
