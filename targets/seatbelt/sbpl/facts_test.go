package sbpl_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fact is one row of testdata/facts.tsv: what macOS does with a profile and a
// request, and who says so. [A] is Apple's own text or tables, [M] was measured on
// a Mac, [O] reproduced by running Apple's published Scheme front end.
type fact struct {
	ID, Profile, Params, Release, Request, Answer, Source string
}

// characters that a row of tab-separated values cannot hold as they are.
var unseen = strings.NewReplacer("⏎", "\n", "␉", "\t", "␀", "\x00")

// facts reads the table.
func facts(t testing.TB) []fact {
	t.Helper()
	text, err := os.ReadFile("testdata/facts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []fact
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if i == 0 {
			continue // the head
		}
		c := strings.Split(line, "\t")
		if len(c) != 7 {
			t.Fatalf("row %d has %d columns, want 7: %s", i+1, len(c), line)
		}
		out = append(out, fact{c[0], unseen.Replace(c[1]), c[2], c[3], unseen.Replace(c[4]), c[5], c[6]})
	}
	return out
}

// context splits a request into its operation and what is known: "read; path=/a;
// target=self; target=pgrp". A name with an empty value is known to have none.
func (f fact) context() (op string, known map[string][]string) {
	fields := strings.Split(f.Request, "; ")
	known = map[string][]string{}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		if value == "" {
			known[name] = []string{}
			continue
		}
		known[name] = append(known[name], value)
	}
	return fields[0], known
}

// params are the -D definitions of a row.
func (f fact) params() map[string]string {
	if f.Params == "-" {
		return nil
	}
	out := map[string]string{}
	for field := range strings.SplitSeq(f.Params, "; ") {
		name, value, _ := strings.Cut(field, "=")
		out[name] = value
	}
	return out
}

// TestFactsAreWellFormed holds the table to its columns, so that a row cannot
// pass by being misread.
func TestFactsAreWellFormed(t *testing.T) {
	releases := []string{"10.9", "10.12", "10.15", "12.5", "13.0", "14.4"}
	id := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	answer := regexp.MustCompile(`^(allow|deny|undecided:[a-z-]+|undecided|error:.*)$`)
	request := regexp.MustCompile(`(?s)^[a-z*-]+(; [a-z-]+=.*)*$`)
	seen := map[string]bool{}
	count := map[string]int{}
	for _, f := range facts(t) {
		kind, _, _ := strings.Cut(f.Answer, ":")
		count[kind]++
		switch {
		case !id.MatchString(f.ID) || seen[f.ID]:
			t.Errorf("%q is no new name", f.ID)
		case !slices.Contains(releases, f.Release):
			t.Errorf("%s: release %q", f.ID, f.Release)
		case !answer.MatchString(f.Answer):
			t.Errorf("%s: answer %q", f.ID, f.Answer)
		case (f.Request == "-") != (kind == "error"):
			t.Errorf("%s: only an error goes without a request", f.ID)
		case kind != "error" && !request.MatchString(f.Request):
			t.Errorf("%s: request %q", f.ID, f.Request)
		case f.Source == "" || f.Profile == "":
			t.Errorf("%s: no source or no profile", f.ID)
		}
		seen[f.ID] = true
	}
	for kind, least := range map[string]int{"allow": 120, "deny": 80, "undecided": 5, "error": 50} {
		if count[kind] < least {
			t.Errorf("%d facts say %s, want at least %d", count[kind], kind, least)
		}
	}
}
