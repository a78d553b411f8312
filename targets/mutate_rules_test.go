package targets

import (
	"maps"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/landlock"
)

// ruleMutants changes the Landlock rules of every list.
func (b *board) ruleMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	original, err := landlock.Parse(files[landlockFile])
	if err != nil {
		t.Fatal(err)
	}
	judge := func(mutator, what string, change func(r *landlock.Rules)) {
		mutant := *original
		mutant.Execute, mutant.Read, mutant.Write = slices.Clone(original.Execute), slices.Clone(original.Read), slices.Clone(original.Write)
		change(&mutant)
		if mutant.Equal(original) {
			return
		}
		changed := maps.Clone(files)
		changed[landlockFile] = mutant.JSON()
		b.judge("landlock: "+mutator, sample, what, Validate(p, changed) != nil)
	}
	judge("let everything start, or not", "", func(r *landlock.Rules) {
		if r.Programs = !r.Programs; !r.Programs {
			r.Execute = nil
		}
	})
	for kind, list := range map[string]func(*landlock.Rules) *[]landlock.Rule{
		"execute": func(r *landlock.Rules) *[]landlock.Rule { return &r.Execute },
		"read":    func(r *landlock.Rules) *[]landlock.Rule { return &r.Read },
		"write":   func(r *landlock.Rules) *[]landlock.Rule { return &r.Write },
	} {
		for _, path := range []ir.Path{{}, ir.MustPath("/foreign"), ir.RootPath(ir.Workspace), ir.RootPath(ir.Home).Join("foreign")} {
			judge("add a foreign "+kind+" rule", path.String(), func(r *landlock.Rules) {
				rules := list(r)
				if i, found := slices.BinarySearchFunc(*rules, path, func(r landlock.Rule, p ir.Path) int { return r.Path.Compare(p) }); !found {
					*rules = slices.Insert(*rules, i, landlock.Rule{Path: path, Origin: "p/x"})
				}
			})
		}
		for i, rule := range *list(original) {
			what := rule.Path.String()
			judge("drop a "+kind+" rule", what, func(r *landlock.Rules) { *list(r) = slices.Delete(*list(r), i, i+1) })
			judge("duplicate a "+kind+" rule", what, func(r *landlock.Rules) { *list(r) = slices.Insert(*list(r), i, rule) })
			judge("only of a "+kind+" rule", what, func(r *landlock.Rules) { (*list(r))[i].Only = !rule.Only })
			judge("optional of a "+kind+" rule", what, func(r *landlock.Rules) { (*list(r))[i].Optional = !rule.Optional })
			judge("another origin of a "+kind+" rule", what, func(r *landlock.Rules) { (*list(r))[i].Origin = "p/else" })
			judge("a "+kind+" rule one component longer", what, func(r *landlock.Rules) { (*list(r))[i].Path = rule.Path.Join("x") })
			if parent, ok := rule.Path.Parent(); ok {
				judge("a "+kind+" rule one component shorter", what, func(r *landlock.Rules) { (*list(r))[i].Path = parent })
			}
		}
	}
}
