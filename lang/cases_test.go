package lang

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/testdata/cases"
)

// caseCodes are the codes of testdata/cases/refused.tsv that this package
// raises. The other rows are about what a text means, and are tested in package
// compiler.
var caseCodes = map[string]bool{
	"duplicate-argument": true, "duplicate-policy": true, "environment-loader-variable": true, "environment-name": true,
	"missing-attribute": true, "name-malformed": true, "port-range": true, "ports-empty": true, "rest-not-last": true,
	"rest-without-separator": true, "slot-in-function": true, "syntax": true, "unknown-attribute": true,
	"unknown-name": true, "version-range": true, "wrong-type": true,
}

// meaningRows raise a code here for one row and in package compiler for another.
var meaningRows = map[string]bool{"r05": true} // a newline in a path; NUL (r04, r31) is refused here

func TestRefusedCases(t *testing.T) {
	rows, err := cases.Rows("refused.tsv", 6)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range rows {
		id, where, text, code, twin := f[0], f[1], f[2], f[3], f[4]
		t.Run(id, func(t *testing.T) {
			mine := caseCodes[code] || code == "path-control-character" && !meaningRows[id]
			if mine {
				seen++
				if got := codes(cases.Wrap(where, text)); got != code {
					t.Errorf("Parse(%s) finds %q, want %q", text, got, code)
				}
			} else if got := codes(cases.Wrap(where, text)); got != "" {
				t.Errorf("Parse(%s) finds %q, and %s is found in package compiler", text, got, code)
			}
			if got := codes(cases.Wrap(where, twin)); got != "" {
				t.Errorf("Parse(%s) finds %q, want nothing", twin, got)
			}
		})
	}
	if seen < 19 {
		t.Errorf("%d rows are this package's, want at least 19", seen)
	}
}

// codes are the codes of the findings in src, separated by spaces.
func codes(src string, vars ...string) string {
	opts := Options{Vars: map[string]string{}}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		opts.Vars[name] = value
	}
	_, diags := Parse(Sources{"p.policy.hcl": []byte(src)}, opts)
	return cases.Codes(diags)
}
