package scheme

import "errors"

// Closure is a procedure made by the text.
type Closure struct {
	name   Symbol
	params []Symbol
	rest   Symbol // "" when there is none
	body   Value  // a list of forms
	env    *env
}

// Macro rewrites its whole form: what its procedure returns is evaluated instead,
// in the scope of the use. Names in it are not renamed.
type Macro struct{ expand Value }

// form is a name whose operands are not evaluated before it is.
type form struct {
	name Symbol
	do   func(m *Machine, p *Pair, e *env) (Value, tail, error)
}

// tail is what is left to evaluate, so that loops written as recursion take no
// depth.
type tail struct {
	x  Value
	at Pos
	e  *env
	is bool
}

func again(x Value, at Pos, e *env) (Value, tail, error) {
	return nil, tail{x: x, at: at, e: e, is: true}, nil
}

// eval evaluates x, which stands at at, in scope e.
func (m *Machine) eval(x Value, at Pos, e *env) (Value, error) {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > m.limits.Depth {
		return nil, fail(at, PastLimit, "evaluation nests more than %d deep", m.limits.Depth)
	}
	for {
		if err := m.spend(1, at); err != nil {
			return nil, err
		}
		p, ok := x.(*Pair)
		if !ok {
			if name, ok := x.(Symbol); ok {
				return m.lookup(name, at, e)
			}
			return x, nil // () too, as in TinyScheme
		}
		if p.At.Line == 0 {
			p = &Pair{Car: p.Car, Cdr: p.Cdr, At: at, Open: at}
		}
		v, next, err := m.combine(p, e)
		if err != nil || !next.is {
			return v, placed(err, p.At)
		}
		x, e = next.x, next.e
		if next.at.Line > 0 {
			at = next.at
		}
	}
}

// placed gives an error without a place that of the form it arose in.
func placed(err error, at Pos) error {
	var e *Error
	if errors.As(err, &e) && e.At.Line == 0 {
		e.At = at
	}
	return err
}

// combine evaluates one form.
func (m *Machine) combine(p *Pair, e *env) (Value, tail, error) {
	head, err := m.head(p, e)
	if err != nil {
		return nil, tail{}, err
	}
	switch f := head.(type) {
	case *form:
		return f.do(m, p, e)
	case *Macro:
		expanded, err := m.apply(f.expand, []Value{p}, nil, p.At)
		if err != nil {
			return nil, tail{}, err
		}
		return again(expanded, p.At, e)
	}
	args, places, err := m.arguments(head, p, e)
	if err != nil {
		return nil, tail{}, err
	}
	if c, ok := head.(*Closure); ok {
		inner, err := m.bind(c, args, p.At)
		if err != nil {
			return nil, tail{}, err
		}
		return m.sequence(c.body, inner)
	}
	v, err := m.apply(head, args, places, p.At)
	return v, tail{}, err
}

// head is what a form begins with.
func (m *Machine) head(p *Pair, e *env) (Value, error) {
	if name, ok := p.Car.(Symbol); ok {
		return m.lookup(name, p.At, e)
	}
	return m.eval(p.Car, p.At, e)
}

// arguments evaluates the operands of a call of f.
func (m *Machine) arguments(f Value, p *Pair, e *env) (args []Value, places []Pos, err error) {
	procedure, _ := f.(*Procedure)
	rest := p.Cdr
	for {
		cell, ok := rest.(*Pair)
		if !ok {
			break
		}
		at := cell.At
		if at.Line == 0 {
			at = p.At
		}
		v, err := m.eval(cell.Car, at, e)
		if err != nil {
			if v, ok = m.named(procedure, cell.Car, e); !ok {
				return nil, nil, err
			}
		}
		args, places, rest = append(args, v), append(places, at), cell.Cdr
	}
	if rest != (Empty{}) {
		return nil, nil, fail(p.At, Syntax, "a call has no dot")
	}
	return args, places, nil
}

// named asks a procedure for the value of an argument that is an unbound name.
func (m *Machine) named(p *Procedure, x Value, e *env) (Value, bool) {
	name, ok := x.(Symbol)
	if !ok || p == nil || p.Names == nil || e.find(name) != nil {
		return nil, false
	}
	return p.Names(name)
}

// bind makes the scope of a closure's body.
func (m *Machine) bind(c *Closure, args []Value, at Pos) (*env, error) {
	name := c.name
	if name == "" {
		name = "procedure"
	}
	if len(args) < len(c.params) {
		return nil, fail(at, WrongArgument, "%s: not enough arguments: %d, not %d", Show(name), len(args), len(c.params))
	}
	inner := &env{names: c.params[:len(c.params):len(c.params)], values: append([]Value(nil), args[:len(c.params)]...), outer: c.env}
	if c.rest != "" {
		m.define(c.rest, List(args[len(c.params):]...), inner)
	} else if len(args) > len(c.params) {
		return nil, fail(at, WrongArgument, "%s: too many arguments: %d, not %d", Show(name), len(args), len(c.params))
	}
	return inner, m.spend(len(args), at)
}

// sequence evaluates all forms of a body but the last, and leaves that.
func (m *Machine) sequence(body Value, e *env) (Value, tail, error) {
	for {
		p, ok := body.(*Pair)
		if !ok {
			return Empty{}, tail{}, nil
		}
		if _, more := p.Cdr.(*Pair); !more {
			return again(p.Car, p.At, e)
		}
		if _, err := m.eval(p.Car, p.At, e); err != nil {
			return nil, tail{}, err
		}
		body = p.Cdr
	}
}

// Apply calls a procedure from Go.
func (c *Call) Apply(f Value, args ...Value) (Value, error) {
	return c.Machine.apply(f, args, nil, c.At)
}

func (m *Machine) apply(f Value, args []Value, places []Pos, at Pos) (Value, error) {
	switch f := f.(type) {
	case *Procedure:
		if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
			return nil, fail(at, WrongArgument, "%s: wrong number of arguments: %d", f.Name, len(args))
		}
		if err := m.spend(len(args), at); err != nil {
			return nil, err
		}
		m.depth++
		defer func() { m.depth-- }()
		if m.depth > m.limits.Depth {
			return nil, fail(at, PastLimit, "evaluation nests more than %d deep", m.limits.Depth)
		}
		return f.Do(&Call{Machine: m, Name: f.Name, At: at, Args: args, places: places})
	case *Closure:
		inner, err := m.bind(f, args, at)
		if err != nil {
			return nil, err
		}
		v, next, err := m.sequence(f.body, inner)
		if err != nil || !next.is {
			return v, err
		}
		if next.at.Line == 0 {
			next.at = at
		}
		return m.eval(next.x, next.at, next.e)
	}
	return nil, fail(at, WrongArgument, "%s is no procedure", Show(f))
}
