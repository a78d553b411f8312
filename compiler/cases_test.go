package compiler

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/testdata/cases"
)

// rows are those of a table of cases.
func rows(t *testing.T, table string, columns int) [][]string {
	t.Helper()
	out, err := cases.Rows(table, columns)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// laterRows are decided by the comparison of targets, not by the compiler.
var laterRows = map[string]string{
	"r34": "feature-absent: what a target lacks is compared in package targets",
	"r37": "feature-absent: endpoints are compared in package targets",
}

func TestRefusedCases(t *testing.T) {
	later := 0
	for _, row := range rows(t, "refused.tsv", 6) {
		id, where, text, code, twin := row[0], row[1], row[2], row[3], row[4]
		if why, ok := laterRows[id]; ok {
			if code != "feature-absent" {
				t.Errorf("%s wants %s, and is left out because of %s", id, code, why)
			}
			later++
			continue
		}
		t.Run(id, func(t *testing.T) {
			results, diags := compile(t, cases.Wrap(where, text))
			if got := cases.ErrorCodes(diags); got != code {
				t.Errorf("%s: found %q, want %q\n%v", text, got, code, diags)
			}
			if len(results) > 0 && where != "file" {
				t.Errorf("%s: compiled to %d policies, want none", text, len(results))
			}
			results, diags = compile(t, cases.Wrap(where, twin))
			if got := cases.ErrorCodes(diags); got != "" || len(results) == 0 {
				t.Errorf("%s: found %q and compiled %d policies, want nothing and some\n%v", twin, got, len(results), diags)
			}
		})
	}
	if later != len(laterRows) {
		t.Errorf("%d rows are left out, and %d are listed", later, len(laterRows))
	}
}

func TestDecisionCases(t *testing.T) {
	for _, row := range rows(t, "decisions.tsv", 4) {
		id, statements, request, want := row[0], row[1], row[2], row[3]
		t.Run(id, func(t *testing.T) {
			text := statementsToText(statements)
			results, diags := compile(t, text)
			if len(results) != 1 {
				t.Fatalf("%s: %v\n%s", statements, diags, text)
			}
			r, err := ir.ParseRequest(requestWords(request))
			if err != nil {
				t.Fatal(err)
			}
			got := "deny"
			if ir.Decide(results[0].Policy, r).Allow {
				got = "allow"
			}
			if got != want {
				t.Errorf("with %s, %s is %s, want %s", statements, request, got, want)
			}
		})
	}
}

// statementsToText writes the statements of a row as a policy. A fact of the tree
// in parentheses is none of the policy's.
func statementsToText(s string) string {
	if i := strings.Index(s, " ("); i >= 0 {
		s = s[:i]
	}
	if s == "(none)" {
		return cases.Policy("")
	}
	if rest, ok := strings.CutPrefix(s, "endpoint "); ok {
		var b strings.Builder
		for attribute := range strings.SplitSeq(rest, " ") {
			name, v, _ := strings.Cut(attribute, "=")
			switch name {
			case "host":
				v = `"` + v + `"`
			case "executables":
				v = quotedList(v)
			}
			b.WriteString(name + " = " + v + "\n")
		}
		return cases.Policy("network {\nendpoint \"e\" {\n" + b.String() + "}\n}")
	}
	lists := map[string][]string{}
	for s != "" {
		name, rest, _ := strings.Cut(s, "=[")
		var list string
		list, s, _ = strings.Cut(rest, "]")
		s = strings.TrimSpace(s)
		lists[name] = append(lists[name], strings.Trim(quotedList("["+list+"]"), "[]"))
	}
	var b strings.Builder
	for name, list := range lists {
		b.WriteString(name + " = [" + strings.Join(list, ", ") + "]\n")
	}
	return cases.Policy("targets = [\"bwrap\"]\nfilesystem {\n" + b.String() + "}")
}

// quotedList writes [W, /x] as HCL; a list with quotes is HCL already.
func quotedList(list string) string {
	if strings.Contains(list, `"`) {
		return list
	}
	var out []string
	for e := range strings.SplitSeq(strings.Trim(list, "[]"), ",") {
		out = append(out, `"`+slots(strings.TrimSpace(e))+`"`)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// slots writes the slot letters of a row out.
func slots(path string) string {
	for letter, slot := range map[string]string{"W": "${workspace}", "H": "${home}"} {
		if path == letter || strings.HasPrefix(path, letter+"/") {
			return slot + path[1:]
		}
	}
	return path
}

// requestWords takes a request apart. Only the path of one row has a space in it.
func requestWords(request string) []string {
	words := strings.Split(request, " ")
	if len(words) == 3 && words[1] == "/data/a" {
		words = []string{words[0], words[1] + " " + words[2]}
	}
	for i := 1; i < len(words); i++ {
		words[i] = slots(words[i])
	}
	return words
}
