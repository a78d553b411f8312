package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// local is one attribute of a locals block. When it is not ok the reason has
// been reported, and what uses it is passed over.
type local struct {
	name    String
	expr    hclsyntax.Expression
	value   cty.Value
	ok      bool
	needs   []*local
	waiting int // needs that have not been evaluated
	neededs []*local
}

// evaluateLocals evaluates the locals, each after those it uses. The order is
// found without recursion: a chain may be as long as the file.
func (p *parser) evaluateLocals() {
	for _, l := range p.localList {
		p.link(l)
	}
	var ready []*local
	for _, l := range p.localList {
		if l.waiting == 0 {
			ready = append(ready, l)
		}
	}
	for len(ready) > 0 {
		l := ready[0]
		ready = ready[1:]
		l.value, l.ok = p.evaluate(l.expr, elsewhere)
		l.waiting = -1
		for _, n := range l.neededs {
			if n.waiting--; n.waiting == 0 {
				ready = append(ready, n)
			}
		}
	}
	p.reportCycles()
}

// link notes which locals l uses. Names that are not declared are found when l
// is evaluated.
func (p *parser) link(l *local) {
	seen := map[string]bool{}
	for _, t := range l.expr.Variables() {
		if len(t) < 2 || t.RootName() != "local" {
			continue
		}
		step, ok := t[1].(hcl.TraverseAttr)
		if !ok || seen[step.Name] || p.locals[step.Name] == nil {
			continue
		}
		seen[step.Name] = true
		other := p.locals[step.Name]
		l.needs = append(l.needs, other)
		other.neededs = append(other.neededs, l)
		l.waiting++
	}
}

// reportCycles finds the locals that wait for each other, each circle once.
func (p *parser) reportCycles() {
	const (
		unseen = iota
		onWay
		done
	)
	state := map[*local]int{}
	for _, start := range p.localList {
		var way []*local
		l := start
		for l != nil && l.waiting > 0 && state[l] == unseen {
			state[l] = onWay
			way = append(way, l)
			l = l.blocker()
		}
		if l != nil && state[l] == onWay {
			p.add(localCycle(way, l))
		}
		for _, w := range way {
			state[w] = done
		}
	}
}

// blocker is a local that l waits for.
func (l *local) blocker() *local {
	for _, n := range l.needs {
		if n.waiting > 0 {
			return n
		}
	}
	return nil
}

// localCycle reports the part of way that begins at the local it came back to.
func localCycle(way []*local, back *local) diag.Diagnostic {
	for way[0] != back {
		way = way[1:]
	}
	d := diag.Diagnostic{
		Code: "local-cycle",
		At:   back.name.Range,
		Help: "write one of them without the others",
	}
	var chain []string
	for i, l := range way {
		if i < 8 {
			chain = append(chain, "local."+short(l.name.Value))
			if i > 0 {
				d.Related = append(d.Related, diag.Related{At: l.name.Range, Message: "which uses this"})
			}
		}
	}
	if len(way) > 8 {
		chain = append(chain, "…")
	}
	d.Message = fmt.Sprintf("locals use each other in a circle: %s", strings.Join(append(chain, "local."+short(back.name.Value)), " → "))
	return d
}
