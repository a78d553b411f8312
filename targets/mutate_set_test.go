package targets

import (
	"maps"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// setMutator changes one operation of a set in one way; false when it does not
// apply.
type setMutator struct {
	name   string
	change func(s *bwrap.Set, i int) bool
}

func edit(change func(o *bwrap.Operation) bool) func(*bwrap.Set, int) bool {
	return func(s *bwrap.Set, i int) bool { return change(&s.Operations[i]) }
}

var setMutators = []setMutator{
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
	{"add a write through another variable", func(s *bwrap.Set, i int) bool {
		o := s.Operations[i]
		return o.Path.Root() != ir.Home && insert(s, bwrap.Operation{Verb: bwrap.Bind, Level: ir.Write, Path: ir.RootPath(ir.Home).Join("foreign"), Origin: o.Origin})
	}},
	{"add a foreign tmpfs", func(s *bwrap.Set, i int) bool {
		o := s.Operations[i]
		return insert(s, bwrap.Operation{Verb: bwrap.Tmpfs, Path: o.Path.Join("foreign"), Size: 4096, Origin: o.Origin})
	}},
	{"start in another slot", edit(func(o *bwrap.Operation) bool {
		if o.Path.Root() == ir.Host || o.Path.Root() == ir.Home {
			return false
		}
		o.Path = ir.RootPath(ir.Home).Join(o.Path.Rel())
		return true
	})},
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

// setMutants changes bwrap.json in every way, one operation at a time, and its
// rendering with it. How many the comparison of meanings refuses by itself, without
// the strict form, is counted beside it: the two hold each other up.
func (b *board) setMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	original, err := bwrap.Parse(files[bwrapFile])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range setMutators {
		for i, o := range original.Operations {
			mutant := &bwrap.Set{Policy: original.Policy, Namespaces: original.Namespaces, Operations: slices.Clone(original.Operations)}
			if !m.change(mutant, i) {
				continue
			}
			changed := maps.Clone(files)
			changed[bwrapFile], changed[argsFile] = mutant.JSON(), mutant.Text()
			b.judge("operation: "+m.name, sample, string(o.Verb)+" "+o.Path.String(), Validate(p, changed) != nil)
			if differsInMeaning(t, p, files, mutant) {
				b.byMeaning("operation: " + m.name)
			}
		}
	}
	for i, name := range original.Namespaces {
		mutant := &bwrap.Set{Policy: original.Policy, Namespaces: slices.Delete(slices.Clone(original.Namespaces), i, i+1), Operations: original.Operations}
		changed := maps.Clone(files)
		changed[bwrapFile], changed[argsFile] = mutant.JSON(), mutant.Text()
		b.judge("operation: drop a namespace", sample, name, Validate(p, changed) != nil)
	}
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
