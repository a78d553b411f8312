package obspc_test

import (
	"slices"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// laterCases are the rows of refused.tsv that no version before egress can hold.
var laterCases = map[string]string{
	"r37": "executables of an endpoint: every endpoint is refused whole until the egress proxy lands",
}

// TestRefusedCases asks of every row of refused.tsv what a user's compile says:
// language, compiler, embedded templates and targets together. The finding
// expected and no other; and none for the twin with the fault mended.
func TestRefusedCases(t *testing.T) {
	rows, err := cases.Rows("refused.tsv", 6)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, row := range rows {
		id, where, fault, code, twin := row[0], row[1], row[2], row[3], row[4]
		if laterCases[id] != "" {
			continue
		}
		asked++
		t.Run(id, func(t *testing.T) {
			if got := refusals(t, code, cases.Wrap(where, fault)); got != code {
				t.Errorf("compile of %q raises %q, want %q", fault, got, code)
			}
			if got := refusals(t, code, cases.Wrap(where, twin)); got != "" {
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
	return cases.ErrorCodes(slices.DeleteFunc(diags, func(d diag.Diagnostic) bool {
		return d.Code == "feature-absent" && asked != "feature-absent"
	}))
}
