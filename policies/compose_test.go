package policies_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/targets"
)

// subsets calls f with every subset of names of at most size members, and with all
// of them at once.
func subsets(names []string, size int, f func([]string)) {
	var extend func(have []string, from int)
	extend = func(have []string, from int) {
		if len(have) > 0 {
			f(have)
		}
		if len(have) == size {
			return
		}
		for i := from; i < len(names); i++ {
			extend(append(slices.Clone(have), names[i]), i+1)
		}
	}
	extend(nil, 0)
	f(names)
}

// extending is a policy that extends the templates, in that order, and works in
// its workspace.
func extending(names []string) string {
	return fmt.Sprintf(`policy "p" {
  version = 1
  extends = [%s]
  filesystem {
    write   = [workspace]
    execute = [workspace]
  }
}
`, `"`+strings.Join(names, `", "`)+`"`)
}

// TestTemplatesCompose: whatever templates a policy extends together, and in
// whatever order, they do not disagree, and nothing is found in what comes of it
// for both systems but that a system is tighter, or, from three templates on, that
// the list of programs is too long for Seatbelt.
func TestTemplatesCompose(t *testing.T) {
	names := policies.Names()
	asked := 0
	subsets(names, 3, func(some []string) {
		asked++
		p := compileOne(t, extending(some))
		backwards := slices.Clone(some)
		slices.Reverse(backwards)
		if len(some) == 3 {
			backwards = some // of two, and of all, the order is asked
		} else if other := compileOne(t, extending(backwards)); meaning(p) != meaning(other) {
			t.Errorf("extends %q means something else than %q", backwards, some)
		}
		for _, d := range targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} }) {
			if d.Code != "feature-tighter" && !(len(some) > 2 && d.Code == tooMuch) {
				t.Errorf("extends %q: %s", some, d)
			}
		}
	})
	n := len(names)
	if want := n + n*(n-1)/2 + n*(n-1)*(n-2)/6 + 1; asked != want {
		t.Errorf("%d sets of templates were asked for, want %d", asked, want)
	}
}

// tooMuch is what is found in a policy whose list of programs Seatbelt does not
// hold: that of all templates at once, and of the largest three.
const tooMuch = "profile-too-large"

// TestTemplatesBecomeArtifacts: each template alone on both systems, and all at
// once on Linux; targets.Compile reads each artifact back and holds it to the
// policy.
func TestTemplatesBecomeArtifacts(t *testing.T) {
	subsets(policies.Names(), 1, func(some []string) {
		p := compileOne(t, extending(some))
		if len(some) > 1 {
			p.Targets = []ir.Target{ir.Bwrap}
		}
		artifacts, err := targets.Compile(p)
		if err != nil {
			t.Errorf("extends %q: %v", some, err)
		}
		for _, target := range p.Targets {
			if !slices.ContainsFunc(artifacts, func(a targets.Artifact) bool { return a.Target == target }) {
				t.Errorf("extends %q: nothing is compiled for %s", some, target)
			}
		}
	})
}

// meaning is the policy's text without the origins, which tell which of several
// templates said a thing first.
func meaning(p *ir.Policy) string {
	return origins.ReplaceAllString(p.Text(), "")
}

var origins = regexp.MustCompile(`(?m) *# \S+$`)
