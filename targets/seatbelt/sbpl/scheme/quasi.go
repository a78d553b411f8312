package scheme

// quasiquote copies its datum, with what ,x and ,@x evaluate to put in place.
func quasiquote(m *Machine, p *Pair, e *env) (Value, tail, error) {
	operands, _, err := m.cells(p)
	if err != nil {
		return nil, tail{}, err
	}
	if len(operands) != 1 {
		return malformed(p, "one datum")
	}
	return value(m.fill(operands[0], 1, p.At, e))
}

// operandOf is x of (name x), if v is that.
func operandOf(v Value, name Symbol) (Value, Pos, bool) {
	p, ok := v.(*Pair)
	if !ok {
		return nil, Pos{}, false
	}
	if head, ok := p.Car.(Symbol); !ok || head != name {
		return nil, Pos{}, false
	}
	operand, ok := p.Cdr.(*Pair)
	if !ok || operand.Cdr != Value(Empty{}) {
		return nil, Pos{}, false
	}
	return operand.Car, operand.At, true
}

// fill copies v inside level quasiquotes.
func (m *Machine) fill(v Value, level int, at Pos, e *env) (Value, error) {
	if err := m.spend(1, at); err != nil {
		return nil, err
	}
	if vector, ok := v.(Vector); ok {
		list, err := m.fill(List(vector...), level, at, e)
		if err != nil {
			return nil, err
		}
		items, _ := Items(list)
		return Vector(items), nil
	}
	if x, place, ok := operandOf(v, "unquote"); ok {
		if level == 1 {
			return m.eval(x, place, e)
		}
		return m.wrap("unquote", x, level-1, at, e)
	}
	if x, _, ok := operandOf(v, "quasiquote"); ok {
		return m.wrap("quasiquote", x, level+1, at, e)
	}
	p, ok := v.(*Pair)
	if !ok {
		return v, nil
	}
	return m.fillList(p, level, at, e)
}

// wrap fills the operand of an inner quasiquote or unquote and keeps its name.
func (m *Machine) wrap(name Symbol, x Value, level int, at Pos, e *env) (Value, error) {
	inner, err := m.fill(x, level, at, e)
	if err != nil {
		return nil, err
	}
	return List(name, inner), nil
}

func (m *Machine) fillList(p *Pair, level int, at Pos, e *env) (Value, error) {
	m.depth++
	defer func() { m.depth-- }()
	if m.depth > m.limits.Depth {
		return nil, fail(at, PastLimit, "evaluation nests more than %d deep", m.limits.Depth)
	}
	var items []Value
	var places []Pos
	var rest Value = p
	for {
		cell, ok := rest.(*Pair)
		if _, _, isTail := operandOf(rest, "unquote"); !ok || isTail && cell != p {
			break
		}
		if x, place, ok := operandOf(cell.Car, "unquote-splicing"); ok && level == 1 {
			v, err := m.eval(x, place, e)
			if err != nil {
				return nil, err
			}
			spliced, ok := Items(v)
			if !ok {
				return nil, fail(place, WrongArgument, ",@ wants a list, not %s", Show(v))
			}
			if err := m.spend(len(spliced), at); err != nil {
				return nil, err
			}
			items, places = append(items, spliced...), append(places, make([]Pos, len(spliced))...)
		} else {
			v, err := m.fill(cell.Car, level, at, e)
			if err != nil {
				return nil, err
			}
			items, places = append(items, v), append(places, cell.At)
		}
		rest = cell.Cdr
	}
	tail, err := m.fill(rest, level, at, e)
	if err != nil {
		return nil, err
	}
	// Copied cells keep their places, so that a macro's rules show where it stands.
	for i := len(items) - 1; i >= 0; i-- {
		tail = &Pair{Car: items[i], Cdr: tail, At: places[i]}
	}
	if head, ok := tail.(*Pair); ok {
		head.Open = p.Open
	}
	return tail, nil
}
