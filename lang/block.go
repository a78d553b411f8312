package lang

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/lang/diag"
)

// block is one block with what its inventory admits; the rest has been reported.
type block struct {
	p      *parser
	kind   string
	header diag.Range
	name   String // its label; zero when there is none
	attrs  map[string]*hclsyntax.Attribute
	blocks []*hclsyntax.Block
	// repeats tells that for_each stands here, which is not-yet: what uses each
	// would be reported again.
	repeats bool
}

// open sorts what stands in b.
func (p *parser) open(b *hclsyntax.Block) *block { return p.openAs(b, b.Type) }

// openAs is open where what may stand in a block depends on what it stands in.
func (p *parser) openAs(b *hclsyntax.Block, kind string) *block {
	out := &block{p: p, kind: kind, header: at(b.DefRange())}
	p.labels(b, out)
	out.fill(b.Body)
	return out
}

func (p *parser) labels(b *hclsyntax.Block, out *block) {
	want := 0
	if inventories[out.kind].named {
		want = 1
	}
	if len(b.Labels) > want {
		p.add(extraLabel(at(b.LabelRanges[want]), b.Type, want))
	}
	if want == 1 && len(b.Labels) > 0 {
		out.name = String{b.Labels[0], at(b.LabelRanges[0])}
	} else if want == 1 {
		p.add(missingLabel(at(b.TypeRange), b.Type))
	}
}

// fill takes what the inventory of the block's kind admits.
func (b *block) fill(body *hclsyntax.Body) {
	inv := inventories[b.kind]
	b.attrs = map[string]*hclsyntax.Attribute{}
	for _, a := range inOrder(body.Attributes) {
		switch {
		case inv.free, slices.Contains(inv.attributes, a.Name):
			b.attrs[a.Name] = a
		case slices.Contains(inv.later, a.Name):
			b.p.add(notYet(at(a.NameRange), b.kind+"."+a.Name))
			b.repeats = b.repeats || a.Name == "for_each"
		default:
			b.p.add(unknownAttribute(at(a.NameRange), a.Name, b.kind))
		}
	}
	for _, inner := range body.Blocks {
		switch {
		case slices.Contains(inv.blocks, inner.Type):
			b.blocks = append(b.blocks, inner)
		case slices.Contains(inv.later, inner.Type):
			b.p.add(notYet(at(inner.TypeRange), b.kind+"."+inner.Type))
		default:
			b.p.add(unknownBlock(at(inner.TypeRange), inner.Type, b.kind))
		}
	}
}

// inOrder are attributes as they stand in the file.
func inOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte)
	})
}

// all are the blocks of one type.
func (b *block) all(kind string) []*hclsyntax.Block {
	var out []*hclsyntax.Block
	for _, inner := range b.blocks {
		if inner.Type == kind {
			out = append(out, inner)
		}
	}
	return out
}

// single is the one block of a type, or nil.
func (b *block) single(kind string) *block {
	found := b.all(kind)
	if len(found) == 0 {
		return nil
	}
	for _, again := range found[1:] {
		b.p.add(duplicateBlock(at(again.DefRange()), kind, at(found[0].DefRange())))
	}
	return b.p.open(found[0])
}

// identifierName is what policies, templates, commands and endpoints may be
// called: their names become folders and arguments.
var identifierName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// checkName reports a name that cannot be used.
func (b *block) checkName(accepted func(name string) bool, help string) {
	if b.name.Range.IsZero() || accepted(b.name.Value) {
		return
	}
	b.p.add(nameMalformed(b.name, b.kind, help))
}

const identifierHelp = "use a-z, 0-9 and -, at most 63, beginning with a letter"

// names finds a name that is taken already.
type names struct {
	p     *parser
	first map[string]diag.Range
}

func (p *parser) names() names { return names{p, map[string]diag.Range{}} }

// take reports kind name as a duplicate when the name was taken before.
func (n names) take(kind string, name String) {
	if name.Range.IsZero() {
		return
	}
	if first, taken := n.first[name.Value]; taken {
		n.p.add(duplicateName(kind, name, first))
		return
	}
	n.first[name.Value] = name.Range
}

// article is a block of a kind with its indefinite article.
func article(kind string) string {
	a := "a "
	if strings.ContainsAny(kind[:1], "aeiou") {
		a = "an "
	}
	switch kind {
	case "file", "test file", "project file", "policy", "template", "variable", "endpoint", "command", "result", "test":
		return a + kind
	}
	return a + kind + " block"
}

func unknownAttribute(r diag.Range, name, in string) diag.Diagnostic {
	inv := inventories[in]
	d := diag.Diagnostic{
		Code:    "unknown-attribute",
		At:      r,
		Message: fmt.Sprintf("%s has no attribute %s", article(in), quoted(name)),
		Help:    DidYouMean(name, inv.attributes),
	}
	if slices.Contains(inv.blocks, name) {
		d.Help = fmt.Sprintf("%s is a block: write %s { … } without the equals sign", name, name)
	} else if in == "test file" {
		d.Help = "put it into a test block"
	} else if in == "file" {
		d.Help = "put it into a block: attributes stand in policies, templates and locals"
	} else if in == "template" && (name == "version" || name == "targets") {
		d.Help = "state it in the policy that extends this template"
	}
	return d
}

func unknownBlock(r diag.Range, name, in string) diag.Diagnostic {
	inv := inventories[in]
	d := diag.Diagnostic{
		Code:    "unknown-block",
		At:      r,
		Message: fmt.Sprintf("%s has no block %s", article(in), quoted(name)),
		Help:    DidYouMean(name, inv.blocks),
	}
	switch {
	case inv.free, slices.Contains(inv.attributes, name):
		d.Help = fmt.Sprintf("write %s = …, with an equals sign", name)
	case in == "file" && name == "test":
		d.Help = "tests live in *.test.hcl"
	case in == "test file" && slices.Contains(inventories["file"].blocks, name):
		d.Help = "put it into a *.policy.hcl file: tests may use what stands there"
	}
	return d
}

func extraLabel(r diag.Range, kind string, want int) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "block-label",
		At:      r,
		Message: fmt.Sprintf("%s takes one name, and this is a second", article(kind)),
		Help:    "remove it",
	}
	if want == 0 {
		d.Message = fmt.Sprintf("%s takes no name", article(kind))
		d.Help = fmt.Sprintf("write %s {", kind)
	}
	return d
}

func missingLabel(r diag.Range, kind string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "block-label",
		At:      r,
		Message: fmt.Sprintf("%s has no name", article(kind)),
		Help:    fmt.Sprintf("write %s \"NAME\" {", kind),
	}
}

func duplicateBlock(r diag.Range, kind string, first diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "duplicate-block",
		At:      r,
		Message: fmt.Sprintf("a second %s block stands here", kind),
		Help:    "put both into one block",
		Related: []diag.Related{{At: first, Message: "the first one"}},
	}
}

func duplicateName(kind string, name String, first diag.Range) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "duplicate-" + kind,
		At:      name.Range,
		Message: fmt.Sprintf("the name %s of this %s is taken", quoted(name.Value), kind),
		Help:    "give it another name",
		Related: []diag.Related{{At: first, Message: "first stated here"}},
	}
	switch kind {
	case "target", "value":
		d.Message = fmt.Sprintf("%s is listed twice", quoted(name.Value))
		d.Help = "remove one of them"
	case "waive":
		d.Message = fmt.Sprintf("waive %s is stated twice", quoted(name.Value))
		d.Help = "put both into one block"
	}
	return d
}

func nameMalformed(name String, kind, help string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "name-malformed",
		At:      name.Range,
		Message: fmt.Sprintf("%s cannot be called %s", article(kind), quoted(name.Value)),
		Help:    help,
	}
}
