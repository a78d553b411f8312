package lang

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/obspc/obspc/lang/diag"
)

// declareAll sorts the top-level blocks of all files by what they declare, so
// that order and files do not matter.
func (p *parser) declareAll() {
	bodyNames := p.names()
	variableNames, localNames := p.names(), p.names()
	for _, body := range p.parsed {
		file := &block{p: p, kind: "file"}
		file.fill(body)
		for _, b := range file.blocks {
			switch b.Type {
			case "variable":
				p.declareVariable(b, variableNames)
			case "locals":
				p.declareLocals(b, localNames)
			case "policy", "template":
				if len(b.Labels) > 0 {
					bodyNames.take(b.Type, String{b.Labels[0], at(b.LabelRanges[0])})
				}
				p.bodies = append(p.bodies, b)
			default:
				diag.Bug("the inventory admits %s in a file, and nothing reads it", b.Type)
			}
		}
	}
}

func (p *parser) declareVariable(b *hclsyntax.Block, taken names) {
	p.varBlocks = append(p.varBlocks, b)
	if len(b.Labels) == 0 {
		return // reported when the block is opened
	}
	name := String{b.Labels[0], at(b.LabelRanges[0])}
	if !hclsyntax.ValidIdentifier(name.Value) {
		p.add(nameMalformed(name, "variable", "use letters, digits, _ and -, beginning with a letter"))
	}
	taken.take("variable", name)
	if _, ok := p.vars[name.Value]; !ok {
		p.vars[name.Value] = &variable{name: name}
	}
}

func (p *parser) declareLocals(b *hclsyntax.Block, taken names) {
	for _, a := range inOrder(p.open(b).hclAttributes()) {
		name := String{a.Name, at(a.NameRange)}
		taken.take("local", name)
		if _, ok := p.locals[name.Value]; ok {
			continue
		}
		l := &local{name: name, expr: a.Expr}
		p.locals[name.Value] = l
		p.localList = append(p.localList, l)
	}
}

// hclAttributes are the attributes that the block's inventory admits.
func (b *block) hclAttributes() hclsyntax.Attributes { return hclsyntax.Attributes(b.attrs) }
