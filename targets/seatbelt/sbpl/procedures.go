package sbpl

import (
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// procedures are the ordinary names of the language, filters, operations and
// modifiers aside.
func (p *parser) procedures() []*scheme.Procedure {
	out := []*scheme.Procedure{
		{Name: "allow", Min: 0, Max: -1, Do: func(c *scheme.Call) (scheme.Value, error) { return p.rule(c, true) }},
		{Name: "deny", Min: 0, Max: -1, Do: func(c *scheme.Call) (scheme.Value, error) { return p.rule(c, false) }},
		combination("require-all", all), combination("require-any", some), combination("require-not", not),
		{Name: "with", Min: 1, Max: -1, Do: p.with},
		{Name: "import", Min: 1, Max: 1, Do: p.importFile},
		{Name: "param", Min: 1, Max: 1, Do: p.param},
		{Name: "getenv", Min: 1, Max: 1, Do: p.param},
		{Name: "trace", Min: 1, Max: 1, Do: p.trace},
		{Name: "record", Min: 0, Max: 1, Do: done},
		{Name: "eliminate-duplicate-rules", Min: 0, Max: 0, Do: done},
		{Name: "disable-callouts", Min: 0, Max: 0, Do: done},
		{Name: "disable-full-symbolication", Min: 0, Max: 0, Do: done},
		{Name: "regex-quote", Min: 1, Max: 1, Do: regexQuote},
		{Name: "require-entitlement", Min: 1, Max: 2, Do: p.requireEntitlement},
		{Name: "entitlement-value", Min: 1, Max: 1, Do: p.entitlementValue},
		{Name: "entitlement-value-regex", Min: 1, Max: 1, Do: p.entitlementRegex},
		{Name: "_IO", Min: 2, Max: 2, Do: ioCommand},
		{Name: "sbpl-filter?", Min: 1, Max: 1, Do: func(c *scheme.Call) (scheme.Value, error) { _, ok := c.Args[0].(*Filter); return ok, nil }},
	}
	if p.release >= operations.Catalina {
		out = append(out, &scheme.Procedure{Name: "path-ancestors", Min: 1, Max: -1, Do: p.pathAncestors})
	}
	for _, f := range fixedFilters {
		out = append(out, &scheme.Procedure{Name: f.name, Min: 0, Max: 0, Do: func(c *scheme.Call) (scheme.Value, error) {
			a := &atom{spec: filterNamed(f.filter), how: isConstant, args: []scheme.Value{Constant{f.constant}}}
			return &Filter{Name: f.filter, At: c.At, atom: a, size: 1}, nil
		}})
	}
	return out
}

// done is a directive without effect on decisions.
func done(*scheme.Call) (scheme.Value, error) { return scheme.Unspecified{}, nil }

// param is the value of a -D definition, #f where there is none.
func (p *parser) param(c *scheme.Call) (scheme.Value, error) {
	key, ok := c.Args[0].(string)
	if !ok {
		return nil, wants(c, 0, "a string")
	}
	if value, ok := p.options.Params[key]; ok {
		return value, nil
	}
	return false, nil
}

func (p *parser) trace(c *scheme.Call) (scheme.Value, error) {
	if !isString(c.Args[0]) {
		return nil, c.Fail(0, scheme.WrongArgument, "argument to trace must be a string")
	}
	if p.traced {
		return nil, c.Fail(-1, WrongRule, "only one trace path may be specified")
	}
	p.traced = true
	return scheme.Unspecified{}, nil
}

func regexQuote(c *scheme.Call) (scheme.Value, error) {
	s, ok := c.Args[0].(string)
	if !ok {
		return nil, wants(c, 0, "a string")
	}
	return c.Text(quoteExpression(s))
}

// ioCommand composes the number of an ioctl or fsctl of a group, as sbpl1.scm does.
func ioCommand(c *scheme.Call) (scheme.Value, error) {
	group, ok := c.Args[0].(string)
	if !ok || group == "" {
		return nil, wants(c, 0, "a string")
	}
	n, ok := c.Args[1].(int64)
	if !ok || n < 0 || n > 255 {
		return nil, wants(c, 1, "a number from 0 to 255")
	}
	return n + 256*int64(group[0]), nil
}

// pathAncestors is a filter of every directory above the paths.
func (p *parser) pathAncestors(c *scheme.Call) (scheme.Value, error) {
	a := &atom{spec: filterNamed("path"), how: equals}
	f := &Filter{Name: "literal", At: c.At, atom: a}
	for i, arg := range c.Args {
		path, ok := arg.(string)
		if !ok {
			return nil, wants(c, i, "a string")
		}
		if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "${") {
			return nil, c.Fail(i, scheme.WrongArgument, "path must start with a /")
		}
		path = strings.TrimSuffix(path, "/")
		for at := range len(path) {
			if path[at] != '/' {
				continue
			}
			dir := path[:max(at, 1)]
			if _, err := c.Text(dir); err != nil {
				return nil, err
			}
			a.args, a.texts, f.where = append(a.args, dir), append(a.texts, dir), append(f.where, c.Place(i))
		}
	}
	if len(a.args) == 0 {
		return nil, c.Fail(-1, scheme.WrongArgument, "path-ancestors: no path has a directory above it")
	}
	f.size = 1 + len(a.args)
	return f, nil
}

// requireEntitlement is a filter on what the process was signed with: a true
// entitlement, or one whose value a filter takes.
func (p *parser) requireEntitlement(c *scheme.Call) (scheme.Value, error) {
	name, ok := c.Args[0].(string)
	if !ok {
		return nil, wants(c, 0, "a string")
	}
	a := &atom{spec: filterNamed("%entitlement-load"), how: hasEntitlement, args: c.Args, texts: []string{name}}
	f := &Filter{Name: c.Name, At: c.At, atom: a, size: 2, where: []scheme.Pos{c.Place(0)}}
	if len(c.Args) == 2 {
		if a.value, ok = c.Args[1].(*Filter); !ok {
			return nil, wants(c, 1, "a filter")
		}
		f.size += a.value.size
	}
	return f, nil
}

func (p *parser) entitlementValue(c *scheme.Call) (scheme.Value, error) {
	switch c.Args[0].(type) {
	case string:
		return p.makeAtom(c, filterNamed("%entitlement-string"), equals)
	case bool:
		return p.makeAtom(c, filterNamed("%entitlement-boolean"), isBoolean)
	}
	return nil, c.Fail(0, scheme.WrongArgument, "entitlement-value argument must be string or boolean")
}

func (p *parser) entitlementRegex(c *scheme.Call) (scheme.Value, error) {
	if !isString(c.Args[0]) {
		return nil, c.Fail(0, scheme.WrongArgument, "entitlement-value-regex argument must be string")
	}
	return p.makeAtom(c, filterNamed("%entitlement-string"), matches)
}
