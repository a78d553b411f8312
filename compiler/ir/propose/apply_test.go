package propose_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang"
)

// lists are the elements of a filesystem block, by list.
type lists map[string][]string

func (l lists) String() string {
	out := "  filesystem {\n"
	for _, name := range slices.Sorted(maps.Keys(l)) {
		out += fmt.Sprintf("    %s = [%s]\n", name, strings.Join(l[name], ", "))
	}
	return out + "  }\n"
}

// text compiles a policy with its own lists and those of a template.
func text(own, inherited lists) (*ir.Policy, error) {
	source := "policy \"p\" {\n  version = 1\n  extends = [template.t]\n" + own.String() + "}\ntemplate \"t\" {\n" + inherited.String() + "}\n"
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(source)}, lang.Options{})
	if !diags.HasErrors() {
		results, found := compiler.Compile(config, compiler.Options{})
		if diags.Add(found...); !diags.HasErrors() {
			return results[0].Policy, nil
		}
	}
	return nil, fmt.Errorf("%v\n%s", diags, source)
}

// places are stated and asked about: nested, in slots, two that differ by case, and
// some that no policy can state.
var places = []string{
	"/d", "/d/a", "/d/a/b", "/d/A", "/d/e\u0301", "/d/\u202e", "/d/*", "/srv/x", "/srv/x/y",
	"${workspace}", "${workspace}/src", "${workspace}/src/key", "${home}/notes", "${tmp}", "/proc/x",
}

func drawLists(t *rapid.T, label string) lists {
	out := lists{}
	for i, p := range places {
		at := ir.MustPath(p)
		if at.Unstatable() != "" || p == "/d/A" {
			continue
		}
		list := rapid.SampledFrom([]string{"", "", "", "", "read", "read", "read", "write", "deny", "execute"}).Draw(t, fmt.Sprint(label, i))
		element := propose.Addition{Path: at}.Element()
		switch form := rapid.SampledFrom([]string{"", "", "", "", "optional", "only"}).Draw(t, fmt.Sprint(label, "form", i)); {
		case list == "" || at.Root() == ir.Tmp && list != "write":
			continue
		case at.Root() == ir.Tmp, list == "deny", form == "only" && list == "write":
		case form != "":
			element = form + "(" + element + ")"
		}
		out[list] = append(out[list], element)
	}
	return out
}

var (
	taken = regexp.MustCompile(`(?m)^  # take (.*) out of (\w+): `)
	added = regexp.MustCompile(`(?ms)^  (\w+) = \[\n(.*?)^  \]$`)
)

// merged is what an author has after doing what the block says.
func merged(own lists, block string) lists {
	out := lists{}
	for name, list := range own {
		out[name] = slices.Clone(list)
	}
	for _, m := range taken.FindAllStringSubmatch(block, -1) {
		out[m[2]] = slices.DeleteFunc(out[m[2]], func(e string) bool {
			return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(e, "only("), "optional("), ")") == strings.TrimSuffix(strings.TrimPrefix(m[1], "only("), ")")
		})
	}
	for _, m := range added.FindAllStringSubmatch(block, -1) {
		for _, e := range strings.Split(strings.TrimSuffix(strings.TrimSpace(m[2]), ","), ",\n") {
			out[m[1]] = append(out[m[1]], strings.TrimSpace(e))
		}
	}
	return out
}

// TestProposalsCompile: what is proposed, done as it says in the policy's own text,
// compiles; and what it was proposed for is allowed.
func TestProposalsCompile(t *testing.T) {
	tried, moved := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		own, inherited := drawLists(t, "own"), drawLists(t, "inherited")
		p, err := text(own, inherited)
		if err != nil {
			return
		}
		var accesses []propose.Access
		for i := range rapid.IntRange(1, 8).Draw(t, "accesses") {
			kind := rapid.SampledFrom(ir.FileRequests()).Draw(t, fmt.Sprint("kind", i))
			at := binding.Path(ir.MustPath(rapid.SampledFrom(places).Draw(t, fmt.Sprint("at", i))))
			if rapid.Bool().Draw(t, fmt.Sprint("below", i)) {
				at = at.Join("new")
			}
			accesses = append(accesses, propose.Access{Request: ir.Request{Kind: kind, Path: at}, Count: 1, Machine: propose.Machine{Directory: rapid.Bool().Draw(t, fmt.Sprint("directory", i))}})
		}
		// A line moves a path where the policy reads what is written: asked of each such
		// path, for chance alone asks it too seldom to count on.
		for _, place := range places {
			if at := ir.MustPath(place); slices.Contains(own["read"], propose.Addition{Path: at}.Element()) {
				accesses = append(accesses, propose.Access{Request: ir.Request{Kind: ir.WriteRequest, Path: binding.Path(at)}, Count: 1})
			}
		}
		found, err := propose.For(propose.Setting{Policy: p, Binding: binding}, accesses)
		if err != nil {
			return // a binding that the policy does not admit
		}
		for i := range found {
			check(t, own, inherited, found[i:i+1], true)
			tried += len(found[i].Add)
			for _, a := range found[i].Add {
				if a.Instead != "" {
					moved++
				}
			}
		}
		check(t, own, inherited, found, false)
	})
	if tried < 50 || moved < 20 {
		t.Errorf("%d lines were tried and %d of them moved a path, want 50 and 20", tried, moved)
	}
}

// TestTurnsCompile: the line that turns an answer, written as it says into the
// policy's own text, compiles and turns it.
func TestTurnsCompile(t *testing.T) {
	moved, denied := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		own, inherited := drawLists(t, "own"), drawLists(t, "inherited")
		p, err := text(own, inherited)
		if err != nil {
			return
		}
		before, err := p.Bind(binding)
		if err != nil {
			return
		}
		for i := range 6 {
			r := ir.Request{
				Kind: rapid.SampledFrom([]ir.RequestKind{ir.ReadRequest, ir.ListRequest, ir.StatRequest, ir.WriteRequest, ir.CreateRequest, ir.RemoveRequest}).Draw(t, fmt.Sprint("kind", i)),
				Path: binding.Path(ir.MustPath(rapid.SampledFrom(places).Draw(t, fmt.Sprint("at", i)))),
			}
			list := "deny"
			if allowed := ir.Decide(before, r).Allow; !allowed && r.Kind == ir.WriteRequest {
				list = "write"
			} else if !allowed {
				list = "read"
			}
			add, err := propose.Turn(p, binding, r, list)
			if err != nil {
				continue
			}
			if add.Instead != "" {
				moved++
			}
			if list == "deny" {
				denied++
			}
			block := strings.ReplaceAll(propose.HCL([]propose.Addition{add}), "}\n", "")
			if list == "deny" {
				block += "  deny = [\n    " + add.Element() + ",\n  ]\n"
			}
			after, err := text(merged(own, block), inherited)
			if err != nil {
				t.Fatalf("%s of %s: %v", list, r, err)
			}
			bound, err := after.Bind(binding)
			if err != nil || ir.Decide(bound, r).Allow == ir.Decide(before, r).Allow {
				t.Fatalf("%s of %s does not turn it (%v), with\n%s\nin\n%s\nand\n%s", list, r, err, block, own, inherited)
			}
		}
	})
	if moved < 5 || denied < 20 {
		t.Errorf("%d lines moved a path and %d denied, want 5 and 20", moved, denied)
	}
}

// check does what is proposed. Together, a path that one line names is held against
// what another was proposed for, so alone each has to allow its access.
func check(t *rapid.T, own, inherited lists, found []propose.Finding, alone bool) {
	block := propose.HCL(propose.Merge(found))
	if block == "" {
		return
	}
	after, err := text(merged(own, block), inherited)
	if err != nil {
		t.Fatalf("%v\nwith\n%s", err, block)
	}
	bound, err := after.Bind(binding)
	if err != nil {
		t.Fatalf("%v\nwith\n%s", err, block)
	}
	for _, f := range found {
		if alone && !ir.Decide(bound, f.Request).Allow {
			t.Fatalf("%s is denied, with\n%s\nin\n%s\nand\n%s", f.Request, block, own, inherited)
		}
	}
}
