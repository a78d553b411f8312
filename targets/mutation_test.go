package targets

import (
	"maps"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/landlock"
)

// mutator changes one operation of a set in one way; false when it does not apply.
type mutator struct {
	name   string
	change func(s *bwrap.Set, i int) bool
}

func edit(change func(o *bwrap.Operation) bool) func(*bwrap.Set, int) bool {
	return func(s *bwrap.Set, i int) bool { return change(&s.Operations[i]) }
}

var mutators = []mutator{
	{"drop", func(s *bwrap.Set, i int) bool { s.Operations = slices.Delete(s.Operations, i, i+1); return true }},
	{"duplicate", func(s *bwrap.Set, i int) bool {
		s.Operations = slices.Insert(s.Operations, i, s.Operations[i])
		return true
	}},
	{"add a foreign read below", func(s *bwrap.Set, i int) bool {
		return insert(s, bwrap.Operation{Verb: bwrap.LinkOrBind, Path: s.Operations[i].Path.Join("foreign"), Origin: s.Operations[i].Origin})
	}},
	{"add a foreign write beside", func(s *bwrap.Set, i int) bool {
		parent, ok := s.Operations[i].Path.Parent()
		return ok && insert(s, bwrap.Operation{Verb: bwrap.Bind, Level: ir.Write, Path: parent.Join("foreign"), Origin: s.Operations[i].Origin})
	}},
	{"swap with the next", func(s *bwrap.Set, i int) bool {
		if i+1 == len(s.Operations) {
			return false
		}
		s.Operations[i], s.Operations[i+1] = s.Operations[i+1], s.Operations[i]
		return true
	}},
	{"read to write", edit(func(o *bwrap.Operation) bool {
		if o.Verb != bwrap.LinkOrBind && (o.Verb != bwrap.Bind || o.Level == ir.Write) {
			return false
		}
		o.Verb, o.Level = bwrap.Bind, ir.Write
		return true
	})},
	{"write to read", edit(func(o *bwrap.Operation) bool {
		ok := o.Verb == bwrap.Bind && o.Level == ir.Write
		o.Level = ir.Read
		return ok
	})},
	{"mask to read", edit(func(o *bwrap.Operation) bool {
		ok := o.Verb == bwrap.Mask
		o.Verb = bwrap.LinkOrBind
		return ok
	})},
	{"read to mask", edit(func(o *bwrap.Operation) bool {
		ok := o.Verb == bwrap.LinkOrBind || o.Verb == bwrap.Bind
		o.Verb, o.Level, o.Optional = bwrap.Mask, ir.Deny, false
		return ok
	})},
	{"pin to skeleton", edit(func(o *bwrap.Operation) bool {
		ok := o.Verb == bwrap.Pin && !o.Named
		o.Verb = bwrap.Skeleton
		return ok
	})},
	{"list", edit(func(o *bwrap.Operation) bool { o.Listable = !o.Listable; return o.Verb == bwrap.Skeleton })},
	{"only", edit(func(o *bwrap.Operation) bool { o.Only = !o.Only; return o.States() && o.Verb != bwrap.Skeleton })},
	{"optional", edit(func(o *bwrap.Operation) bool { o.Optional = !o.Optional; return true })},
	{"size", edit(func(o *bwrap.Operation) bool { o.Size *= 2; return o.Verb == bwrap.Tmpfs })},
	{"one component shorter", edit(func(o *bwrap.Operation) bool {
		parent, ok := o.Path.Parent()
		o.Path = parent
		return ok
	})},
	{"one component longer", edit(func(o *bwrap.Operation) bool { o.Path = o.Path.Join("x"); return true })},
	{"a name that begins alike", edit(func(o *bwrap.Operation) bool {
		parent, ok := o.Path.Parent()
		o.Path = parent.Join(o.Path.Base() + "x")
		return ok
	})},
	{"another origin", edit(func(o *bwrap.Operation) bool { o.Origin = "p/else"; return o.States() })},
}

func insert(s *bwrap.Set, o bwrap.Operation) bool {
	i, found := slices.BinarySearchFunc(s.Operations, o.Path, func(o bwrap.Operation, p ir.Path) int { return o.Path.Compare(p) })
	if !found {
		s.Operations = slices.Insert(s.Operations, i, o)
	}
	return !found
}

// TestEveryMutantIsRefused changes the argument set in every way, one at a time.
// Each mutant must be refused from its bytes. How many the comparison of meanings
// refuses by itself, without the strict form, is reported beside it: the two hold
// each other up.
func TestEveryMutantIsRefused(t *testing.T) {
	type score struct{ made, refused, byMeaning int }
	total := score{}
	for _, m := range mutators {
		s := score{}
		for name, statements := range samples {
			p := policy(t, statements...)
			files := compileFiles(t, p)
			original, err := bwrap.Parse(files[bwrapFile])
			if err != nil {
				t.Fatal(err)
			}
			for i := range original.Operations {
				mutant := &bwrap.Set{Policy: original.Policy, Namespaces: original.Namespaces, Operations: slices.Clone(original.Operations)}
				if !m.change(mutant, i) {
					continue
				}
				s.made++
				changed := maps.Clone(files)
				changed[bwrapFile], changed[argsFile] = mutant.JSON(), mutant.Text()
				if Validate(p, changed) != nil {
					s.refused++
				} else {
					t.Errorf("%s of %s %s in %q is accepted", m.name, original.Operations[i].Verb, original.Operations[i].Path, name)
				}
				if differsInMeaning(t, p, files, mutant) {
					s.byMeaning++
				}
			}
		}
		t.Logf("%-28s %4d mutants, %4d refused, %4d of them by meaning alone", m.name, s.made, s.refused, s.byMeaning)
		total.made, total.refused, total.byMeaning = total.made+s.made, total.refused+s.refused, total.byMeaning+s.byMeaning
		if s.made == 0 {
			t.Errorf("%s applied to nothing", m.name)
		}
	}
	t.Logf("%-28s %4d mutants, %4d refused, %4d of them by meaning alone", "all", total.made, total.refused, total.byMeaning)
}

// differsInMeaning compares a set with the policy class by class, whatever its
// form.
func differsInMeaning(t *testing.T, p *ir.Policy, files map[string][]byte, s *bwrap.Set) bool {
	read, err := ReadLinux(files)
	if err != nil {
		t.Fatal(err)
	}
	read.Set = s
	v := &validator{policy: p, files: files, read: read}
	machines, err := v.machines()
	return err != nil || v.every(machines) != nil
}

// TestNamespacesCannotBeLeftOut drops each of them.
func TestNamespacesCannotBeLeftOut(t *testing.T) {
	p := policy(t, samples["hole and window"]...)
	files := compileFiles(t, p)
	set, err := bwrap.Parse(files[bwrapFile])
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range set.Namespaces {
		mutant := &bwrap.Set{Policy: set.Policy, Namespaces: slices.Delete(slices.Clone(set.Namespaces), i, i+1), Operations: set.Operations}
		changed := maps.Clone(files)
		changed[bwrapFile], changed[argsFile] = mutant.JSON(), mutant.Text()
		if Validate(p, changed) == nil {
			t.Errorf("Validate without the %s namespace = nil", name)
		}
	}
}

// TestLandlockMutantsAreRefused does the same to the rules of execution.
func TestLandlockMutantsAreRefused(t *testing.T) {
	made := 0
	for name, statements := range samples {
		p := policy(t, statements...)
		files := compileFiles(t, p)
		original, err := landlock.Parse(files[landlockFile])
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, mutant landlock.Rules) {
			made++
			changed := maps.Clone(files)
			changed[landlockFile] = mutant.JSON()
			if Validate(p, changed) == nil {
				t.Errorf("%s in %q is accepted", what, name)
			}
		}
		if !original.Handled {
			continue
		}
		add := func(path ir.Path) landlock.Rule { return landlock.Rule{Path: path, Origin: "p/x"} }
		wider := *original
		wider.Rules = append([]landlock.Rule{add(ir.Path{})}, dropRoot(original.Rules)...)
		check("execution of everything", wider)
		for i, r := range original.Rules {
			if covered := readable(p, r.Path); !covered {
				continue // it lets nothing start either way
			}
			fewer := *original
			fewer.Rules = slices.Delete(slices.Clone(original.Rules), i, i+1)
			check("without execute "+r.Path.String(), fewer)
		}
		for i, r := range original.Reparent {
			fewer := *original
			fewer.Reparent = slices.Delete(slices.Clone(original.Reparent), i, i+1)
			if !slices.ContainsFunc(fewer.Reparent, func(o landlock.Rule) bool { return o.Path.Covers(r.Path) }) {
				check("without refer "+r.Path.String(), fewer)
			}
		}
	}
	if made < 20 {
		t.Errorf("only %d mutants", made)
	}
}

func dropRoot(rules []landlock.Rule) []landlock.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r landlock.Rule) bool { return r.Path == ir.Path{} })
}

func readable(p *ir.Policy, at ir.Path) bool {
	return ir.Decide(p, ir.Request{Kind: ir.ReadRequest, Path: at}).Allow
}
