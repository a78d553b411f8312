package scheme

var listProcedures = append([]*Procedure{
	{Name: "cons", Min: 2, Max: 2, Do: func(c *Call) (Value, error) { return &Pair{Car: c.Args[0], Cdr: c.Args[1]}, nil }},
	{Name: "list", Min: 0, Max: -1, Do: func(c *Call) (Value, error) { return List(c.Args...), nil }},
	{Name: "length", Min: 1, Max: 1, Do: onList(func(_ *Call, l []Value) (Value, error) { return int64(len(l)), nil })},
	{Name: "reverse", Min: 1, Max: 1, Do: onList(func(_ *Call, l []Value) (Value, error) {
		var out Value = Empty{}
		for _, v := range l {
			out = &Pair{Car: v, Cdr: out}
		}
		return out, nil
	})},
	{Name: "append", Min: 0, Max: -1, Do: appendLists},
	{Name: "list-ref", Min: 2, Max: 2, Do: func(c *Call) (Value, error) {
		p, err := nthPair(c)
		if err != nil {
			return nil, err
		}
		if cell, ok := p.(*Pair); ok {
			return cell.Car, nil
		}
		return nil, c.wants(1, "an index of the list")
	}},
	{Name: "list-tail", Min: 2, Max: 2, Do: nthPair},
	{Name: "memq", Min: 2, Max: 2, Do: member(same)},
	{Name: "memv", Min: 2, Max: 2, Do: member(same)},
	{Name: "member", Min: 2, Max: 2, Do: member(nil)},
	{Name: "assq", Min: 2, Max: 2, Do: associated(same)},
	{Name: "assv", Min: 2, Max: 2, Do: associated(same)},
	{Name: "assoc", Min: 2, Max: 2, Do: associated(nil)},
	{Name: "eq?", Min: 2, Max: 2, Do: func(c *Call) (Value, error) { return same(c.Args[0], c.Args[1]), nil }},
	{Name: "eqv?", Min: 2, Max: 2, Do: func(c *Call) (Value, error) { return same(c.Args[0], c.Args[1]), nil }},
	{Name: "equal?", Min: 2, Max: 2, Do: func(c *Call) (Value, error) { return c.equal(c.Args[0], c.Args[1], 0) }},
	{Name: "vector", Min: 0, Max: -1, Do: func(c *Call) (Value, error) { return Vector(c.Args), nil }},
	{Name: "vector-ref", Min: 2, Max: 2, Do: func(c *Call) (Value, error) {
		v, ok := c.Args[0].(Vector)
		if !ok {
			return nil, c.wants(0, "a vector")
		}
		i, ok := c.Args[1].(int64)
		if !ok || i < 0 || i >= int64(len(v)) {
			return nil, c.wants(1, "an index of the vector")
		}
		return v[i], nil
	}},
	{Name: "vector-length", Min: 1, Max: 1, Do: onVector(func(v Vector) Value { return int64(len(v)) })},
	{Name: "vector->list", Min: 1, Max: 1, Do: onVector(func(v Vector) Value { return List(v...) })},
	{Name: "list->vector", Min: 1, Max: 1, Do: onList(func(_ *Call, l []Value) (Value, error) { return Vector(l), nil })},
	predicate("atom?", func(v Value) bool { _, ok := v.(*Pair); return !ok }),
	predicate("null?", func(v Value) bool { return v == Value(Empty{}) }),
	predicate("pair?", func(v Value) bool { _, ok := v.(*Pair); return ok }),
	{Name: "list?", Min: 1, Max: 1, Do: func(c *Call) (Value, error) {
		items, ok := Items(c.Args[0])
		return ok, c.Machine.spend(len(items), c.At)
	}},
	predicate("vector?", func(v Value) bool { _, ok := v.(Vector); return ok }),
}, accessors()...)

// accessors are car, cdr and their combinations up to four deep.
func accessors() (out []*Procedure) {
	paths := []string{""}
	for range 4 {
		var longer []string
		for _, p := range paths {
			longer = append(longer, "a"+p, "d"+p)
		}
		for _, p := range longer {
			out = append(out, &Procedure{Name: "c" + p + "r", Min: 1, Max: 1, Do: access(p)})
		}
		paths = longer
	}
	return out
}

// access follows a path of a and d from its right end.
func access(path string) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		v := c.Args[0]
		for i := len(path) - 1; i >= 0; i-- {
			p, ok := v.(*Pair)
			if !ok {
				return nil, c.wants(0, "a long enough list")
			}
			if v = p.Cdr; path[i] == 'a' {
				v = p.Car
			}
		}
		return v, nil
	}
}

func onList(f func(*Call, []Value) (Value, error)) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		items, ok := Items(c.Args[0])
		if !ok {
			return nil, c.wants(0, "a list")
		}
		if err := c.Machine.spend(len(items), c.At); err != nil {
			return nil, err
		}
		return f(c, items)
	}
}

func onVector(f func(Vector) Value) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		v, ok := c.Args[0].(Vector)
		if !ok {
			return nil, c.wants(0, "a vector")
		}
		return f(v), c.Machine.spend(len(v), c.At)
	}
}

func appendLists(c *Call) (Value, error) {
	var out Value = Empty{}
	for i := len(c.Args) - 1; i >= 0; i-- {
		if i == len(c.Args)-1 {
			out = c.Args[i]
			continue
		}
		items, ok := Items(c.Args[i])
		if !ok {
			return nil, c.wants(i, "a list")
		}
		if err := c.Machine.spend(len(items), c.At); err != nil {
			return nil, err
		}
		out = listWithTail(items, out)
	}
	return out, nil
}

func nthPair(c *Call) (Value, error) {
	n, ok := c.Args[1].(int64)
	if !ok || n < 0 {
		return nil, c.wants(1, "an index of the list")
	}
	v := c.Args[0]
	for range n {
		p, ok := v.(*Pair)
		if !ok {
			return nil, c.wants(1, "an index of the list")
		}
		v = p.Cdr
		if err := c.Machine.spend(1, c.At); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// same is eqv?, by which strings of equal text are the same too.
func same(a, b Value) bool {
	_, v := a.(Vector)
	_, w := b.(Vector)
	return !v && !w && a == b
}

// cost is the steps that a comparison with v takes beyond the first.
func cost(v Value) int {
	switch v := v.(type) {
	case string:
		return len(v) / per
	case Symbol:
		return len(v) / per
	}
	return 0
}

// deepest nesting that equal? follows.
const maxEqualDepth = 1000

// equal compares structure.
func (c *Call) equal(a, b Value, depth int) (bool, error) {
	if depth > maxEqualDepth {
		return false, c.Fail(-1, PastLimit, "lists nest more than %d deep", maxEqualDepth)
	}
	for {
		if err := c.Machine.spend(1+cost(a), c.At); err != nil {
			return false, err
		}
		p, ok := a.(*Pair)
		q, both := b.(*Pair)
		if !ok || !both {
			break
		}
		if eq, err := c.equal(p.Car, q.Car, depth+1); err != nil || !eq {
			return false, err
		}
		a, b = p.Cdr, q.Cdr
	}
	v, ok := a.(Vector)
	w, both := b.(Vector)
	if ok && both {
		return c.equal(List(v...), List(w...), depth+1)
	}
	return same(a, b), nil
}

// member looks for a value; eq nil means equal?.
func member(eq func(a, b Value) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		v := c.Args[1]
		for {
			p, ok := v.(*Pair)
			if !ok {
				return false, nil
			}
			found, err := c.matches(eq, c.Args[0], p.Car)
			if err != nil || found {
				return p, err
			}
			v = p.Cdr
		}
	}
}

func (c *Call) matches(eq func(a, b Value) bool, a, b Value) (bool, error) {
	if eq == nil {
		return c.equal(a, b, 0)
	}
	return eq(a, b), c.Machine.spend(1+cost(a), c.At)
}

// associated looks a key up in a list of pairs.
func associated(eq func(a, b Value) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		v := c.Args[1]
		for {
			p, ok := v.(*Pair)
			if !ok {
				return false, nil
			}
			entry, ok := p.Car.(*Pair)
			if !ok {
				return nil, c.wants(1, "a list of pairs")
			}
			found, err := c.matches(eq, c.Args[0], entry.Car)
			if err != nil || found {
				return entry, err
			}
			v = p.Cdr
		}
	}
}
