package sbpl

import (
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// filterProcedures are the names of filters in a release, by name.
func (p *parser) filterProcedures() map[string]*scheme.Procedure {
	out := map[string]*scheme.Procedure{}
	add := func(name string, spec *filterSpec, h how) {
		out[name] = &scheme.Procedure{Name: name, Min: 0, Max: -1, Names: openNames(spec.name), Do: func(c *scheme.Call) (scheme.Value, error) {
			return p.makeAtom(c, spec, h)
		}}
	}
	for i := range filterTable {
		spec := &filterTable[i]
		if !spec.in(p.release) {
			continue
		}
		switch spec.kind {
		case pathPattern:
			add(spec.name+"-subpath", spec, below)
			fallthrough
		case pattern:
			add(spec.name, spec, equals)
			add(spec.name+"-prefix", spec, hasPrefix)
			add(spec.name+"-regex", spec, matches)
		case text, named:
			add(spec.name, spec, equals)
		case enum:
			add(spec.name, spec, isConstant)
		case bits:
			add(spec.name, spec, hasBits)
		case boolean:
			add(spec.name, spec, isBoolean)
		case network:
			add(spec.name, spec, isAddress)
		}
	}
	for _, a := range filterAliases {
		if target, ok := out[a.name]; ok {
			renamed := *target
			renamed.Name = a.alias
			out[a.alias] = &renamed
		}
	}
	return out
}

// openNames lets names stand as arguments that only the whole published tables
// list.
func openNames(filter string) func(scheme.Symbol) (scheme.Value, bool) {
	family, ok := familyIndex()[filter]
	if !ok || !family.open {
		return nil
	}
	return func(name scheme.Symbol) (scheme.Value, bool) { return Constant{string(name)}, true }
}

// makeAtom is a filter applied to its arguments.
func (p *parser) makeAtom(c *scheme.Call, spec *filterSpec, h how) (scheme.Value, error) {
	a := &atom{spec: spec, how: h, args: append([]scheme.Value(nil), c.Args...)}
	f := &Filter{Name: c.Name, At: c.At, atom: a, size: 1 + len(c.Args)}
	for i := range c.Args {
		f.where = append(f.where, c.Place(i))
	}
	switch {
	case len(a.args) > 0:
	case spec.name == "extension":
		a.args = []scheme.Value{"com.apple.app-sandbox.read-write"}
	case h == isBoolean:
		a.args = []scheme.Value{true}
	default:
		return nil, c.Fail(-1, scheme.WrongArgument, "%s: want at least one argument", c.Name)
	}
	if h == isAddress {
		return p.makeAddress(c, f)
	}
	for i, arg := range a.args {
		if err := p.take(c, a, i, arg); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// take checks one argument and keeps what matching it needs.
func (p *parser) take(c *scheme.Call, a *atom, i int, arg scheme.Value) error {
	s, isText := arg.(string)
	switch a.how {
	case equals, hasPrefix, below:
		if n, ok := arg.(int64); ok && a.spec.kind == named {
			s, isText = scheme.Show(n), true
		}
		if !isText {
			return wants(c, i, "a string")
		}
		a.texts = append(a.texts, s)
		return p.checkSubpath(c, a, i, s)
	case matches:
		if !isText {
			return wants(c, i, "a string")
		}
		e, err := p.expression(s)
		if err != nil {
			return c.Fail(i, BadRegex, "%s", err)
		}
		a.expressions = append(a.expressions, e)
	case isConstant:
		if constant, ok := arg.(Constant); ok && familyIndex()[a.spec.name].has(constant.Name) {
			return nil
		}
		if n, ok := arg.(int64); !ok || n < 0 {
			return wants(c, i, "one of its constants or a number")
		}
	case hasBits:
		if n, ok := arg.(int64); !ok || n < 0 {
			return wants(c, i, "a number")
		}
	case isBoolean:
		if _, ok := arg.(bool); !ok || len(a.args) > 1 {
			return wants(c, i, "#t or #f")
		}
	}
	return nil
}

func wants(c *scheme.Call, i int, what string) error {
	return c.Fail(i, scheme.WrongArgument, "%s: argument %d must be %s, not %s", c.Name, i+1, what, scheme.Show(c.Args[i]))
}

// checkSubpath refuses what the front end of 10.9 and 10.10 refuses.
func (p *parser) checkSubpath(c *scheme.Call, a *atom, i int, s string) error {
	if a.how != below || p.release > operations.Mavericks {
		return nil
	}
	if s == "" {
		return c.Fail(i, scheme.WrongArgument, "%s: a path is empty", c.Name)
	}
	if len(s) > 1 && strings.HasSuffix(s, "/") {
		return c.Fail(i, scheme.WrongArgument, "subpaths must not end with a slash")
	}
	return nil
}

// expression compiles a pattern, once for each text.
func (p *parser) expression(source string) (*expression, error) {
	if e, ok := p.expressions[source]; ok {
		return e, nil
	}
	if p.patternBytes += len(source); p.patternBytes > maxPatterns {
		return nil, errTooManyPatterns
	}
	e, err := compileExpression(source)
	if err == nil {
		p.expressions[source] = e
	}
	return e, err
}

// combination is require-all, require-any or require-not.
func combination(name string, j join) *scheme.Procedure {
	return &scheme.Procedure{Name: name, Min: 0, Max: -1, Do: func(c *scheme.Call) (scheme.Value, error) {
		if len(c.Args) == 0 || j == not && len(c.Args) != 1 {
			return nil, c.Fail(-1, scheme.WrongArgument, "%s: wrong number of filters: %d", name, len(c.Args))
		}
		subs := make([]*Filter, len(c.Args))
		for i, arg := range c.Args {
			var ok bool
			if subs[i], ok = arg.(*Filter); !ok {
				return nil, wants(c, i, "a filter")
			}
		}
		f, err := joined(name, j, c.At, subs)
		if err != nil {
			return nil, err
		}
		return f, nil
	}}
}
