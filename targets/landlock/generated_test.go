package landlock

import (
	"math/rand/v2"
	"testing"
)

// TestGeneratedPolicies holds read-back rules to ir.Decide on policies made of
// every level, form and root over a few nested paths.
func TestGeneratedPolicies(t *testing.T) {
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/a/_", "/d", "${home}", "${home}/a", "${workspace}", "${workspace}/a", "${workspace}/a/b"}
	forms := []string{"", "", "only", "optional"}
	random := rand.New(rand.NewPCG(1, 2))
	handled := 0
	for range 3000 {
		var statements []string
		for _, verb := range []string{"file", "execute"} {
			// Mostly few execute rules high up: then both answers of Needed occur.
			most := 6
			if verb == "execute" {
				most = 3
			}
			for _, i := range random.Perm(len(paths))[:random.IntN(most)] {
				word, form, path := verb, forms[random.IntN(len(forms))], paths[i]
				if verb == "file" {
					word = []string{"deny", "read", "write"}[random.IntN(3)]
				}
				if word == "write" && path == "/" {
					word = "read"
				}
				if form == "optional" && word == "deny" {
					form = ""
				}
				if form != "" {
					path = form + "(" + path + ")"
				}
				statements = append(statements, word+" "+path)
			}
		}
		r := Compile(policy(statements...))
		if r.Programs {
			handled++
		}
		back, err := Parse(r.JSON())
		if err != nil || !back.Equal(r) {
			t.Fatalf("Parse(%s) = %v, %v, want %v", r.JSON(), back, err, r)
		}
		checkAgainstDecide(t, policy(statements...), back)
		if t.Failed() {
			t.Fatalf("policy %q", statements)
		}
	}
	if handled < 500 || handled > 2500 {
		t.Errorf("%d of 3000 policies need Landlock: the mix means little", handled)
	}
}
