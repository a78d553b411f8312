package scheme

// binding is one (name value) of a let.
type binding struct {
	name Symbol
	x    Value
	at   Pos
}

// bindings reads the list of a let, or of a do with its steps left out. It is
// malformed when an element is no list that begins with a name.
func (m *Machine) bindings(form *Pair, list Value) ([]binding, error) {
	items, ok := Items(list)
	if err := m.spend(len(items), form.At); err != nil {
		return nil, err
	}
	var out []binding
	for _, item := range items {
		p, isPair := item.(*Pair)
		if ok = ok && isPair; !ok {
			break
		}
		b := binding{x: Unspecified{}}
		b.name, ok = p.Car.(Symbol)
		if rest, more := p.Cdr.(*Pair); more {
			b.x, b.at = rest.Car, rest.At
		}
		out = append(out, b)
	}
	if !ok {
		return nil, fail(form.At, Syntax, "%s: want a list of bindings", Show(form.Car))
	}
	return out, nil
}

func let(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "bindings and a body")
	}
	name, named := rest.Car.(Symbol)
	if named {
		if rest, ok = rest.Cdr.(*Pair); !ok {
			return malformed(p, "a name, bindings and a body")
		}
	}
	list, err := m.bindings(p, rest.Car)
	if err != nil {
		return nil, tail{}, err
	}
	var names []Symbol
	var values []Value
	for _, b := range list {
		v, err := m.eval(b.x, b.at, e)
		if err != nil {
			return nil, tail{}, err
		}
		names, values = append(names, b.name), append(values, v)
	}
	if !named {
		return m.sequence(rest.Cdr, &env{names: names, values: values, outer: e})
	}
	// A named let is a procedure that its body may call again.
	around := &env{outer: e}
	loop := &Closure{name: name, params: names, body: rest.Cdr, env: around}
	m.define(name, loop, around)
	inner, err := m.bind(loop, values, p.At)
	if err != nil {
		return nil, tail{}, err
	}
	return m.sequence(rest.Cdr, inner)
}

func letStar(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "bindings and a body")
	}
	list, err := m.bindings(p, rest.Car)
	if err != nil {
		return nil, tail{}, err
	}
	for _, b := range list {
		v, err := m.eval(b.x, b.at, e)
		if err != nil {
			return nil, tail{}, err
		}
		e = &env{names: []Symbol{b.name}, values: []Value{v}, outer: e}
	}
	return m.sequence(rest.Cdr, &env{outer: e})
}

func letrec(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "bindings and a body")
	}
	list, err := m.bindings(p, rest.Car)
	if err != nil {
		return nil, tail{}, err
	}
	inner := &env{outer: e}
	for _, b := range list {
		m.define(b.name, Unspecified{}, inner)
	}
	for _, b := range list {
		v, err := m.eval(b.x, b.at, inner)
		if err != nil {
			return nil, tail{}, err
		}
		m.define(b.name, v, inner)
	}
	return m.sequence(rest.Cdr, inner)
}

func cond(m *Machine, p *Pair, e *env) (Value, tail, error) {
	clauses, at, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	for i, item := range clauses {
		clause, ok := item.(*Pair)
		if !ok {
			return malformed(p, "clauses")
		}
		if isElse(clause) {
			return m.sequence(clause.Cdr, e)
		}
		place := clause.At
		if place.Line == 0 {
			place = at[i]
		}
		test, err := m.eval(clause.Car, place, e)
		if err != nil {
			return nil, tail{}, err
		}
		if !isTrue(test) {
			continue
		}
		then, ok := clause.Cdr.(*Pair)
		if !ok {
			return test, tail{}, nil
		}
		if name, ok := then.Car.(Symbol); ok && name == "=>" {
			return m.receiver(p, then, test, e)
		}
		return m.sequence(then, e)
	}
	return Empty{}, tail{}, nil
}

func isElse(clause *Pair) bool {
	name, ok := clause.Car.(Symbol)
	return ok && name == "else"
}

// receiver calls what follows => with the value of the test.
func (m *Machine) receiver(p, arrow *Pair, test Value, e *env) (Value, tail, error) {
	operands, at, err := m.cells(arrow)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 1 {
		return malformed(p, "one procedure after =>")
	}
	f, err := m.eval(operands[0], at[0], e)
	if err != nil {
		return nil, tail{}, err
	}
	return value(m.apply(f, []Value{test}, nil, p.At))
}

func caseForm(m *Machine, p *Pair, e *env) (Value, tail, error) {
	rest, ok := p.Cdr.(*Pair)
	if !ok {
		return malformed(p, "a key and clauses")
	}
	key, err := m.eval(rest.Car, rest.At, e)
	if err != nil {
		return nil, tail{}, err
	}
	clauses, _, err := m.cells(rest)
	if err != nil {
		return nil, tail{}, err
	}
	for _, item := range clauses {
		clause, ok := item.(*Pair)
		if !ok {
			return malformed(p, "clauses")
		}
		if isElse(clause) {
			return m.sequence(clause.Cdr, e)
		}
		data, ok := Items(clause.Car)
		if !ok {
			return malformed(p, "clauses with lists of data")
		}
		if err := m.spend(len(data)+cost(key), p.At); err != nil {
			return nil, tail{}, err
		}
		for _, d := range data {
			if same(d, key) {
				return m.sequence(clause.Cdr, e)
			}
		}
	}
	return Empty{}, tail{}, nil
}

func do(m *Machine, p *Pair, e *env) (Value, tail, error) {
	operands, _, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) < 2 {
		return malformed(p, "bindings, a test and a body")
	}
	list, err := m.bindings(p, operands[0])
	if err != nil {
		return nil, tail{}, err
	}
	test, ok := operands[1].(*Pair)
	if !ok {
		return malformed(p, "bindings, a test and a body")
	}
	inner := &env{outer: e}
	for _, b := range list {
		v, err := m.eval(b.x, b.at, e)
		if err != nil {
			return nil, tail{}, err
		}
		inner.names, inner.values = append(inner.names, b.name), append(inner.values, v)
	}
	for {
		done, err := m.eval(test.Car, test.At, inner)
		if err != nil {
			return nil, tail{}, err
		}
		if isTrue(done) {
			return m.sequence(test.Cdr, inner)
		}
		for _, x := range operands[2:] {
			if _, err := m.eval(x, p.At, inner); err != nil {
				return nil, tail{}, err
			}
		}
		if inner, err = m.step(operands[0], inner, e); err != nil {
			return nil, tail{}, err
		}
	}
}

// step is the next round's scope of a do.
func (m *Machine) step(list Value, inner, outer *env) (*env, error) {
	next := &env{outer: outer}
	items, _ := Items(list)
	for i, item := range items {
		parts, at, err := m.cells(&Pair{Cdr: item})
		if err != nil {
			return nil, err
		}
		v := inner.values[i]
		if len(parts) > 2 {
			if v, err = m.eval(parts[2], at[2], inner); err != nil {
				return nil, err
			}
		}
		next.names, next.values = append(next.names, inner.names[i]), append(next.values, v)
	}
	return next, nil
}
