package targets

import (
	"maps"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/landlock"
)

// ruleMutants changes the Landlock rules, of both kinds.
func (b *board) ruleMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	original, err := landlock.Parse(files[landlockFile])
	if err != nil {
		t.Fatal(err)
	}
	judge := func(mutator, what string, change func(r *landlock.Rules)) {
		mutant := *original
		mutant.Rules, mutant.Reparent = slices.Clone(original.Rules), slices.Clone(original.Reparent)
		change(&mutant)
		if mutant.Equal(original) {
			return
		}
		changed := maps.Clone(files)
		changed[landlockFile] = mutant.JSON()
		b.judge("landlock: "+mutator, sample, what, Validate(p, changed) != nil)
	}
	judge("handle nothing, or something", "", func(r *landlock.Rules) {
		if r.Handled = !r.Handled; !r.Handled {
			r.Rules, r.Reparent = nil, nil
		}
	})
	if !original.Handled {
		return
	}
	for kind, list := range map[string]func(*landlock.Rules) *[]landlock.Rule{
		"execute": func(r *landlock.Rules) *[]landlock.Rule { return &r.Rules },
		"refer":   func(r *landlock.Rules) *[]landlock.Rule { return &r.Reparent },
	} {
		for _, path := range []ir.Path{{}, ir.MustPath("/foreign"), ir.RootPath(ir.Workspace), ir.RootPath(ir.Home).Join("foreign")} {
			judge("add a foreign "+kind, path.String(), func(r *landlock.Rules) {
				rules := list(r)
				if i, found := slices.BinarySearchFunc(*rules, path, func(r landlock.Rule, p ir.Path) int { return r.Path.Compare(p) }); !found {
					*rules = slices.Insert(*rules, i, landlock.Rule{Path: path, Origin: "p/x"})
				}
			})
		}
		for i, rule := range *list(original) {
			what := rule.Path.String()
			judge("drop an "+kind, what, func(r *landlock.Rules) { *list(r) = slices.Delete(*list(r), i, i+1) })
			judge("duplicate an "+kind, what, func(r *landlock.Rules) { *list(r) = slices.Insert(*list(r), i, rule) })
			judge("only of an "+kind, what, func(r *landlock.Rules) { (*list(r))[i].Only = !rule.Only })
			judge("optional of an "+kind, what, func(r *landlock.Rules) { (*list(r))[i].Optional = !rule.Optional })
			judge("another origin of an "+kind, what, func(r *landlock.Rules) { (*list(r))[i].Origin = "p/else" })
			judge("an "+kind+" one component longer", what, func(r *landlock.Rules) { (*list(r))[i].Path = rule.Path.Join("x") })
			if parent, ok := rule.Path.Parent(); ok {
				judge("an "+kind+" one component shorter", what, func(r *landlock.Rules) { (*list(r))[i].Path = parent })
			}
		}
	}
}
