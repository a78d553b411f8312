package scheme

// forms are the names whose operands are not evaluated first. The map is filled in
// at start-up because some of its functions lead back to it.
var forms map[Symbol]func(m *Machine, p *Pair, e *env) (Value, tail, error)

func init() {
	forms = map[Symbol]func(m *Machine, p *Pair, e *env) (Value, tail, error){
		"quote": quote, "quasiquote": quasiquote, "if": ifForm, "define": define, "set!": set, "lambda": lambda,
		"let": let, "let*": letStar, "letrec": letrec, "letrec*": letrec, "begin": begin, "cond": cond, "case": caseForm,
		"when": when, "unless": unless, "and": and, "or": or, "do": do, "macro": macro, "define-macro": macro, "defined?": defined,
	}
}

// malformed is the error of a form with the wrong shape.
func malformed(p *Pair, want string) (Value, tail, error) {
	return nil, tail{}, fail(p.At, Syntax, "%s: want %s", Show(p.Car), want)
}

func value(v Value, err error) (Value, tail, error) { return v, tail{}, err }

func quote(m *Machine, p *Pair, _ *env) (Value, tail, error) {
	operands, _, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 1 {
		return malformed(p, "one datum")
	}
	return operands[0], tail{}, nil
}

func ifForm(m *Machine, p *Pair, e *env) (Value, tail, error) {
	operands, at, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 2 && len(operands) != 3 {
		return malformed(p, "a test, a form and perhaps another")
	}
	test, err := m.eval(operands[0], at[0], e)
	switch {
	case err != nil:
		return nil, tail{}, err
	case isTrue(test):
		return again(operands[1], at[1], e)
	case len(operands) == 3:
		return again(operands[2], at[2], e)
	}
	return Empty{}, tail{}, nil // as in TinyScheme, which has no other nothing
}

func define(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "a name and a value")
	}
	switch target := rest.Car.(type) {
	case Symbol:
		operands, at, err := m.cells(rest)
		if err != nil {
			return nil, tail{}, err
		}
		if len(operands) > 1 {
			return malformed(p, "a name and one value")
		}
		var v Value = Unspecified{}
		if len(operands) == 1 {
			var err error
			if v, err = m.eval(operands[0], at[0], e); err != nil {
				return nil, tail{}, err
			}
		}
		if c, ok := v.(*Closure); ok && c.name == "" {
			c.name = target
		}
		m.define(target, v, e)
		return target, tail{}, nil
	case *Pair:
		name, ok := target.Car.(Symbol)
		if !ok {
			return malformed(p, "a name")
		}
		c, err := closure(name, target.Cdr, rest.Cdr, p.At, e)
		if err != nil {
			return nil, tail{}, err
		}
		m.define(name, c, e)
		return name, tail{}, nil
	}
	return malformed(p, "a name and a value")
}

// closure makes a procedure of its parameters (names, perhaps one after a dot, or
// a single name for all arguments) and its body.
func closure(name Symbol, params, body Value, at Pos, e *env) (*Closure, error) {
	c := &Closure{name: name, body: body, env: e}
	for {
		switch p := params.(type) {
		case Empty:
			return c, nil
		case Symbol:
			c.rest = p
			return c, nil
		case *Pair:
			param, ok := p.Car.(Symbol)
			if !ok {
				return nil, fail(at, Syntax, "parameter %s is no name", Show(p.Car))
			}
			c.params, params = append(c.params, param), p.Cdr
		default:
			return nil, fail(at, Syntax, "parameter %s is no name", Show(p))
		}
	}
}

func lambda(_ *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "parameters and a body")
	}
	c, err := closure("", rest.Car, rest.Cdr, p.At, e)
	if err != nil {
		return nil, tail{}, err
	}
	return c, tail{}, nil
}

func set(m *Machine, p *Pair, e *env) (Value, tail, error) {
	operands, at, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 2 {
		return malformed(p, "a name and a value")
	}
	name, ok := operands[0].(Symbol)
	if !ok {
		return malformed(p, "a name and a value")
	}
	v, err := m.eval(operands[1], at[1], e)
	if err != nil {
		return nil, tail{}, err
	}
	if local := e.find(name); local != nil {
		*local = v
	} else if _, ok := m.global[name]; ok {
		m.global[name] = v
	} else {
		return nil, tail{}, unbound(name, at[0])
	}
	return v, tail{}, nil
}

func begin(m *Machine, p *Pair, e *env) (Value, tail, error) { return m.sequence(p.Cdr, e) }

func when(m *Machine, p *Pair, e *env) (Value, tail, error)   { return guarded(m, p, e, true) }
func unless(m *Machine, p *Pair, e *env) (Value, tail, error) { return guarded(m, p, e, false) }

func guarded(m *Machine, p *Pair, e *env, want bool) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "a test and forms")
	}
	test, err := m.eval(rest.Car, rest.At, e)
	if err != nil || isTrue(test) != want {
		return value(Empty{}, err)
	}
	return m.sequence(rest.Cdr, e)
}

func and(m *Machine, p *Pair, e *env) (Value, tail, error) { return junction(m, p, e, true) }
func or(m *Machine, p *Pair, e *env) (Value, tail, error)  { return junction(m, p, e, false) }

// junction evaluates operands while they are true (or while they are not).
func junction(m *Machine, p *Pair, e *env, whileTrue bool) (Value, tail, error) {
	operands, at, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	for i, x := range operands {
		if i == len(operands)-1 {
			return again(x, at[i], e)
		}
		v, err := m.eval(x, at[i], e)
		if err != nil || isTrue(v) != whileTrue {
			return value(v, err)
		}
	}
	return whileTrue, tail{}, nil
}

func macro(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "a name and a procedure")
	}
	target, ok := rest.Car.(*Pair)
	if !ok {
		name, isName := rest.Car.(Symbol)
		operands, at, err := m.cells(rest)
		if err != nil {
			return nil, tail{}, err
		}
		if !isName || len(operands) != 1 {
			return malformed(p, "a name and a procedure")
		}
		expand, err := m.eval(operands[0], at[0], e)
		if err != nil {
			return nil, tail{}, err
		}
		m.define(name, &Macro{expand}, e)
		return name, tail{}, nil
	}
	name, ok := target.Car.(Symbol)
	if !ok {
		return malformed(p, "a name and its parameter")
	}
	c, err := closure(name, target.Cdr, rest.Cdr, p.At, e)
	if err != nil {
		return nil, tail{}, err
	}
	expand := Value(c)
	if head, ok := p.Car.(Symbol); ok && head == "define-macro" {
		expand = operandsOf(c)
	}
	m.define(name, &Macro{expand}, e)
	return name, tail{}, nil
}

// operandsOf makes a transformer of whole forms of one that takes the operands.
func operandsOf(c *Closure) *Procedure {
	return &Procedure{Name: string(c.name), Min: 1, Max: 1, Do: func(call *Call) (Value, error) {
		operands, _, err := call.Machine.cells(call.Args[0].(*Pair))
		if err != nil {
			return nil, err
		}
		return call.Apply(c, operands...)
	}}
}

func defined(m *Machine, p *Pair, e *env) (Value, tail, error) {
	operands, at, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 1 {
		return malformed(p, "one quoted name")
	}
	v, err := m.eval(operands[0], at[0], e)
	if err != nil {
		return nil, tail{}, err
	}
	name, ok := v.(Symbol)
	if !ok {
		return malformed(p, "one quoted name")
	}
	_, err = m.lookup(name, at[0], e)
	return err == nil, tail{}, nil
}
