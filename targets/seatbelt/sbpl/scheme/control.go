package scheme

import "strings"

var controlProcedures = []*Procedure{
	{Name: "not", Min: 1, Max: 1, Do: func(c *Call) (Value, error) { return !isTrue(c.Args[0]), nil }},
	{Name: "map", Min: 2, Max: -1, Do: mapLists},
	{Name: "for-each", Min: 2, Max: -1, Do: mapLists},
	{Name: "apply", Min: 2, Max: -1, Do: applyList},
	{Name: "filter", Min: 2, Max: 2, Do: func(c *Call) (Value, error) {
		yes, _, err := c.split()
		return List(yes...), err
	}},
	{Name: "partition", Min: 2, Max: 2, Do: func(c *Call) (Value, error) {
		yes, no, err := c.split()
		return List(List(yes...), List(no...)), err
	}},
	{Name: "error", Min: 1, Max: -1, Do: raise},
	// What profiles print while they are compiled goes nowhere.
	{Name: "display", Min: 1, Max: 2, Do: nothing},
	{Name: "write", Min: 1, Max: 2, Do: nothing},
	{Name: "print", Min: 0, Max: -1, Do: nothing},
	{Name: "newline", Min: 0, Max: 1, Do: nothing},
	predicate("boolean?", func(v Value) bool { _, ok := v.(bool); return ok }),
	predicate("procedure?", func(v Value) bool {
		switch v.(type) {
		case *Procedure, *Closure:
			return true
		}
		return false
	}),
}

func nothing(*Call) (Value, error) { return Unspecified{}, nil }

// mapLists calls a procedure with the first elements of all lists, then the
// second, while every list has one.
func mapLists(c *Call) (Value, error) {
	lists := make([][]Value, len(c.Args)-1)
	shortest := -1
	for i, arg := range c.Args[1:] {
		items, ok := Items(arg)
		if !ok {
			return nil, c.wants(i+1, "a list")
		}
		if err := c.Machine.spend(len(items), c.At); err != nil {
			return nil, err
		}
		lists[i] = items
		if shortest < 0 || len(items) < shortest {
			shortest = len(items)
		}
	}
	out := make([]Value, shortest)
	for i := range shortest {
		args := make([]Value, len(lists))
		for j := range lists {
			args[j] = lists[j][i]
		}
		var err error
		if out[i], err = c.Apply(c.Args[0], args...); err != nil {
			return nil, err
		}
	}
	return List(out...), nil
}

func applyList(c *Call) (Value, error) {
	last := len(c.Args) - 1
	items, ok := Items(c.Args[last])
	if !ok {
		return nil, c.wants(last, "a list")
	}
	args := append(append([]Value(nil), c.Args[1:last]...), items...)
	return c.Apply(c.Args[0], args...)
}

// split tests each element of a list.
func (c *Call) split() (yes, no []Value, err error) {
	items, ok := Items(c.Args[1])
	if !ok {
		return nil, nil, c.wants(1, "a list")
	}
	for _, item := range items {
		v, err := c.Apply(c.Args[0], item)
		if err != nil {
			return nil, nil, err
		}
		if isTrue(v) {
			yes = append(yes, item)
		} else {
			no = append(no, item)
		}
	}
	return yes, no, nil
}

// raise is the error that a text raises itself.
func raise(c *Call) (Value, error) {
	words := make([]string, len(c.Args))
	for i, arg := range c.Args {
		words[i] = Show(arg)
		if s, ok := arg.(string); ok {
			words[i] = s
		}
	}
	return nil, c.Fail(-1, Raised, "%s", strings.Join(words, " "))
}
