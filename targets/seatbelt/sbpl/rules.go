package sbpl

import (
	"slices"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// maxRules bounds the rules of a profile, an operation of a rule counting as one.
const maxRules = 200_000

// wrap is what a with-filter, with-modifier or with-operations adds to every rule
// made while its body is evaluated.
type wrap struct {
	filter     *Filter
	modifier   *Modifier
	operations []*operation
}

// parts are the arguments of one rule, in three piles.
type parts struct {
	operations []*operation
	filters    []*Filter
	modifiers  []Modifier
}

// rule is (allow …) and (deny …): operations, filters and modifiers in any order.
func (p *parser) rule(c *scheme.Call, allow bool) (scheme.Value, error) {
	var given parts
	for i, arg := range c.Args {
		switch v := arg.(type) {
		case *operation:
			given.operations = append(given.operations, v)
		case *Filter:
			given.filters = append(given.filters, v)
		case *Modifier:
			given.modifiers = append(given.modifiers, *v)
		default:
			return nil, c.Fail(i, WrongRule, "illegal argument: %s", scheme.Show(arg))
		}
	}
	for _, w := range slices.Backward(p.wraps) {
		if err := given.wrap(c.At, w); err != nil {
			return nil, err
		}
	}
	if len(given.operations) == 0 {
		return nil, c.Fail(-1, WrongRule, "at least one operation required")
	}
	if err := p.checkModifiers(c, allow, given.modifiers); err != nil {
		return nil, err
	}
	if err := p.checkCategories(given); err != nil {
		return nil, err
	}
	return p.add(c, allow, given)
}

// wrap puts one more condition around a rule's own, or adds to its other parts.
func (g *parts) wrap(at scheme.Pos, w wrap) error {
	g.operations = append(g.operations, w.operations...)
	if w.modifier != nil {
		g.modifiers = append(g.modifiers, *w.modifier)
	}
	if w.filter == nil {
		return nil
	}
	if len(g.filters) == 0 {
		g.filters = []*Filter{w.filter}
		return nil
	}
	own, err := anyOf(at, g.filters)
	if err != nil {
		return err
	}
	both, err := joined("require-all", all, at, []*Filter{own, w.filter})
	g.filters = []*Filter{both}
	return err
}

// checkCategories refuses a filter that an operation does not take, as 10.9 and
// 10.10 do. Later releases accept it, and it never matches.
func (p *parser) checkCategories(g parts) error {
	if p.release > operations.Mavericks {
		return nil
	}
	for _, filter := range g.filters {
		for _, f := range filter.categories() {
			for _, o := range g.operations {
				if !usable(o.name, f.atom.spec.category, p.release) {
					return &scheme.Error{At: f.At, Code: WrongCategory, Message: f.atom.spec.category + " filter does not apply to " + o.name + " operation"}
				}
			}
		}
	}
	return nil
}

// add keeps the rule.
func (p *parser) add(c *scheme.Call, allow bool, g parts) (scheme.Value, error) {
	r := &Rule{At: c.At, Allow: allow, Modifiers: g.modifiers}
	seen := map[string]bool{}
	for _, o := range g.operations {
		if !o.dropped && !seen[o.name] {
			seen[o.name] = true
			r.Operations = append(r.Operations, o.name)
		}
	}
	if len(r.Operations) == 0 {
		return scheme.Unspecified{}, nil
	}
	p.filters++
	if len(g.filters) > 0 {
		var err error
		if r.Filter, err = anyOf(c.At, g.filters); err != nil {
			return nil, err
		}
		p.filters += r.Filter.size
	}
	if p.filters > maxFilters || len(p.profile.Rules) >= maxRules {
		return nil, c.Fail(-1, scheme.PastLimit, "the profile has too many rules")
	}
	p.profile.Rules = append(p.profile.Rules, r)
	return scheme.Unspecified{}, nil
}

// installForms defines the names whose operands are not evaluated first.
func (p *parser) installForms() {
	p.machine.DefineForm("debug", func(*scheme.Form) (scheme.Value, error) { return scheme.Unspecified{}, nil })
	p.machine.DefineForm("with-filter", func(f *scheme.Form) (scheme.Value, error) {
		return p.wrapped(f, func(v scheme.Value) (w wrap, ok bool) { w.filter, ok = v.(*Filter); return })
	})
	p.machine.DefineForm("with-modifier", func(f *scheme.Form) (scheme.Value, error) {
		return p.wrapped(f, func(v scheme.Value) (w wrap, ok bool) { w.modifier, ok = v.(*Modifier); return })
	})
	p.machine.DefineForm("with-operations", func(f *scheme.Form) (scheme.Value, error) {
		return p.wrapped(f, func(v scheme.Value) (w wrap, ok bool) {
			items, ok := scheme.Items(v)
			for _, item := range items {
				o, isOperation := item.(*operation)
				ok = ok && isOperation
				w.operations = append(w.operations, o)
			}
			return w, ok
		})
	})
}

// wrapped evaluates the body of a form with what its first operand says around
// every rule made meanwhile, in procedures called from it too.
func (p *parser) wrapped(f *scheme.Form, read func(scheme.Value) (wrap, bool)) (scheme.Value, error) {
	if f.Len() == 0 {
		return nil, f.Fail(scheme.Syntax, "want a first operand and rules")
	}
	v, err := f.Eval(0)
	if err != nil {
		return nil, err
	}
	w, ok := read(v)
	if !ok {
		return nil, &scheme.Error{At: f.Place(0), Code: scheme.WrongArgument, Message: "unexpected " + scheme.Show(v)}
	}
	p.wraps = append(p.wraps, w)
	defer func() { p.wraps = p.wraps[:len(p.wraps)-1] }()
	return f.Body(1)
}
