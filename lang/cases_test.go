package lang

import (
	"os"
	"strings"
	"testing"
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

// wrap puts the text of a case into the smallest policy in which its place
// stands.
func wrap(where, text string) string {
	text = strings.ReplaceAll(text, " ⏎ ", "\n")
	in := func(open, inner string) string { return open + " {\n" + inner + "\n}\n" }
	policy := func(inner string) string { return in(`policy "p"`, "version = 1\n"+inner) }
	switch where {
	case "file":
		return text
	case "policy":
		return policy(text)
	case "endpoint":
		return policy(in("network", in(`endpoint "e"`, text)))
	case "command":
		return policy(in("filesystem", "read = [\"/bin/true\"]\nexecute = [\"/bin/true\"]") +
			in(`command "c"`, "executable = \"/bin/true\"\n"+text))
	}
	return policy(in(where, text))
}

func TestRefusedCases(t *testing.T) {
	rows, err := os.ReadFile("../testdata/cases/refused.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		if strings.HasPrefix(row, "#") {
			continue
		}
		f := strings.Split(row, "\t")
		if len(f) < 5 {
			t.Fatalf("refused.tsv: the row %q has %d columns, want at least 5", row, len(f))
		}
		id, where, text, code, twin := f[0], f[1], f[2], f[3], f[4]
		t.Run(id, func(t *testing.T) {
			mine := caseCodes[code] || code == "path-control-character" && !meaningRows[id]
			if mine {
				seen++
				if got := codes(wrap(where, text)); got != code {
					t.Errorf("Parse(%s) finds %q, want %q", text, got, code)
				}
			} else if got := codes(wrap(where, text)); got != "" {
				t.Errorf("Parse(%s) finds %q, and %s is found in package compiler", text, got, code)
			}
			if got := codes(wrap(where, twin)); got != "" {
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
	var out []string
	for _, d := range diags {
		out = append(out, d.Code)
	}
	return strings.Join(out, " ")
}
